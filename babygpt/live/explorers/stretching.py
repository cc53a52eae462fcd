"""A trained RoPE read past its window: what each way of stretching does to its pairs, and to its loss."""

from __future__ import annotations

import copy
import math
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from torch import Tensor

from babygpt import plots
from babygpt.encodings import Encoding, Rotary
from babygpt.errors import BadInput
from babygpt.live.controls import Choice, Control, Slider
from babygpt.live.explorer import Explorer
from babygpt.metrics.next_token import loss_by_position, position_matched_losses
from babygpt.models.stretching import METHODS, stretched
from babygpt.models.transformer import Transformer

MOST, BLOCK = 8, 32  # the largest factor; positions whose losses make one point
WINDOWS = 6  # texts of 8 windows that are read for a move: of a small model, in a tenth of a second
LABELS = {
    "none": "as it is",
    "interpolation": "position interpolation",
    "ntk": "NTK-aware",
    "yarn": "YaRN",
    "drop": "no code at all (DroPE)",
}


def wavelengths(encoding: Encoding, n_pairs: int) -> np.ndarray:
    """How many tokens each pair of channels takes for a turn: (n_pairs,), infinite without RoPE."""
    if not isinstance(encoding, Rotary):
        return np.full(n_pairs, math.inf)
    return (2 * math.pi / encoding.frequencies()).numpy()


def has_new_angles(before: np.ndarray, after: np.ndarray, window: int, length: int) -> np.ndarray:
    """Whether each pair, read up to `length`, comes to angles that it never had in its window.

    A pair that finished a turn in the window has had them all.

    before, after  (P,)  tokens for a turn, in training and now
    returns        (P,)  bool
    """
    turns, now = window / before, length / after
    return (turns < 1) & (now > turns * (1 + 1e-9))


def block_means(losses: np.ndarray) -> np.ndarray:
    """Means of BLOCK losses each, what is left over at the end left out: (T,) -> (T // BLOCK,)."""
    return losses[: len(losses) // BLOCK * BLOCK].reshape(-1, BLOCK).mean(axis=1)


class Reader:
    """A trained v4, which reads the same long texts under every method; each reading is kept.

    model  with RoPE in all layers
    ids    (N,)  text
    """

    def __init__(self, model: Transformer, ids: Tensor) -> None:
        self.model, self.window = model, model.config.block_size
        self.length = MOST * self.window
        self.before = wavelengths(model.encoding, model.config.head_dim // 2)
        _, inside, _ = position_matched_losses(model, ids, self.length, WINDOWS, every=4)
        self.inside = float(inside.mean())
        self.losses = lru_cache(maxsize=None)(
            lambda method, factor: loss_by_position(
                stretched(model, method, factor), ids, self.length, WINDOWS
            )
        )
        self.top = 1.4 * max(block_means(self.losses(method, MOST)).max() for method in METHODS)

    def measure(self, method: str, factor: int) -> dict[str, Any]:
        """What a method makes of the pairs and of the losses.

        returns  before, after, new: (P,) as `has_new_angles` has them; curves: name -> (S,) mean losses of
                 BLOCK tokens around `position`; means: name -> mean loss of the tokens that the factor adds
                 (of all in the window, for 1); inside: loss of a reader of the last window alone; top: room
                 for the curves of all methods
        """
        reach, encoding = factor * self.window, stretched(self.model, method, factor).encoding
        after = wavelengths(encoding, len(self.before))
        losses = {"as it is": self.losses("none", 1), "stretched": self.losses(method, factor)}
        first = self.window if factor > 1 else 0
        return {
            "before": self.before,
            "after": after,
            "new": has_new_angles(self.before, after, self.window, reach),
            "curves": {name: block_means(values) for name, values in losses.items()},
            "position": BLOCK * (np.arange(self.length // BLOCK) + 0.5),
            "means": {name: float(values[first:reach].mean()) for name, values in losses.items()},
            "span": (first, reach),
            "marks": (self.inside, self.window, reach),
            "top": self.top,
        }


def draw(pairs: Axes, losses: Axes, found: dict[str, Any]) -> None:
    """Draw how long each pair takes for a turn, and the loss along a long text."""
    (first, last), (inside, window, reach) = found["span"], found["marks"]
    new, slowest = found["new"], MOST * found["before"].max()
    title = f"Up to {reach}, new angles: {new.sum()} of {len(new)} pairs"
    plots.draw_wavelengths(pairs, found["before"], found["after"], new, window, title, slowest)
    said = ", ".join(f"{loss:.2f} {name}" for name, loss in found["means"].items())
    title = f"Tokens {first + 1} to {last}: {said}"
    marks = (inside, window, reach, title, found["top"])
    plots.draw_reading_on(losses, found["position"], found["curves"], *marks)


def stretching(model: Transformer, ids: Tensor) -> Explorer:
    """Explore how a trained v4 reads up to eight times its window, its pairs slowed by a factor.

    The model is copied as it is now; nothing is trained. Each curve is a mean over the same WINDOWS texts.

    model  with RoPE in all layers, trained or not
    ids    (N,)  text that it has not seen, longer than 8 windows
    Raises BadInput for another encoding, or a text too short.
    """
    if type(model.encoding) is not Rotary:
        raise BadInput(f"{type(model.encoding).__name__} cannot be stretched: a v4 has RoPE in every layer")
    controls: list[Control] = [
        Choice("method", [(label, name) for name, label in LABELS.items()]),
        Slider("factor", 4, 1, MOST, "factor"),
    ]
    reader = Reader(copy.deepcopy(model), ids)
    together = [("method", "factor")]
    return Explorer("stretching", reader.measure, draw, controls, (1, 1.5), 3.8, together)
