"""What a learner sees of a run: loss, watches, buttons, sliders."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

import ipywidgets

from babygpt import plots
from babygpt.live.canvas import DRAWING_LOCK, Canvas
from babygpt.live.controls import DESCRIPTION, WIDE, Control, grid
from babygpt.live.painter import as_failure
from babygpt.live.run import Run, State
from babygpt.live.view import View, close_all, weak_callback

TEXT_SECONDS = 0.2  # between two updates of bar and status
PICTURE_SECONDS = 0.5  # between two pictures while training, at least
DRAWING_SHARE = 0.04  # of the time may go into pictures: drawing takes time from training
LONGEST_SECONDS = 0.7  # between two pictures, whatever they cost: nothing stands still
LAYOUT_SECONDS = 5.0  # that a first picture may take before a run begins without it
COLOURS = {
    State.WAITING: "",
    State.PREPARING: "",
    State.RUNNING: "info",
    State.PAUSED: "warning",
    State.STOPPED: "warning",
    State.FINISHED: "success",
    State.FAILED: "danger",
}
REWINDABLE = (State.PAUSED, State.STOPPED, State.FINISHED, State.FAILED)


class Dashboard(View):
    """The view of a run. It does not keep alive a run that nothing else refers to.

    run       what it shows
    floors    name -> a loss that cannot be passed, nats per character
    controls  named like numbers of the model's encoding: they steer it
    earlier   the runs that must end before this one begins
    """

    def __init__(
        self, run: Run, floors: Mapping[str, float], controls: Sequence[Control], earlier: Sequence[Run] = ()
    ) -> None:
        self.run, self.floors = weakref.ref(run), dict(floors)
        self.shown_state: State | None = None  # the state that the buttons show
        self.next_text = self.next_picture = self.draw_seconds = 0.0  # seconds
        self.update_lock = threading.Lock()
        self.steered: set[tuple[str, float]] = set()  # what these controls have set
        self.syncing = ""  # the control that is being moved after the run, and not the run after the control
        self.controls = {control.name: control.widget() for control in controls}
        widths = [1.0, *(watch.width for watch in run.frames)]
        height = max([3.3, *(watch.height for watch in run.frames)])
        super().__init__(f"training: {run.title}", self._make_widgets(run), Canvas(widths, height))
        self._connect(run, earlier)
        self._update_text(run)
        with DRAWING_LOCK:
            self.draw()  # what cannot be drawn is an error of the cell that asked for it

    def _make_widgets(self, run: Run) -> list[Any]:
        """Make the rows above the picture: progress and buttons, controls, replay."""
        self.bar = ipywidgets.IntProgress(max=run.total, layout={"width": "16em"})
        self.status = ipywidgets.HTML()
        self.status.add_class("babygpt-words")
        self.pause = ipywidgets.Button(description="pause", icon="pause", layout={"width": "7em"})
        self.stop = ipywidgets.Button(description="stop", icon="stop", layout={"width": "7em"})
        self.stop_others = ipywidgets.Button(layout={"width": "auto", "display": "none"})
        self.replay = ipywidgets.IntSlider(
            max=run.total, disabled=True, description="replay: step", style=DESCRIPTION, layout=WIDE
        )
        head = [self.bar, self.pause, self.stop, self.stop_others, self.status]
        row = ipywidgets.HBox(head, layout={"flex_flow": "row wrap", "align_items": "center"})
        return [row, *([grid(list(self.controls.values()))] if self.controls else []), self.replay]

    def _connect(self, run: Run, earlier: Sequence[Run]) -> None:
        """Connect the widgets; none of them keeps the run alive, and they close when it is gone."""
        closing = (self.pause, self.stop, self.stop_others, self.replay, *self.controls.values())
        weakref.finalize(run, close_all, closing).atexit = False
        self.pause.on_click(weak_callback(run, lambda run, _: toggle(run)))
        self.stop.on_click(weak_callback(run, lambda run, _: run.stop()))
        self.replay.observe(weak_callback(self, lambda dashboard, _: dashboard.painter.wake()), names="value")
        for name, widget in self.controls.items():
            widget.observe(weak_callback(self, partial(steer, name)), names="value")
        if earlier:
            names = " and ".join(other.title for other in earlier)
            self.stop_others.description = f"stop {names}, start this one"
        for other in earlier:
            self.stop_others.on_click(weak_callback(other, lambda other, _: other.stop()))

    # ------------------------------------------------------------ what the run calls

    def prepare(self) -> None:
        """Lay the picture out, which takes longer than all later ones; wait for other views of the cell."""
        self.painter.wake()
        end = time.monotonic() + LAYOUT_SECONDS
        for view in (self, *self.displayed()):
            if view is self or view.cell == self.cell:
                view.painter.wait(max(0.0, end - time.monotonic()))

    def update(self, at_once: bool) -> None:
        """Show what is new: bar and status five times a second, pictures twice, or both at once."""
        now, run = time.monotonic(), self.run()
        if run is not None and (at_once or now >= self.next_text):
            self.next_text = now + TEXT_SECONDS
            self._update_text(run)
        if at_once or now >= self.next_picture:
            pause = max(PICTURE_SECONDS, self.draw_seconds / DRAWING_SHARE)
            self.next_picture = now + min(LONGEST_SECONDS, pause)
            self.painter.wake()

    def finish(self, seconds: float) -> bool:
        """Wait for the last picture and leave it for readers without a kernel. Raises what went wrong in it.

        seconds  to wait at most
        returns  whether that was enough
        """
        if not self.painter.wait(seconds):
            return False
        self.update_still()
        if (error := self.error or self.painter.error) is not None:
            raise as_failure(error, "drawing")
        return True

    # ------------------------------------------------------------ in the painter's thread

    def refresh(self) -> None:
        if self.run() is not None:
            start = time.thread_time()
            super().refresh()
            self.draw_seconds = time.thread_time() - start

    def draw(self) -> None:
        run = self.run()
        if run is None:
            return
        self.draw_step(run, self.replay.value if self.shown_state in REWINDABLE else len(run.history))

    def draw_step(self, run: Run, upto: int) -> None:
        """Draw what was known after so many steps of the run."""
        first, *others = self.canvas.axes
        losses = run.history.losses(upto)
        now = f"{plots.running_mean(losses, 10)[1][-1]:.2f} nats at step {upto}" if losses else "untrained"
        curve, title = {run.title: losses}, f"{run.title}: {now}"
        plots.draw_losses(first, curve, self.floors, title, total=run.total, untrained=run.uniform_loss)
        for ax, (watch, frames) in zip(others, run.frames.items(), strict=True):
            if shown := [frame for frame in frames if frame[0] <= upto]:
                watch.draw(ax, shown, run.title, run.total)

    # ------------------------------------------------------------ in the thread that has news of the run

    def _update_text(self, run: Run) -> None:
        """Bring buttons, bar, status and controls up to date."""
        with self.update_lock:
            state, made = run.state, len(run.history)
            if state is not self.shown_state:
                self._show_state(state, made)
                self.shown_state = state
            self.bar.value = made
            self.status.value = describe(run)
            for name, value in run.history[-1].changed.items() if made else ():
                if name in self.controls and (name, value) not in self.steered:
                    self._follow(name, value)

    def _follow(self, name: str, value: float) -> None:
        """Move a control to a value that something else has set, or to the stop next to it."""
        control, self.syncing = self.controls[name], name
        try:
            stops = [stop for _, stop in getattr(control, "options", ())]
            control.value = min(stops, key=lambda stop: abs(stop - value)) if stops else value
        finally:
            self.syncing = ""

    def _show_state(self, state: State, made: int) -> None:
        """Enable what can be done in a state."""
        self.bar.bar_style = COLOURS[state]
        resumes = state is State.PAUSED
        self.pause.description, self.pause.icon = ("resume", "play") if resumes else ("pause", "pause")
        self.pause.disabled = state not in (State.RUNNING, State.PAUSED)
        self.stop.disabled = state.over
        offered = state is State.WAITING and self.stop_others.description
        self.stop_others.layout.display = "" if offered else "none"
        self.replay.value = made
        self.replay.disabled = state not in REWINDABLE
        for control in self.controls.values():
            control.disabled = state.over
        self.image.tell(announcement=f"{self.title}: {state}")


def describe(run: Run) -> str:
    """Describe the state of a run in a line of HTML."""
    made = len(run.history)
    words = [f"<b>{run.state}</b>", f"step {made} of {run.total}"]
    if run.history:
        last = run.history[-1]
        words.append(f"loss {last.loss:.3f}")
        if last.val_loss is not None:
            words.append(f"validation {last.val_loss:.3f}")
        left = last.seconds / made * (run.total - made)
        if run.state is State.RUNNING and run.validating:
            words.append("measuring on text it has not seen")
        else:
            words.append(f"{last.seconds:.0f} s" if run.state.over else f"about {left:.0f} s left")
    if run.error is not None:
        words.append(escape(f"{type(run.error).__name__}: {run.error}"))
    return " · ".join(words)


def toggle(run: Run) -> None:
    """Pause a run, or let it go on."""
    if run.state is State.PAUSED:
        run.resume()
    else:
        run.pause()


def steer(name: str, dashboard: Dashboard, change: Any) -> None:
    """Set the run's number to the new value of a control, or say under the controls why that cannot be."""
    run = dashboard.run()
    if run is not None and dashboard.syncing != name:
        try:
            dashboard.steered.add((name, float(change["new"])))
            run.steer(name, float(change["new"]))
            dashboard.message.value = ""
        except ValueError as error:  # a learner's own encoding need not know BadInput
            dashboard.message.value = escape(str(error))
