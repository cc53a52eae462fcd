"""A run on display: loss, watches, buttons, sliders."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any, TypeVar

import ipywidgets
from IPython.display import display

from babygpt import plots
from babygpt.live.canvas import Canvas
from babygpt.live.controls import Control
from babygpt.live.run import Run, State
from babygpt.live.view import View, close_all

Thing = TypeVar("Thing")
INCHES = 2.5  # of an Axes of width 1, so that three fit beside the file list of JupyterLab
RATE = 2.0  # pictures a second while training, at most
SHARE = 0.03  # of the time may go into pictures: a trainer cannot train while Matplotlib draws
COLOURS = {
    State.WAITING: "",
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
        self.next_picture = self.cost = 0.0  # seconds of the clock, and of the processor
        self.bar = ipywidgets.IntProgress(max=run.total, layout={"width": "16em"})
        self.status = ipywidgets.HTML()
        self.pause = ipywidgets.Button(description="pause", icon="pause", layout={"width": "7em"})
        self.stop = ipywidgets.Button(description="stop", icon="stop", layout={"width": "7em"})
        self.replay = ipywidgets.IntSlider(
            max=run.total, disabled=True, description="replay: step", layout={"width": "40em"}
        )
        self.knobs = {control.name: control.widget() for control in knobs}
        self.jump = ipywidgets.Button(layout={"width": "auto", "display": "none"})
        self._wire(run, ahead)
        rows = [ipywidgets.HBox([self.bar, self.pause, self.stop, self.jump, self.status])]
        rows += [ipywidgets.HBox(list(self.knobs.values()))] if self.knobs else []
        widths = [1.2, *(watch.width for watch in run.frames)]
        height = max([3.3, *(watch.height for watch in run.frames)])
        size = (min(12.0, 0.6 + INCHES * sum(widths)), height)
        super().__init__(f"training: {run.title}", [*rows, self.replay], Canvas(widths, size))
        closing = (self.pause, self.stop, self.jump, self.replay, *self.knobs.values())
        weakref.finalize(run, close_all, closing).atexit = False

    def _wire(self, run: Run, ahead: Sequence[Run]) -> None:
        """Connect the widgets; none of them keeps the run alive."""
        self.pause.on_click(weakly(run, lambda run, _: toggle(run)))
        self.stop.on_click(weakly(run, lambda run, _: run.stop()))
        self.replay.observe(weakly(self, lambda dashboard, _: dashboard.painter.wake()), names="value")
        for name, widget in self.knobs.items():
            widget.observe(weakly(run, partial(turn, name)), names="value")
        if ahead:
            names = " and ".join(other.title for other in ahead)
            self.jump.description = f"stop {names}, start this one"
        for other in ahead:
            self.jump.on_click(weakly(other, lambda other, _: other.stop()))

    # ------------------------------------------------------------ what the run calls

    def hear(self, at_once: bool) -> None:
        """There is something new: paint it, now and then unless it must be at once."""
        if at_once or time.monotonic() >= self.next_picture:
            self.next_picture = time.monotonic() + max(1 / RATE, self.cost / SHARE)
            self.painter.wake()

    def conclude(self) -> None:
        """Show the last picture for good, as one that needs no kernel. Raises what the painter met."""
        self.painter.rest()
        display(self.still(), raw=True)
        if self.error is not None:
            raise self.error

    # ------------------------------------------------------------ in the painter's thread

    def refresh(self) -> None:
        run = self.run()
        if run is not None:
            start = time.thread_time()
            self._show_state(run)
            super().refresh()
            self.cost = time.thread_time() - start

    def draw(self) -> None:
        run = self.run()
        if run is None:
            return
        upto = self.replay.value if run.state in REWINDABLE else len(run.history)
        first, *others = self.canvas.axes
        losses = run.history.losses(upto)
        now = f"{plots.smoothed(losses, 10)[1][-1]:.2f} nats at step {upto}" if losses else "untrained"
        curve, title = {run.title: losses}, f"{run.title}: {now}"
        plots.draw_losses(first, curve, self.floors, title, total=run.total, no_idea=run.no_idea)
        for ax, (watch, frames) in zip(others, run.frames.items(), strict=True):
            if shown := [frame for frame in frames if frame[0] <= upto]:
                watch.draw(ax, shown, run.title, run.total)

    def _show_state(self, run: Run) -> None:
        """Bring buttons, bar and words up to date."""
        state, made = run.state, len(run.history)
        if state is not self.seen:
            self.seen = state
            self.bar.bar_style = COLOURS[state]
            self.pause.description, self.pause.icon = (
                ("resume", "play") if state is State.PAUSED else ("pause", "pause")
            )
            self.pause.disabled = state not in (State.RUNNING, State.PAUSED)
            self.stop.disabled = state.over
            self.jump.layout.display = "" if state is State.WAITING and self.jump.description else "none"
            self.replay.value = made
            self.replay.disabled = state not in REWINDABLE
        self.bar.value = made
        self.status.value = describe(run)


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


def turn(name: str, run: Run, change: Any) -> None:
    """Hand the new value of a knob to the run."""
    run.steer(name, float(change["new"]))


def weakly(target: Thing, act: Callable[[Thing, Any], None]) -> Callable[[Any], None]:
    """A callback that acts on a thing as long as there is one, and does not keep it alive."""
    ref = weakref.ref(target)

    def call(change: Any) -> None:
        alive = ref()
        if alive is not None:
            act(alive, change)

    return call
