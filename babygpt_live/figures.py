"""Drawing on empty Axes, for figures that stand still: curves, losses, matrices, texts."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from babygpt_live.style import COLOURS, DIVERGING, ENCODING_COLOURS, STYLE, visible

if TYPE_CHECKING:  # a third of a second, which a learner's first cell would wait for
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDEST = 1600  # pixels of a picture
LETTER = 0.53  # mean width of a title's letters, as a share of their height
UNNAMED = re.compile(r"_child\d+|_nolegend_")  # Matplotlib's names for a curve without one
FLOOR_STYLES: list[Any] = ["--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 4))]
LITERAL: Any = {"parse_math": False}  # a learner's text may hold dollars


def draw_png(draw: Callable[[Figure], None], size: tuple[float, float]) -> bytes:
    """Draw a figure in the course's style: the bytes of a PNG file of 256 colours.

    draw  draws on an empty figure
    size  of the figure, in inches
    """
    import matplotlib
    from matplotlib.figure import Figure
    from PIL import Image

    content, smaller = io.BytesIO(), io.BytesIO()
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size)
        draw(figure)
        dpi = min(120.0, WIDEST / size[0])
        figure.savefig(content, format="png", dpi=dpi, metadata={"Software": None})
    Image.open(content).convert("RGB").quantize(256).save(smaller, "png", optimize=True)
    return smaller.getvalue()


def set_labels(ax: Axes, title: str, x: str, y: str) -> None:
    """Set both axes' labels, and a title in lines that end before the title of the next Axes begins."""
    have = ax.set_title("", **LITERAL)
    figure: Any = ax.figure
    plots = (plot for plot in figure.axes if plot.get_label() != "<colorbar>")
    starts = [plot.get_position(True).x0 for plot in plots]
    start = ax.get_position(True).x0
    # All of these are shares of the figure's width.
    width = min((x for x in starts if x > start + 0.02), default=1.0) - start
    letter = LETTER * float(have.get_fontsize()) / (72 * figure.get_figwidth())
    have.set_text(textwrap.fill(title, max(1, int(width / letter) - 1)))
    ax.set(xlabel=x, ylabel=y)


def set_legend(ax: Axes, **options: Any) -> None:
    """Show a legend of the labelled curves, or none for a curve alone.

    Matplotlib itself leaves out names that begin with "_", as a learner's may.
    """
    curves = {line: str(line.get_label()) for line in ax.get_lines()}
    entries = {line: label for line, label in curves.items() if not UNNAMED.fullmatch(label)}
    if len(entries) > 1:
        look: Any = {"frameon": False, "fontsize": 9, "handlelength": 1.5, **options}
        ax.legend(list(entries), list(entries.values()), **look)


# ---------------------------------------------------------------- curves


def running_mean(losses: Sequence[float], width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps, counted from 1, and at each the mean of the last `width` losses (at first of all).

    Only finite losses count; where there are none, the mean is nan.
    """
    # Each window has a sum of its own: one huge loss would stay in the rounding errors of a running sum.
    padded = np.concatenate([np.full(width, np.nan), np.asarray(losses, float)])
    finite = np.isfinite(padded)
    windows = sliding_window_view(np.where(finite, padded, 0.0), width)[1:]  # (n, width)
    counts = sliding_window_view(finite, width)[1:].sum(1)
    mean = np.where(counts, windows.sum(1) / np.maximum(counts, 1), np.nan)
    return np.arange(1, len(losses) + 1), mean


def draw_losses(
    ax: Axes,
    curves: Mapping[str, Sequence[float]],
    floors: Mapping[str, float],
    title: str,
    smooth: int = 10,
    baseline: str = "",
) -> None:
    """Draw training losses over the steps, with the floors that are known.

    curves    name -> loss of each step, nats per character; the first one is drawn first
    floors    name -> a loss that cannot be passed
    smooth    steps averaged into one point
    baseline  name of a curve that is drawn in grey
    """
    for name, losses in curves.items():
        colour = COLOURS["grey"] if name == baseline else ENCODING_COLOURS.get(name)
        ax.plot(*running_mean(losses, smooth), label=name, color=colour)
    for style, (name, floor) in zip(cycle(FLOOR_STYLES), floors.items(), strict=False):
        ax.axhline(floor, color="black", lw=1, ls=style, label=f"{name} {floor:.3f}")
    set_labels(ax, title, "step", "loss (nats per character)")
    set_legend(ax, loc="upper right", borderaxespad=0.1)


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
    columns: int = 1,
    colours: Mapping[str, str] = ENCODING_COLOURS,
    **look: Any,
) -> None:
    """Draw several curves over one x axis.

    curves   name -> (len(x),)
    x_span   where the x axis begins and ends; by default it follows the curves, and so does y
    legend   where it stands, in Matplotlib's words
    columns  of the legend
    colours  name -> colour; a name without one takes the next colour of the course
    look     Matplotlib's settings of the curves
    """
    for name, curve in curves.items():
        ax.plot(x, curve, label=name, color=colours.get(name), **look)
    if x_span is not None:
        ax.set_xlim(*x_span)
    if y_span is not None:
        ax.set_ylim(*y_span)
    set_labels(ax, title, x_label, y_label)
    set_legend(ax, loc=legend, ncols=columns)


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
        positions = np.arange(len(mean)) * smooth + smooth / 2
        ax.plot(positions, mean, label=name, color=ENCODING_COLOURS.get(name))
    ax.axvline(block_size, color="black", lw=1, ls="--", label=f"trained up to {block_size}")
    set_labels(ax, title, "position (tokens)", "loss (nats per character)")
    set_legend(ax, frameon=None, fontsize=None, handlelength=None)


# ---------------------------------------------------------------- squares in colours


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
    """Draw a matrix in colours, with a colour bar.

    matrix     (rows, columns)
    ticks      the characters along both sides of a square matrix
    diverging  whether zero is the middle of the colours
    top        the value at the upper end of the colours, where it must not follow the matrix: the
               lower end is then 0, or -top if diverging
    """
    highest = top if top is not None else float(np.abs(matrix).max() if diverging else matrix.max())
    lowest = -highest if diverging else 0.0 if top is not None else float(matrix.min())
    draw_squares(ax, matrix, (lowest, highest), DIVERGING if diverging else None)
    if ticks is not None:
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_ticks(range(len(ticks)), ticks, fontsize=8, **LITERAL)
    set_labels(ax, title, x, y)


def draw_squares(ax: Axes, matrix: np.ndarray, span: tuple[float, float], cmap: str | None = None) -> None:
    """Draw a matrix in colours whose ends are `span`, with a colour bar."""
    look: Any = {"interpolation": "nearest", "cmap": cmap, "vmin": span[0], "vmax": span[1]}
    ax.figure.colorbar(ax.imshow(matrix, aspect="auto", **look), ax=ax)
    ax.grid(visible=False)


# Letters that stand in columns; the second is asked for what the first does not have.
MONOSPACE = ["DejaVu Sans Mono", "monospace"]


def draw_text(
    ax: Axes,
    characters: Sequence[str],
    confidence: np.ndarray,
    title: str,
    columns: int = 16,
    size: float = 13,
) -> None:
    """Draw a text in rows of squares, each in the colour of the model's confidence.

    characters  (n,)
    confidence  (n,) probability that the model gave each of them; nan for what it did not write
    columns     of squares; a shorter text is one row
    size        of the letters, points
    """
    columns = min(columns, len(characters))
    grid = np.full((-(-len(characters) // columns), columns), np.nan)
    grid.flat[: len(characters)] = confidence
    draw_squares(ax, grid, (0.0, 1.0))
    style: Any = {"ha": "center", "va": "center_baseline", "family": MONOSPACE, "size": size, **LITERAL}
    for i, (mark, p) in enumerate(zip(visible(characters), confidence, strict=True)):
        colour = "white" if p < 0.6 else "black"  # viridis ends in yellow
        ax.text(i % columns, i // columns, mark, color=colour, **style)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    set_labels(ax, title, "", "")
