"""Watches: a measurement repeated while a model trains, and the panel that shows it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from babygpt_live.panel import Axis, Panel

Frames = Sequence[tuple[int, Any]]  # a step, and the measurement after it


@dataclass(frozen=True)
class Watch:
    """Measurement between steps, before the first and after the last among them.

    measure  takes the model and returns what `panel` shows; it runs in the trainer's thread
    panel    takes the frames so far, the run's title and its number of steps, and returns a Panel
    times    how often, at even distances over the run, so that a rerun has the same frames; the step after a
             dial was moved is measured too
    """

    measure: Callable[[Any], Any]
    panel: Callable[[Frames, str, int], Panel]
    times: int = 40

    def steps(self, total: int) -> set[int]:
        """Return the steps after which it measures; 0 is before the first."""
        return {round(i * total / self.times) for i in range(self.times + 1)}


def steps_axis(total: int) -> Axis:
    """Return the axis of a panel over the steps of a run."""
    return Axis("step", (0.0, float(total)), digits=0)
