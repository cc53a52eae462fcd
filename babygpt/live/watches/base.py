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
from babygpt.errors import BadInput
from babygpt.metrics.attention import attention_weights
from babygpt.metrics.kernels import kernel_values
from babygpt.metrics.roles import role_accuracy
from babygpt.metrics.tables import bigram_table, position_votes

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
            raise BadInput(
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

    The head that has changed most since before the first step is shown large, with the text along its sides.

    Raises ValueError if the text is empty or holds a character that the tokenizer does not know.
    """
    idx, letters = known(tokenizer, text), plots.visible(text)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        first, now = (np.asarray(weights, np.float32) for _, weights in (frames[0], frames[-1]))
        moved = turned_away(first, now)
        layer, head = np.unravel_index(int(moved.argmax()), moved.shape)
        name = f"Layer {layer + 1}, head {head + 1}"
        finding = f"{name} moved most: {moved.max():.0%} of its attention"
        finding = finding if len(frames) > 1 else f"{name}, and all heads, before training"
        plots.draw_heads(ax, now, letters, (int(layer), int(head)), finding)

    return Watch(lambda model: attention_weights(model, idx).astype(np.float16), draw, times, 2.2, 3.8)


def turned_away(first: np.ndarray, now: np.ndarray) -> np.ndarray:
    """The share of each head's attention that has gone elsewhere: (L, H, T, T) each -> (L, H), 0 to 1."""
    share: np.ndarray = np.abs(now - first).sum(axis=-1).mean(axis=-1) / 2
    return share


def kernel(furthest: int = 64, times: int = 40) -> Watch:
    """The Gaussian kernel of a model in training: K now, beside K before the first step.

    furthest  distance up to which it is drawn, in tokens
    Raises ValueError if furthest is below 1; measuring raises one if the model's encoding has no kernel.
    """
    if furthest < 1:
        raise BadInput(f"furthest ({furthest}) must be at least 1 token")

    def measure(model: Any) -> np.ndarray:
        if not isinstance(model.encoding, Gaussian):
            raise BadInput(f"{type(model.encoding).__name__} has no kernel to watch; v5 has one")
        return kernel_values(model.encoding, furthest)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        first, now = (values / values[0] for _, values in (frames[0], frames[-1]))
        was, halved = halves(first, furthest), halves(now, furthest)
        finding = f"K halves {halved}" + (
            "" if was == halved else f", at first {was.removesuffix(' tokens')}"
        )
        labels = (finding, "m (tokens)", "K(m), as a share of K(0)")
        plots.draw_then_and_now(ax, np.arange(furthest + 1), first, now, *labels)

    return Watch(measure, draw, times)


def halves(shares: np.ndarray, furthest: int) -> str:
    """Where a kernel that never rises has fallen to half of what it is at 0, in words."""
    kept = int((shares >= 0.5).sum())
    return f"in {kept} tokens" if kept <= furthest else f"beyond {furthest} tokens"


def next_characters(tokenizer: CharTokenizer, times: int = 40) -> Watch:
    """What v1 makes of every character: its table of probabilities for the next one."""
    marks = plots.visible(tokenizer.characters)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        step, table = frames[-1]
        finding = f"What may follow, after {step} steps"
        plots.draw_matrix(ax, table, finding, "next character", "this character", marks, top=1.0)

    return Watch(bigram_table, draw, times, width=1.3, height=4.2)


def votes(tokenizer: CharTokenizer, times: int = 40) -> Watch:
    """What v2's positions vote for: a column for each position, a row for each next character."""
    marks = plots.visible(tokenizer.characters)

    def draw(ax: Axes, frames: Frames, title: str, total: int) -> None:
        step, found = frames[-1]
        finding = f"Votes after {step} steps (nats)"
        plots.draw_matrix(ax, found.T, finding, "position (tokens)", "next character", diverging=True, top=4)
        plots.label_rows(ax, marks)

    return Watch(position_votes, draw, times, width=1.4, height=4.2)


def known(tokenizer: CharTokenizer, text: str) -> Tensor:
    """The token ids of a text that is looked at again and again. Raises ValueError if it is empty."""
    if not text:
        raise BadInput("the text to look at is empty; it needs at least 1 character")
    return tokenizer.encode(text)
