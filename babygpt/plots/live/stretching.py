"""A stretched RoPE: how long its pairs take for a turn, and what reading on costs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from babygpt.plots import artists
from babygpt.plots.style import COLOURS

DOTS = {"ls": "", "marker": "o"}


def draw_wavelengths(
    ax: Axes,
    before: np.ndarray,
    after: np.ndarray,
    new: np.ndarray,
    window: int,
    title: str,
    slowest: float | None = None,
) -> None:
    """Draw how many tokens each pair of channels takes for a turn, as trained and stretched.

    before   (P,)  tokens for a turn, in training
    after    (P,)  the same now; infinite for a pair that does not turn, which is not drawn
    new      (P,) whether a pair comes to angles that it never had in training
    window   of training, in tokens: a line
    slowest  the longest turn that the axis has room for; the longest there is by default
    """
    if ax.get_yscale() != "log":
        ax.set_yscale("log")
    pair = np.arange(1, len(before) + 1)
    artists.line(ax, "before", pair, before, label="trained", color=COLOURS["grey"], ms=9, mfc="none", **DOTS)
    shown = np.isfinite(after)
    for name, where, colour in (("angles seen", ~new, "blue"), ("angles never seen", new, "red")):
        chosen = where & shown
        artists.line(ax, name, pair[chosen], after[chosen], label=name, color=COLOURS[colour], ms=6, **DOTS)
    artists.horizontal_line(ax, "window", window, label="window of training", color="black", lw=1, ls="--")
    highest = slowest or max(before.max(), after[shown].max(initial=0.0))
    artists.set_limits(ax, (0.2, len(before) + 0.8), (before.min() / 2, 3 * highest))
    artists.set_labels(ax, title, "pair of channels", "tokens for a turn, powers of ten")
    artists.set_legend(ax, loc="upper left")


def draw_reading_on(
    ax: Axes,
    position: np.ndarray,
    curves: Mapping[str, np.ndarray],
    inside: float,
    window: int,
    reach: int,
    title: str,
    top: float | None = None,
) -> None:
    """Draw losses over the positions of a long text, with the window of training marked.

    position  (S,)  in tokens
    curves    name -> (S,) losses, nats per character
    inside    loss of a reader of the last `window` tokens alone: a line
    reach     the length that is read for: a second mark
    top       where the axis of losses ends; it follows the curves by default
    """
    colours = (COLOURS["blue"], COLOURS["red"], COLOURS["green"], COLOURS["pink"])
    for (name, values), colour in zip(curves.items(), colours, strict=False):
        artists.line(ax, name, position, values, label=name, color=colour, marker="o", ms=4)
    look = {"color": "black", "lw": 1, "ls": ":"}
    artists.horizontal_line(ax, "inside", inside, label=f"the last {window} alone: {inside:.2f}", **look)
    artists.vertical_line(ax, "window", window, color="black", lw=1, ls="--")
    artists.vertical_line(ax, "reach", reach, color=COLOURS["red"], lw=1.5)
    highest = top if top is not None else 1.25 * max(float(values.max()) for values in curves.values())
    artists.set_limits(ax, (0.0, float(position[-1] + position[0])), (0.0, highest))
    artists.set_labels(ax, title, "position (tokens)", "loss (nats per character)")
    artists.set_legend(ax, loc="upper left", ncols=3)
