"""Figures that are drawn once, each on empty Axes: a second call would draw over the first."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from babygpt.plots.artists import set_labels
from babygpt.plots.matrices import draw_matrix
from babygpt.plots.style import COLOURS, ENCODING_COLOURS


def draw_by_position(
    ax: Axes, curves: Mapping[str, np.ndarray], block_size: int, title: str, smooth: int = 16
) -> None:
    """Draw loss over position, with the end of the trained window marked.

    curves      name -> (length,) nats per character; a shorter curve ends where its model refuses
    block_size  tokens in a training window
    """
    for name, losses in curves.items():
        whole = len(losses) // smooth * smooth
        mean = np.asarray(losses[:whole]).reshape(-1, smooth).mean(axis=1)
        at = np.arange(len(mean)) * smooth + smooth / 2
        ax.plot(at, mean, label=name, color=ENCODING_COLOURS.get(name))
    ax.axvline(block_size, color="black", lw=1, ls="--", label=f"trained up to {block_size}")
    set_labels(ax, title, "position (tokens)", "loss (nats per character)")
    ax.legend()


def draw_seed_dots(
    ax: Axes,
    values: Mapping[str, Sequence[float]],
    title: str,
    x_label: str,
    marks: Mapping[str, float] | None = None,
    span: tuple[float, float] | None = None,
    rings: Mapping[str, Sequence[float]] | None = None,
    notes: Mapping[str, str] | None = None,
) -> None:
    """Draw a row for each name, with a dot for each seed, and no mean: runs may be of two kinds.

    values  name -> a number for each seed, or none; the first name is on top
    marks   name -> a number that all rows are compared with, drawn as an upright line
    span    of the horizontal axis; None to fit it
    rings   name -> a second measurement of each seed, drawn as rings
    notes   name -> words at the right end of a row
    """
    for row, (name, seeds) in enumerate(values.items()):
        colour = ENCODING_COLOURS.get(name, COLOURS["blue"])
        ax.plot(seeds, [row] * len(seeds), "o", color=colour, ms=7, alpha=0.7, zorder=2.1)
        second = (rings or {}).get(name, ())
        ax.plot(second, [row] * len(second), "o", color=colour, ms=8, mfc="none", mew=1.5, zorder=2.2)
        if name in (notes or {}):
            where: dict[str, Any] = {"xycoords": ax.get_yaxis_transform(), "ha": "right", "va": "center"}
            ax.annotate((notes or {})[name], (1.0, row), color=colour, **where)
    for at in (marks or {}).values():
        ax.axvline(at, color="black", lw=1, ls="--", zorder=2)
    ax.set_yticks(range(len(values)), list(values))
    ax.set_ylim(len(values) - 0.4, -0.6)
    if span is not None:
        ax.set_xlim(span)
    set_labels(ax, title, x_label, "")


def answer_figure(yours: np.ndarray, wanted: np.ndarray, differ: str, x: str, y: str) -> Figure:
    """Draw a new figure with two matrices in the same colours, and the first minus the second.

    yours, wanted  (rows, columns)
    differ         the title of the difference
    """
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    known = [np.abs(part[np.isfinite(part)]) for part in (yours, wanted)]
    top = max([float(part.max()) for part in known if part.size], default=0.0) or 1.0
    signed = bool((yours < 0).any() or (wanted < 0).any())
    axes = figure.subplots(1, 3)
    for ax, matrix, title in zip(axes, (yours, wanted), ("Yours", "Wanted"), strict=False):
        draw_matrix(ax, matrix, title, x, y, diverging=signed, top=top)
    draw_matrix(axes[2], yours - wanted, differ, x, y, diverging=True, top=top)
    return figure
