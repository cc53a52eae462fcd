"""A watch: what is measured again and again while a model trains, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from torch import Tensor

from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput

Frames = Sequence[tuple[int, Any]]  # a step, and what was measured after it


@dataclass(frozen=True)
class Watch:
    """What is measured between steps, before the first and after the last among them.

    measure  takes the model and returns what is drawn; it runs in the trainer's thread and delays training
    draw     takes an Axes, what was measured so far, the run's title and its number of steps
    times    how often, at even distances over the run; at fixed steps, so that a rerun has the same frames
    width    of its Axes, relative to that of the loss
    height   of its Axes, inches; the dashboard is as high as the highest
    Raises BadInput if times is below 1.
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
        """Return the steps after which it is measured; 0 is before the first."""
        return {round(i * total / self.times) for i in range(self.times + 1)}


def encode_text(tokenizer: CharTokenizer, text: str) -> Tensor:
    """Encode a text: (T,) token ids. Raises BadInput if it is empty or has an unknown character."""
    if not text:
        raise BadInput("the text to look at is empty; it needs at least 1 character")
    return tokenizer.encode(text)
