"""Matrices in colours: one, or several beside each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from babygpt import artists
from babygpt.artists import finish
from babygpt.plots.style import DIVERGING


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


def label_rows(ax: Axes, marks: Sequence[str]) -> None:
    """A mark for each row of a matrix."""
    artists.ticks(ax.yaxis, range(len(marks)), marks, size=8)


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
