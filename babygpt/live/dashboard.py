"""Dashboard of a run: loss, watches, buttons, sliders that steer it; and `train`, which shows one."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from html import escape
from typing import Any

import ipywidgets
import numpy as np
from IPython.display import display
from traitlets import TraitError

from babygpt import plots
from babygpt.config import TrainConfig
from babygpt.device import device_name, use_allowed_threads
from babygpt.live.canvas import Canvas
from babygpt.live.explorer import DESCRIPTION, WIDE, Control, format_number, grid
from babygpt.live.run import Run, State
from babygpt.live.view import View
from babygpt.live.watches import Watch
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import Objective
from babygpt.training.guard import require_vocabulary
from babygpt.training.records import Step

TEXT_SECONDS = 0.2  # between two updates of bar and status
PICTURE_SECONDS = 0.6  # between two pictures: a picture takes 20 to 40 ms from training
COLOURS = {State.RUNNING: "info", State.FINISHED: "success", State.FAILED: "danger"}
COLOURS |= dict.fromkeys((State.PAUSED, State.STOPPED), "warning")


def train(
    model: LanguageModel,
    objective: Objective,
    config: TrainConfig,
    title: str = "model",
    floors: Mapping[str, float] | None = None,
    watches: Sequence[Watch] = (),
    controls: Sequence[Control] = (),
    baseline: Run | None = None,
) -> Run:
    """Start to train a model in the background, show its dashboard, and return at once.

    One model trains at a time. A second run waits for the first; its dashboard shows that, and offers to stop
    the first.

    model      trained in place, on the best device or on BABYGPT_DEVICE; then moved back to where it was
    objective  draws the batches and computes their loss
    config     steps, batch size, learning rates, seed
    title      of the model
    floors     name -> a loss that no model can pass, nats per character
    watches    measured and drawn beside the loss
    controls   sliders named like numbers of the model's encoding, such as theta: they steer it
    baseline   an earlier run, drawn in grey behind the loss, with the gap to it: the same run untouched
    returns    the run; `run.result()` waits for it
    Raises BadInput if a control's name is no number of the encoding, or the model does not know all tokens of
    the text, and the errors of a watch that cannot measure this model.
    """
    use_allowed_threads()  # in the cell's thread: other work beside the run gains too
    require_vocabulary(model, objective)
    for control in controls:
        model.encoding.require_number(control.name)
    run = Run(model, objective, config, title, watches)
    earlier = list(Run.unfinished)
    if not any(other.is_training(model) for other in earlier):
        run.measure_untrained()
    run.baseline = baseline
    run.panel = Dashboard(run, floors or {}, controls, earlier)
    display(run.panel)
    run.start(earlier)
    return run


class Dashboard(View):
    """View of a run.

    run       to show
    floors    name -> a loss that no model can pass
    controls  named like numbers of the model's encoding: they steer it
    earlier   runs that must end before this one begins; the trainer takes out those that have ended
    """

    def __init__(
        self, run: Run, floors: Mapping[str, float], controls: Sequence[Control], earlier: Sequence[Run] = ()
    ) -> None:
        self.run, self.floors, self.earlier = run, dict(floors), earlier
        self.next_text = self.next_picture = 0.0  # seconds
        self.controls = {control.name: control.widget() for control in controls}
        split = run.baseline is not None
        widths = [1.4 if split else 1.0, *(watch.width for watch in run.frames)]
        height = max([3.8 if split else 3.5, *(watch.height for watch in run.frames)])
        canvas = Canvas(widths, height, split)
        for ax in canvas.axes:
            ax.set_title(" \n ", loc="right")  # room for titles of two lines
        super().__init__(f"training: {run.title}", self._make_widgets(), canvas)
        self._update_text()

    def _make_widgets(self) -> list[Any]:
        """Make the rows above the picture: progress and buttons, controls, replay."""
        run = self.run
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
        self.pause.on_click(lambda _: run.resume() if run.state is State.PAUSED else run.pause())
        self.stop.on_click(lambda _: run.stop())
        self.stop_others.on_click(self.stop_earlier)
        self.replay.observe(self.wake, names="value")
        for name, widget in self.controls.items():
            widget.observe(partial(self.steer, name), names="value")
        return [row, *([grid(list(self.controls.values()))] if self.controls else []), self.replay]

    # ------------------------------------------------------------ called by the run

    def update(self, at_once: bool) -> None:
        """Show the run's news now, or when the text and the picture are due."""
        now = time.monotonic()
        if at_once or now >= self.next_text:
            self.next_text = now + TEXT_SECONDS
            self._update_text()
        if at_once or now >= self.next_picture:
            self.next_picture = now + PICTURE_SECONDS
            self.wake()

    def finish(self, seconds: float) -> bool:
        """Wait for the last picture and leave it for readers without a kernel. Raises the painter's error.

        seconds  to wait at most
        returns  whether that was enough
        """
        if not self.wait(seconds):
            return False
        if self in self.on_display:
            self.show_still(update=True)
        if self.error is not None:
            raise self.error
        return True

    def _update_text(self) -> None:
        """Bring buttons, sliders, bar and status up to date."""
        run, state, made = self.run, self.run.state, len(self.run.history)
        resumes = state is State.PAUSED
        self.pause.description, self.pause.icon = ("resume", "play") if resumes else ("pause", "pause")
        self.pause.disabled = state not in (State.RUNNING, State.PAUSED)
        self.stop.disabled = state.over
        for control in self.controls.values():
            control.disabled = state.over
        if resumes or state.over:  # the run tells of such a state once; then the learner may rewind
            self.replay.value = made
        self.replay.disabled = not (resumes or state.over)
        self.replay.layout.visibility = "hidden" if self.replay.disabled else "visible"
        self.bar.value, self.bar.bar_style = made, COLOURS.get(state, "")
        awaited = " and ".join(other.title for other in self.earlier) if state is State.WAITING else ""
        self.stop_others.description = f"stop {awaited}, start this one"
        self.stop_others.layout.display = "" if awaited else "none"
        self.status.value = describe(run, awaited)
        self.image.announcement = f"{self.title}: {state}"

    def stop_earlier(self, _: Any) -> None:
        """Stop the runs that this one waits for."""
        for other in tuple(self.earlier):
            other.stop()

    def move_slider(self, name: str, value: float) -> bool:
        """Move a control, which then steers the run; return False if it has the value, or no such stop."""
        widget = self.controls.get(name)
        if widget is None or widget.value == value:
            return False
        with suppress(TraitError):
            widget.value = value
        return bool(widget.value == value)

    def steer(self, name: str, change: Any) -> None:
        """Set a number of the run to a control's new value, or show why that is impossible."""
        try:
            self.run.steer(name, float(change["new"]))
            self.message.value = ""
        except ValueError as error:  # a learner's own encoding need not know BadInput
            self.message.value = escape(str(error))

    # ------------------------------------------------------------ in the painter's thread

    def draw(self) -> None:
        self.draw_step(len(self.run.history) if self.replay.disabled else self.replay.value)

    def draw_step(self, upto: int) -> None:
        """Draw the run as it was after so many steps."""
        run = self.run
        first, *others = self.canvas.axes
        made = run.history[:upto]
        losses = [step.loss for step in made]
        title = f"{run.title}: the model is untrained"
        if counts := run.validating:  # else the picture would stand still meanwhile
            title = "{}: {:,} of {:,} validation windows read".format(run.title, *counts)
        elif losses:
            title = f"{run.title}: the loss is {recent_loss(made):.2f} nats at step {upto}"
        changed = {step.step: step.changed.items() for step in made if step.changed}
        moves = {at: ", ".join(f"{k} {format_number(x)}" for k, x in new) for at, new in changed.items()}
        curves, grey = {run.title: losses}, ""
        if run.baseline is not None and self.canvas.below is not None:
            grey = f"{run.baseline.title} (baseline)"
            curves = {grey: [step.loss for step in run.baseline.history], **curves}
            gap = np.array([a - b for a, b in zip(losses, curves[grey], strict=False)])
            now = gap[-10:].mean() if gap.size else 0.0
            finding = f"Now {abs(now):.2f} nats {'below' if now < 0 else 'above'} {run.baseline.title}"
            finding = finding if gap.size else "No gap is known yet"
            steps = np.arange(1, len(gap) + 1)
            plots.draw_gap(self.canvas.below, steps, gap, finding, run.total, y_label="nats")
        plots.draw_losses(first, curves, self.floors, title, 10, run.total, run.uniform_loss, grey, moves)
        for ax, (watch, frames) in zip(others, run.frames.items(), strict=True):
            if shown := [frame for frame in frames if frame[0] <= upto]:
                watch.draw(ax, shown, run.title, run.total)


def recent_loss(history: Sequence[Step]) -> float:
    """Return the mean loss of the last ten steps, nats: the end of the smooth curve."""
    return float(np.mean([step.loss for step in history[-10:]]))


def describe(run: Run, awaited: str) -> str:
    """Describe the state of a run in a line of HTML.

    awaited  titles of the runs that it waits for, or nothing
    """
    made = len(run.history)
    words = [f"<b>{run.state}</b>{escape(awaited and f' for {awaited}')}", f"step {made} of {run.total}"]
    if run.history:
        last = run.history[-1]
        words.append(f"loss {recent_loss(run.history):.3f}")
        if last.val_loss is not None:
            words.append(f"validation {last.val_loss:.3f}")
        left = last.seconds / made * (run.total - made)
        if counts := run.validating:
            words.append("validating {:,} of {:,} windows".format(*counts))
        else:
            words.append(f"{last.seconds:.0f} s" if run.state.over else f"about {left:.0f} s left")
    words.append(f"on {escape(device_name(run.device))}")
    if run.error is not None:
        words.append(escape(f"{type(run.error).__name__}: {run.error}"))
    return " · ".join(words)
