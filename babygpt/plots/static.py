"""Figures that are drawn once, each on empty Axes: a second call would draw over the first."""

import itertools
from collections.abc import Mapping, Sequence

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


def draw_clock(ax: Axes, angles: Sequence[float], labels: Sequence[str], title: str) -> None:
    """Draw pairs of channels as hands on the unit circle.

    angles  radians, counted from the right, anticlockwise
    """
    ring = np.linspace(0, 2 * np.pi, 200)
    ax.plot(np.cos(ring), np.sin(ring), color=COLOURS["grey"], lw=1)
    for angle, label, colour in zip(angles, labels, itertools.cycle(COLOURS.values()), strict=False):
        x, y = np.cos(angle), np.sin(angle)
        ax.plot([0, x], [0, y], color=colour, lw=2.5, marker="o", ms=8, markevery=[1])
        ax.annotate(label, (1.2 * x, 1.2 * y), ha="center", va="center", color=colour)
    ax.set(xlim=(-1.95, 1.95), ylim=(-1.5, 1.5), aspect="equal", title=title)
    ax.set(xlabel="first channel of the pair", ylabel="second channel")
