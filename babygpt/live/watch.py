"""What is measured again and again while a model trains, and how it is drawn beside the loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from torch import Tensor

from babygpt import plots
from babygpt.data.stories import Question
from babygpt.data.tokenizer import CharTokenizer
from babygpt.encodings.gaussian import Gaussian
from babygpt.measure.attention import attention_weights
from babygpt.measure.kernels import kernel_values
from babygpt.measure.roles import role_accuracy
from babygpt.measure.tables import bigram_table, position_votes

Frames = Sequence[tuple[int, Any]]  # a step, and what was measured after it


@dataclass(frozen=True)
class Watch:
    """Something measured between steps, before the first and after the last among them.

    measure  asks the model, in the trainer's thread: what it takes is taken from training
    draw     from an Axes, what was measured so far, the run's title and its number of steps
    times    how often, evenly spread over the run; at fixed steps, so that a rerun has the same frames
    width    of its Axes, relative to that of the loss
    height   of its Axes, inches; the dashboard is as high as the highest
    """

    measure: Callable[[Any], Any]
    draw: Callable[[Axes, Frames, str, int], None]
    times: int = 40
    width: float = 1.0
    height: float = 3.3

    def __post_init__(self) -> None:
        if self.times < 1:
            raise ValueError(
                f"times ({self.times}) must be at least 1: before the first step and after the last"
            )

    def steps(self, total: int) -> set[int]:
        """The steps after which it is measured; 0 is before the first."""
        return {round(i * total / self.times) for i in range(self.times + 1)}


def roles(tokenizer: CharTokenizer, questions: Sequence[Question], times: int = 8) -> Watch:
    """Role accuracy as it rises. Two dozen questions take about as long as a step of training."""

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        steps, accuracies = [step for step, _ in frames], [right for _, right in frames]
        now = f"Who did it? {accuracies[-1]:.0%} right"
        plots.draw_rising(ax, {title: (steps, accuracies)}, now, total)

    return Watch(lambda model: role_accuracy(model, tokenizer, questions), draw, times)


def heads(tokenizer: CharTokenizer, text: str, times: int = 40) -> Watch:
    """The attention weights of every layer and head on one text, for models that have attention.

    Raises ValueError if the text is empty or holds a character that the tokenizer does not know.
    """
    idx = known(tokenizer, text)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        step, weights = frames[-1]
        plots.draw_heads(ax, weights, f"Who looks where, after {step} steps")

    return Watch(lambda model: attention_weights(model, idx).astype(np.float16), draw, times, width=1.4)


def kernel(furthest: int = 64, times: int = 40) -> Watch:
    """The Gaussian kernel of a model in training: K now, beside K before the first step.

    furthest  distance up to which it is drawn, in tokens
    Raises ValueError if furthest is below 1; measuring raises one if the model's encoding has no kernel.
    """
    if furthest < 1:
        raise ValueError(f"furthest ({furthest}) must be at least 1 token")

    def measure(model: Any) -> np.ndarray:
        if not isinstance(model.encoding, Gaussian):
            raise ValueError(f"{type(model.encoding).__name__} has no kernel to watch; v5 has one")
        return kernel_values(model.encoding, furthest)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        first, now = frames[0][1], frames[-1][1]
        curves = {"at first": first / first[0], "now": now / now[0]}
        kept = int((now >= now[0] / 2).sum())  # K never rises with distance
        far = f"in {kept} tokens" if kept <= furthest else f"beyond {furthest} tokens"
        labels = (f"K halves {far}", "m (tokens)", "K(m), as a share of K(0)")
        spans = (0.0, float(furthest)), (0.0, 1.05)
        plots.draw_curves(ax, np.arange(furthest + 1), curves, *labels, *spans, "upper right")

    return Watch(measure, draw, times)


def next_characters(tokenizer: CharTokenizer, times: int = 40) -> Watch:
    """What v1 makes of every character: its table of probabilities for the next one."""
    marks = plots.visible(tokenizer.characters)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        step, table = frames[-1]
        finding = f"What may follow, after {step} steps"
        plots.draw_matrix(ax, table, finding, "next character", "this character", marks, top=1.0)

    return Watch(bigram_table, draw, times, width=1.3, height=4.8)


def votes(tokenizer: CharTokenizer, times: int = 40) -> Watch:
    """What v2's positions vote for: a column for each position, a row for each next character."""
    marks = plots.visible(tokenizer.characters)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        step, found = frames[-1]
        finding = f"Votes after {step} steps (nats)"
        plots.draw_matrix(ax, found.T, finding, "position (tokens)", "next character", diverging=True, top=4)
        plots.label_rows(ax, marks)

    return Watch(position_votes, draw, times, width=1.4, height=4.8)


def known(tokenizer: CharTokenizer, text: str) -> Tensor:
    """The token ids of a text that is looked at again and again. Raises ValueError if it is empty."""
    if not text:
        raise ValueError("the text to look at is empty; it needs at least 1 character")
    return tokenizer.encode(text)
