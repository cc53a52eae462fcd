"""Drawing: every function takes an Axes and arrays, and draws one finding. No torch, no files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart by colour-blind readers too.
COLOURS = {
    "blue": "#0072B2",
    "orange": "#E69F00",
    "green": "#009E73",
    "red": "#D55E00",
    "pink": "#CC79A7",
    "sky": "#56B4E9",
    "grey": "#7F7F7F",
}
# One colour for each encoding in all figures of the course.
ENCODING_COLOURS = {
    "nope": COLOURS["grey"],
    "learned": COLOURS["orange"],
    "v1": COLOURS["grey"],
    "v2": COLOURS["orange"],
    "v3": COLOURS["green"],
    "v4": COLOURS["blue"],
    "alibi": COLOURS["pink"],
}
STYLE: Any = {
    "figure.dpi": 110,
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=list(COLOURS.values())),
    "axes.grid": True,
    "grid.alpha": 0.25,
    "image.cmap": "viridis",
    "legend.frameon": False,
}
DIVERGING = "RdBu_r"


def set_style() -> None:
    """Give all later figures the course's look."""
    matplotlib.rcParams.update(STYLE)


def finish(ax: Axes, title: str, x: str, y: str) -> None:
    """Title and axis labels."""
    ax.set(title=title, xlabel=x, ylabel=y)


def draw_losses(
    ax: Axes,
    curves: Mapping[str, Sequence[float]],
    floors: Mapping[str, float],
    title: str,
    smooth: int = 10,
) -> None:
    """Training loss against the step, with the floors that are known.

    curves    name -> loss of each step, nats per character
    floors    name -> a loss that cannot be passed
    smooth    steps averaged into one point
    """
    for name, losses in curves.items():
        kernel = np.ones(min(smooth, len(losses))) / min(smooth, len(losses))
        mean = np.convolve(losses, kernel, mode="valid")
        ax.plot(np.arange(len(mean)) + len(kernel), mean, label=name, color=ENCODING_COLOURS.get(name))
    for style, (name, floor) in zip(("--", ":", "-."), floors.items(), strict=False):
        ax.axhline(floor, color="black", lw=1, ls=style, label=f"{name} {floor:.3f}")
    finish(ax, title, "step", "loss (nats per character)")
    ax.legend()


def draw_by_position(
    ax: Axes, curves: Mapping[str, np.ndarray], block_size: int, title: str, smooth: int = 16
) -> None:
    """Loss against position, with the end of the trained window marked.

    curves      name -> (length,) nats per character; a shorter curve ends where its model refuses
    block_size  tokens in a training window
    """
    for name, losses in curves.items():
        whole = len(losses) // smooth * smooth
        mean = np.asarray(losses[:whole]).reshape(-1, smooth).mean(axis=1)
        at = np.arange(len(mean)) * smooth + smooth / 2
        ax.plot(at, mean, label=name, color=ENCODING_COLOURS.get(name))
    ax.axvline(block_size, color="black", lw=1, ls="--", label=f"trained up to {block_size}")
    finish(ax, title, "position (tokens)", "loss (nats per character)")
    ax.legend()


def draw_accuracies(
    ax: Axes, accuracies: Mapping[str, Sequence[float]], title: str, chance: float = 0.5
) -> None:
    """One bar for each model, a dot for each seed, a line at chance.

    accuracies  name -> accuracy of each seed, between 0 and 1
    """
    for i, (name, values) in enumerate(accuracies.items()):
        ax.bar(i, 100 * np.mean(values), color=ENCODING_COLOURS.get(name), alpha=0.75)
        ax.plot([i] * len(values), 100 * np.asarray(values), "ko", ms=4)
    ax.axhline(100 * chance, color="black", lw=1, ls="--")
    ax.annotate("chance", (len(accuracies) - 0.45, 100 * chance), va="bottom", ha="right")
    ax.set_xticks(range(len(accuracies)), list(accuracies))
    ax.set_ylim(0, 105)
    finish(ax, title, "", "right answers (%)")


def draw_matrix(
    ax: Axes,
    matrix: np.ndarray,
    title: str,
    x: str,
    y: str,
    ticks: Sequence[str] | None = None,
    diverging: bool = False,
) -> None:
    """A matrix as a picture with a colour bar.

    matrix     (rows, columns)
    ticks      the characters along both sides of a square matrix
    diverging  whether zero is the middle of the colours
    """
    top = float(np.abs(matrix).max()) if diverging else None
    picture = ax.imshow(
        matrix,
        aspect="auto",
        interpolation="nearest",
        cmap=DIVERGING if diverging else None,
        vmin=-top if top is not None else None,
        vmax=top,
    )
    ax.figure.colorbar(picture, ax=ax)
    ax.grid(visible=False)
    if ticks is not None:
        ax.set_xticks(range(len(ticks)), ticks, fontsize=8)
        ax.set_yticks(range(len(ticks)), ticks, fontsize=8)
    finish(ax, title, x, y)


def draw_curves(
    ax: Axes,
    x: np.ndarray,
    curves: Mapping[str, np.ndarray],
    title: str,
    x_label: str,
    y_label: str,
) -> None:
    """Several curves over one axis: name -> (len(x),)."""
    for name, values in curves.items():
        ax.plot(x, values, label=name, color=ENCODING_COLOURS.get(name))
    finish(ax, title, x_label, y_label)
    if len(curves) > 1:
        ax.legend()


def draw_clock(ax: Axes, angles: Sequence[float], labels: Sequence[str], title: str) -> None:
    """Pairs of channels as arrows on the unit circle.

    angles  radians, counted from the right, anticlockwise
    """
    ring = np.linspace(0, 2 * np.pi, 200)
    ax.plot(np.cos(ring), np.sin(ring), color=COLOURS["grey"], lw=1)
    for angle, label, colour in zip(angles, labels, COLOURS.values(), strict=False):
        tip = np.cos(angle), np.sin(angle)
        ax.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "->", "color": colour, "lw": 2})
        ax.annotate(label, (1.17 * tip[0], 1.17 * tip[1]), ha="center", va="center", color=colour)
    ax.set(xlim=(-1.45, 1.45), ylim=(-1.45, 1.45), aspect="equal")
    finish(ax, title, "first channel of the pair", "second channel")
