"""A run on display: loss, watches, buttons, sliders."""

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
from babygpt.live.canvas import Canvas, drawing
from babygpt.live.controls import DESCRIPTION, WIDE, Control, grid
from babygpt.live.run import Run, State
from babygpt.live.view import View, close_all, weakly

WORDS = 0.2  # seconds between two looks at bar and words
PICTURES = 0.5  # seconds between two pictures while training, at least
SHARE = 0.04  # of the time may go into pictures, as far as PATIENCE allows: drawing takes time from training
PATIENCE = 0.7  # seconds between two pictures at most, whatever they cost: nothing stands still
LAYOUT = 5.0  # seconds that a first picture may take before a run begins without it
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
    """What a learner sees of a run. It lets go of a run that nobody can name any more.

    run     what it shows
    floors  name -> a loss that cannot be passed, nats per character
    knobs   controls named like numbers of the model's encoding: they steer it
    ahead   the runs that must end before this one begins
    """

    def __init__(
        self, run: Run, floors: Mapping[str, float], knobs: Sequence[Control], ahead: Sequence[Run] = ()
    ) -> None:
        self.run, self.floors = weakref.ref(run), dict(floors)
        self.seen: State | None = None  # the state that the buttons show
        self.next_words = self.next_picture = self.cost = 0.0  # seconds
        self.telling = threading.Lock()
        self.handed: set[tuple[str, float]] = set()  # what the knobs themselves have handed to the run
        self.following = ""  # the knob that is being moved after the run, and not the run after the knob
        self.bar = ipywidgets.IntProgress(max=run.total, layout={"width": "16em"})
        self.status = ipywidgets.HTML()
        self.status.add_class("babygpt-words")
        self.pause = ipywidgets.Button(description="pause", icon="pause", layout={"width": "7em"})
        self.stop = ipywidgets.Button(description="stop", icon="stop", layout={"width": "7em"})
        self.replay = ipywidgets.IntSlider(
            max=run.total, disabled=True, description="replay: step", style=DESCRIPTION, layout=WIDE
        )
        self.knobs = {control.name: control.widget() for control in knobs}
        self.jump = ipywidgets.Button(layout={"width": "auto", "display": "none"})
        self._wire(run, ahead)
        head = [self.bar, self.pause, self.stop, self.jump, self.status]
        rows = [ipywidgets.HBox(head, layout={"flex_flow": "row wrap", "align_items": "center"})]
        rows += [grid(list(self.knobs.values()))] if self.knobs else []
        widths = [1.0, *(watch.width for watch in run.frames)]
        height = max([3.3, *(watch.height for watch in run.frames)])
        super().__init__(f"training: {run.title}", [*rows, self.replay], Canvas(widths, height))
        closing = (self.pause, self.stop, self.jump, self.replay, *self.knobs.values())
        weakref.finalize(run, close_all, closing).atexit = False
        self._tell(run)
        with drawing():
            self.draw()  # what cannot be drawn is an error of the cell that asked for it

    def _wire(self, run: Run, ahead: Sequence[Run]) -> None:
        """Connect the widgets; none of them keeps the run alive."""
        self.pause.on_click(weakly(run, lambda run, _: toggle(run)))
        self.stop.on_click(weakly(run, lambda run, _: run.stop()))
        self.replay.observe(weakly(self, lambda dashboard, _: dashboard.painter.wake()), names="value")
        for name, widget in self.knobs.items():
            widget.observe(weakly(self, partial(turn, name)), names="value")
        if ahead:
            names = " and ".join(other.title for other in ahead)
            self.jump.description = f"stop {names}, start this one"
        for other in ahead:
            self.jump.on_click(weakly(other, lambda other, _: other.stop()))

    # ------------------------------------------------------------ what the run calls

    def prepare(self) -> None:
        """Lay the picture out, which takes longer than all later ones, and let others finish with theirs."""
        self.painter.wake()
        end = time.monotonic() + LAYOUT
        for view in (self, *self.displayed()):
            if view is self or view.shown_in == self.shown_in:
                view.painter.rest(max(0.0, end - time.monotonic()))

    def hear(self, at_once: bool) -> None:
        """There is something new: words follow five times a second, pictures twice, or both at once."""
        now, run = time.monotonic(), self.run()
        if run is not None and (at_once or now >= self.next_words):
            self.next_words = now + WORDS
            self._tell(run)
        if at_once or now >= self.next_picture:
            self.next_picture = now + min(PATIENCE, max(PICTURES, self.cost / SHARE))
            self.painter.wake()

    def conclude(self, seconds: float) -> bool:
        """Wait for the last picture and leave it for readers without a kernel. Raises what was met in it.

        seconds  to wait at most
        returns  whether that was enough
        """
        if not self.painter.rest(seconds):
            return False
        self.renew()
        if self.error is not None:
            raise self.error
        return True

    # ------------------------------------------------------------ in the painter's thread

    def refresh(self) -> None:
        if self.run() is not None:
            start = time.thread_time()
            super().refresh()
            self.cost = time.thread_time() - start

    def draw(self) -> None:
        run = self.run()
        if run is None:
            return
        upto = self.replay.value if self.seen in REWINDABLE else len(run.history)
        first, *others = self.canvas.axes
        losses = run.history.losses(upto)
        now = f"{plots.smoothed(losses, 10)[1][-1]:.2f} nats at step {upto}" if losses else "untrained"
        curve, title = {run.title: losses}, f"{run.title}: {now}"
        plots.draw_losses(first, curve, self.floors, title, total=run.total, no_idea=run.no_idea)
        for ax, (watch, frames) in zip(others, run.frames.items(), strict=True):
            if shown := [frame for frame in frames if frame[0] <= upto]:
                watch.draw(ax, shown, run.title, run.total)

    # ------------------------------------------------------------ in the thread that has news of the run

    def _tell(self, run: Run) -> None:
        """Bring buttons, bar and words up to date."""
        with self.telling:
            state, made = run.state, len(run.history)
            if state is not self.seen:
                self._become(state, made)
                self.seen = state
            self.bar.value = made
            self.status.value = describe(run)
            for name, value in run.history[-1].changed.items() if made else ():
                if name in self.knobs and (name, value) not in self.handed:
                    self._follow(name, value)

    def _follow(self, name: str, value: float) -> None:
        """Move a knob to what the run was told by somebody else, or to the stop next to it."""
        knob, self.following = self.knobs[name], name
        try:
            stops = [stop for _, stop in getattr(knob, "options", ())]
            knob.value = min(stops, key=lambda stop: abs(stop - value)) if stops else value
        finally:
            self.following = ""

    def _become(self, state: State, made: int) -> None:
        """Show what can be done in another state."""
        self.bar.bar_style = COLOURS[state]
        resumes = state is State.PAUSED
        self.pause.description, self.pause.icon = ("resume", "play") if resumes else ("pause", "pause")
        self.pause.disabled = state not in (State.RUNNING, State.PAUSED)
        self.stop.disabled = state.over
        self.jump.layout.display = "" if state is State.WAITING and self.jump.description else "none"
        self.replay.value = made
        self.replay.disabled = state not in REWINDABLE
        for knob in self.knobs.values():
            knob.disabled = state.over
        self.image.said = f"{self.title}: {state}"


def describe(run: Run) -> str:
    """The state of a run in a line."""
    made = len(run.history)
    words = [f"<b>{run.state}</b>", f"step {made} of {run.total}"]
    if run.history:
        last = run.history[-1]
        words.append(f"loss {last.loss:.3f}")
        if last.val_loss is not None:
            words.append(f"validation {last.val_loss:.3f}")
        left = last.seconds / made * (run.total - made)
        if run.state is State.RUNNING and run.measuring:
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


def turn(name: str, dashboard: Dashboard, change: Any) -> None:
    """Hand the new value of a knob to the run; what cannot be is said under the knobs."""
    run = dashboard.run()
    if run is not None and dashboard.following != name:
        try:
            dashboard.handed.add((name, float(change["new"])))
            run.steer(name, float(change["new"]))
            dashboard.message.value = ""
        except ValueError as error:
            dashboard.message.value = escape(str(error))
