"""Figures that are drawn once, each on empty Axes: a second call would draw over the first."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from babygpt.plots.artists import set_labels
from babygpt.plots.matrices import draw_matrix
from babygpt.plots.style import ENCODING_COLOURS


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
