"""Drawing: every function takes an Axes and arrays, and draws one finding. No torch, no files.

Called again on the same Axes, a function moves what it drew before (`artists`): that is a live plot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

from babygpt import artists
from babygpt.artists import finish

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
    "v5": COLOURS["red"],
    "v5-absolute": COLOURS["orange"],
    "v5 fixed": COLOURS["sky"],  # its kernel is not trained
    "v5-absolute fixed": COLOURS["grey"],
    "alibi": COLOURS["pink"],
    "RoPE": COLOURS["grey"],  # beside the heads of ALiBi, which take the other colours
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


def visible(characters: Iterable[str]) -> list[str]:
    """Characters as marks on an axis: spaces and line ends can be seen."""
    return [{"\n": "↵", " ": "␣"}.get(character, character) for character in characters]


def label_rows(ax: Axes, marks: Sequence[str]) -> None:
    """A mark for each row of a matrix."""
    artists.ticks(ax.yaxis, range(len(marks)), marks, size=8)


def smoothed(losses: Sequence[float], width: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps, counted from 1, and the mean loss of the `width` steps that end there (of all, at first)."""
    step, sums = np.arange(1, len(losses) + 1), np.cumsum([0.0, *losses])
    first = np.maximum(step - width, 0)
    return step, (sums[step] - sums[first]) / (step - first)


def draw_losses(
    ax: Axes,
    curves: Mapping[str, Sequence[float]],
    floors: Mapping[str, float],
    title: str,
    smooth: int = 10,
    total: int | None = None,
    no_idea: float = 0.0,
) -> None:
    """Training loss against the step, with the floors that are known.

    curves    name -> loss of each step, nats per character
    floors    name -> a loss that cannot be passed
    smooth    steps averaged into one point
    total     steps of a run that is not over: both axes then hold all of it from the start
    no_idea   loss of knowing nothing, where such a run begins
    """
    for name, losses in curves.items():
        artists.line(ax, name, *smoothed(losses, smooth), label=name, color=ENCODING_COLOURS.get(name))
    for style, (name, floor) in zip(("--", ":", "-."), floors.items(), strict=False):
        look = {"color": "black", "lw": 1, "ls": style}
        artists.level(ax, f"floor {name}", floor, label=f"{name} {floor:.3f}", **look)
    artists.keep(ax, Line2D, {*curves, *(f"floor {name}" for name in floors)})
    if total is None:
        artists.fit(ax)
    else:
        highest = max([no_idea, *floors.values(), *(max(losses, default=0.0) for losses in curves.values())])
        artists.limits(ax, (0.0, float(total)), (0.0, max(0.5, float(np.ceil(2 * highest) / 2))))
    finish(ax, title, "step", "loss (nats per character)")
    artists.legend(ax, loc="upper right")  # where a falling curve never comes


def draw_rising(
    ax: Axes, curves: Mapping[str, tuple[Sequence[int], Sequence[float]]], title: str, total: int
) -> None:
    """Share of right answers as training goes on, with a line at chance, which is one half.

    curves  name -> steps, and accuracy after each of them, between 0 and 1
    total   steps of the whole run
    """
    for name, (steps, accuracies) in curves.items():
        look = {"marker": "o", "ms": 4, "color": ENCODING_COLOURS.get(name)}
        artists.line(ax, name, steps, 100 * np.asarray(accuracies), label=name, **look)
    artists.level(ax, "chance", 50, color="black", lw=1, ls="--")
    artists.words(ax, "word", (float(total), 49.0), "chance", va="top", ha="right")
    artists.limits(ax, (0.0, float(total)), (0.0, 105.0))
    finish(ax, title, "step", "right answers (%)")
    artists.legend(ax, loc="lower right")


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
    top: float | None = None,
) -> None:
    """A matrix as a picture with a colour bar.

    matrix     (rows, columns)
    ticks      the characters along both sides of a square matrix
    diverging  whether zero is the middle of the colours
    top        the value at the upper end of the colours, where it must not follow the matrix: the
               lower end is then 0, or -top if diverging
    """
    highest = top if top is not None else float(np.abs(matrix).max() if diverging else matrix.max())
    lowest = -highest if diverging else 0.0 if top is not None else float(matrix.min())
    artists.picture(ax, "matrix", matrix, (lowest, highest), DIVERGING if diverging else None)
    if ticks is not None:
        artists.ticks(ax.xaxis, range(len(ticks)), ticks, size=8)
        label_rows(ax, ticks)
    finish(ax, title, x, y)


def draw_heads(ax: Axes, weights: np.ndarray, title: str) -> None:
    """The attention weights of all heads beside each other: a row for each layer, a column for each head.

    weights  (n_layer, n_head, T, T)  row m of a square tells what token m looks at
    """
    L, H, T, _ = weights.shape
    framed = np.pad(weights, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=np.nan)
    mosaic = framed.transpose(0, 2, 1, 3).reshape(L * (T + 1), H * (T + 1))[:-1, :-1]
    artists.picture(ax, "heads", mosaic, (0.0, 1.0), None)
    for axis, n, name in ((ax.xaxis, H, "head"), (ax.yaxis, L, "layer")):
        artists.ticks(axis, [i * (T + 1) + T / 2 for i in range(n)], [f"{name} {i + 1}" for i in range(n)])
    finish(ax, title, "letter looked at, in each square", "letter that looks")


def draw_squares(ax: Axes, squares: np.ndarray, names: Sequence[str], title: str) -> None:
    """Square matrices of likenesses beside each other, in colours from -1 to 1.

    squares  (K, n, n)
    names    K
    """
    K, n, _ = squares.shape
    framed = np.pad(squares, ((0, 0), (0, 0), (0, 1)), constant_values=np.nan)
    mosaic = framed.transpose(1, 0, 2).reshape(n, K * (n + 1))[:, :-1]
    artists.picture(ax, "squares", mosaic, (-1.0, 1.0), DIVERGING)
    artists.ticks(ax.xaxis, [i * (n + 1) + (n - 1) / 2 for i in range(K)], names)
    artists.ticks(ax.yaxis, range(n), [str(i) for i in range(n)])
    finish(ax, title, "", "branch")


def draw_gaps(ax: Axes, gaps: Mapping[str, Mapping[str, Sequence[float]]], title: str) -> None:
    """What company costs under each code: a row for each code, a colour for each number of branches.

    gaps  code -> number of branches, in words -> nats per character, one for each seed
    """
    names = list(gaps)
    for colour, asked in zip(COLOURS.values(), next(iter(gaps.values())), strict=False):
        for row, name in enumerate(names):
            values, label = gaps[name][asked], f"{asked} branches" if row == 0 else None
            ax.plot(values, [row] * len(values), "o", ms=6, alpha=0.75, color=colour, label=label)
    ax.set_xscale("symlog", linthresh=0.01)  # linear about 0: a gap may be slightly negative
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) + 0.4, -0.6)  # the first code on top, and room for the legend below
    finish(ax, title, "interference gap (nats per character)", "")
    ax.legend(loc="lower right", ncols=3)


def draw_kernels(ax: Axes, kernels: Mapping[str, np.ndarray], first: np.ndarray, title: str) -> None:
    """Kernels after training, a line for each seed, and the one that all began with.

    kernels  name -> (seeds, furthest + 1)  K at 0, 1, 2, ... tokens, as a share of K(0)
    first    (furthest + 1,)  the same before the first step
    """
    away = np.arange(len(first))
    ax.plot(away, first, color="black", lw=1, ls="--", label="before training")
    for name, seeds in kernels.items():
        for i, values in enumerate(seeds):
            ax.plot(away, values, color=ENCODING_COLOURS.get(name), lw=1.5, label=None if i else name)
    finish(ax, title, "m (tokens)", "K(m), as a share of K(0)")
    ax.legend()


def draw_curves(
    ax: Axes,
    x: np.ndarray,
    curves: Mapping[str, np.ndarray],
    title: str,
    x_label: str,
    y_label: str,
    x_span: tuple[float, float] | None = None,
    y_span: tuple[float, float] | None = None,
    legend: str = "best",
) -> None:
    """Several curves over one axis: name -> (len(x),). A span holds an axis where it is.

    legend  where it stands, in Matplotlib's words; "best" follows the curves of the first drawing
    """
    # When a curve comes, all begin anew: each gets the colour and the depth that it would get alone.
    if any(artists.drawn(ax, Line2D, name) is None for name in curves):
        artists.forget_lines(ax)
    for name, values in curves.items():
        artists.line(ax, name, x, values, label=name, color=ENCODING_COLOURS.get(name))
    artists.keep(ax, Line2D, [*curves, "here", "place"])
    if x_span is None or y_span is None:
        artists.fit(ax)
    artists.limits(ax, x_span, y_span)
    finish(ax, title, x_label, y_label)
    artists.legend(ax, loc=legend)


def mark_place(ax: Axes, x: float) -> None:
    """A thin vertical line at a place that the reader has chosen."""
    artists.upright(ax, "place", x, color=COLOURS["red"], lw=1.5)


def draw_clock(ax: Axes, angles: Sequence[float], labels: Sequence[str], title: str) -> None:
    """Pairs of channels as hands on the unit circle.

    angles  radians, counted from the right, anticlockwise
    """
    ring = np.linspace(0, 2 * np.pi, 200)
    artists.line(ax, "ring", np.cos(ring), np.sin(ring), color=COLOURS["grey"], lw=1)
    names = [f"hand {i}" for i in range(len(labels))]
    artists.keep(ax, Line2D, ["ring", *names])
    artists.keep(ax, Annotation, [f"{name}'s label" for name in names])
    for name, angle, label, colour in zip(names, angles, labels, COLOURS.values(), strict=False):
        tip = float(np.cos(angle)), float(np.sin(angle))
        beside = (1.5 * tip[0], 1.3 * tip[1])
        artists.hand(ax, name, tip, colour)
        artists.words(ax, f"{name}'s label", beside, label, ha="center", va="center", color=colour)
    artists.limits(ax, (-1.95, 1.95), (-1.6, 1.6))
    if ax.get_aspect() != 1.0:
        ax.set_aspect("equal")
    finish(ax, title, "first channel of the pair", "second channel")
