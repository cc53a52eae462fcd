"""Matrices and texts in coloured squares; a second call on the same Axes moves them."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

from babygpt.plots import artists
from babygpt.plots.style import COLOURS, DIVERGING, visible


def draw_matrix(
    ax: Axes,
    matrix: np.ndarray,
    title: str,
    x: str,
    y: str,
    ticks: Sequence[str] | None = None,
    diverging: bool = False,
    top: float | None = None,
    square: bool = False,
) -> None:
    """Draw a matrix in colours, with a colour bar.

    matrix     (rows, columns)
    ticks      the characters along both sides of a square matrix
    diverging  whether zero is the middle of the colours
    top        the value at the upper end of the colours, where it must not follow the matrix: the
               lower end is then 0, or -top if diverging
    square     whether cells are square, whatever the Axes
    """
    highest = top if top is not None else float(np.abs(matrix).max() if diverging else matrix.max())
    lowest = -highest if diverging else 0.0 if top is not None else float(matrix.min())
    artists.image(ax, "matrix", matrix, (lowest, highest), DIVERGING if diverging else None, square=square)
    if ticks is not None:
        for axis in (ax.xaxis, ax.yaxis):
            artists.set_ticks(axis, range(len(ticks)), ticks, labelsize=8)
    artists.set_labels(ax, title, x, y)


def draw_gates(ax: Axes, gates: np.ndarray, masked: np.ndarray, title: str, x: str, mark: str) -> None:
    """Draw the gate of every position and channel, with the MASK tokens labelled and framed.

    gates   (T, channels)
    masked  (T,) whether the token is MASK
    mark    the label of those that are
    """
    draw_matrix(ax, gates, title, x, "position (tokens)", diverging=True, top=1.0)
    edges = np.flatnonzero(np.diff(masked, prepend=False, append=False)) - 0.5  # above and below each run
    begins, ends = edges[::2], edges[1::2]
    left, right = -0.5, gates.shape[1] - 0.5
    across = np.tile([left, right, right, left], len(begins))
    artists.line(ax, "edges", across, np.repeat(edges, 2), color="black", lw=1.2)
    named = {float(b + e) / 2: mark for b, e in zip(begins, ends, strict=True)}
    free = [i for i in range(0, len(gates), 8) if all(abs(i - at) > len(gates) / 12 for at in named)]
    named |= {float(i): str(i) for i in free}
    artists.set_ticks(ax.yaxis, sorted(named), [named[at] for at in sorted(named)], labelsize=9)


MOST_LETTERS = 32  # along a side of three inches, so that letters of 8 points have room


def letters_or_words(marks: Sequence[str], blank: str) -> tuple[list[float], list[str], bool]:
    """Choose the ticks of an axis along a text: its letters, or its words if it is long.

    marks    the text, a mark for each letter
    blank    the mark of a space
    returns  positions, labels, and whether they are words
    """
    if len(marks) <= MOST_LETTERS:
        return [float(i) for i in range(len(marks))], list(marks), False
    positions: list[float] = []
    labels: list[str] = []
    begin = 0
    for word in "".join(marks).split(blank):
        middle = begin + (len(word) - 1) / 2
        if word and (not positions or middle - positions[-1] >= len(marks) / MOST_LETTERS):
            positions.append(middle)
            labels.append(word)
        begin += len(word) + 1
    return positions, labels, True


def draw_attention_heads(
    ax: Axes, weights: np.ndarray, letters: Sequence[str], chosen: tuple[int, int], title: str
) -> None:
    """Draw the attention weights of one head with the text along its sides, and all heads small beside it.

    weights  (n_layer, n_head, T, T)  row m of a square tells what letter m looks at
    letters  T
    chosen   layer and head of the large square, counted from 0
    """
    T = weights.shape[-1]
    artists.image(ax, "head", weights[chosen], (0.0, 1.0), None, square=True)
    artists.set_limits(ax, (-0.5, draw_small_heads(ax, weights, chosen)), (T - 0.5, -0.5))
    artists.hide_frame(ax)
    positions, labels, words = letters_or_words(letters, visible(" ")[0])
    artists.set_ticks(ax.xaxis, positions, labels, labelsize=9, rotation=90.0 if words else 0.0)
    artists.set_ticks(ax.yaxis, positions, labels, labelsize=9)
    if ax.get_xlabel() != (x := "letter looked at"):
        ax.set_xlabel(x, loc="left")
    artists.set_labels(ax, title, x, "letter that looks")


def draw_small_heads(ax: Axes, weights: np.ndarray, chosen: tuple[int, int]) -> float:
    """Draw all heads in squares beside a large one: a column for each layer, a row for each head.

    returns  the x at which they and their names end
    """
    L, H, T, _ = weights.shape
    gap = max(1, round(0.07 * T))  # between two squares, in letters of them
    framed = np.pad(weights, ((0, 0), (0, 0), (0, gap), (0, gap)), constant_values=np.nan)
    mosaic = framed.transpose(1, 2, 0, 3).reshape(H * (T + gap), L * (T + gap))[:-gap, :-gap]
    unit = min(0.9 * T / len(mosaic), 1.2 * T / mosaic.shape[1], 0.45)  # room for the layers' names above
    left, top = 1.08 * T, 0.1 * T - 0.5
    right, bottom = left + unit * mosaic.shape[1], top + unit * len(mosaic)
    artists.image(ax, "heads", mosaic, (0.0, 1.0), None, (left, right, bottom, top), True, bar=False)
    step = unit * (T + gap)
    for i in range(L):
        at = (left + i * step + unit * T / 2, top - 0.02 * T)
        artists.background_text(ax, f"layer {i + 1}", at, f"layer {i + 1}", ha="center", va="bottom", size=9)
    for j in range(H):
        at = (right + 0.03 * T, top + j * step + unit * T / 2)
        artists.background_text(ax, f"head {j + 1}", at, f"head {j + 1}", ha="left", va="center", size=9)
    names = [*(f"layer {i + 1}" for i in range(L)), *(f"head {j + 1}" for j in range(H))]
    artists.keep_background_texts(ax, names)
    x, y = left + chosen[0] * step, top + chosen[1] * step
    frame = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]) * unit * T
    artists.line(ax, "frame", x + frame[:, 0], y + frame[:, 1], color=COLOURS["red"], lw=2.5)
    return right + 0.22 * T


def draw_attention_row(ax: Axes, weights: np.ndarray, letters: Sequence[str], title: str) -> None:
    """Draw the attention of one letter of a text as bars over the letters.

    weights  (T,)  shares of its attention
    letters  T
    """
    T = len(letters)
    at, shares = np.arange(-0.5, T + 0.5), np.append(weights, weights[-1])
    artists.line(ax, "row", at, shares, color=COLOURS["blue"], drawstyle="steps-post")
    artists.set_limits(ax, (-0.5, T - 0.5), (0.0, 1.02))
    positions, labels, words = letters_or_words(letters, visible(" ")[0])
    artists.set_ticks(ax.xaxis, positions, labels, labelsize=9, rotation=90.0 if words else 0.0)
    artists.set_labels(ax, title, "letter looked at", "share of attention")


# Letters that stand in columns; the second is asked for what the first does not have.
MONOSPACE = ["DejaVu Sans Mono", "monospace"]


def draw_text(
    ax: Axes,
    characters: Sequence[str],
    confidence: np.ndarray,
    title: str,
    note: str = "",
    columns: int = 16,
    size: float = 13,
    given: np.ndarray | None = None,
) -> None:
    """Draw a text in rows of squares, each in the colour of the model's confidence.

    characters  (n,)
    confidence  (n,) probability that the model gave each of them; nan for what it did not write
    note        how it was written, below the squares
    columns     of squares; a shorter text is one row
    size        of the letters, points
    given       (n,) whether it was there before the model wrote and will not change; by default none. Its
                spaces are left blank, those that the model wrote have a mark
    """
    columns = min(columns, len(characters))
    grid = np.full((-(-len(characters) // columns), columns), np.nan)
    grid.flat[: len(characters)] = confidence
    artists.image(ax, "confidence", grid, (0.0, 1.0), None)
    stays = np.zeros(len(characters), bool) if given is None else given
    names = [f"letter {i}" for i in range(len(characters))]
    moving = [name for name, there in zip(names, stays, strict=True) if not there]
    artists.keep_only(ax, Annotation, [*moving, "note"] if note else moving)
    artists.keep_background_texts(ax, set(names) - set(moving))
    style = {"ha": "center", "va": "center_baseline", "family": MONOSPACE, "size": size}
    for i, (name, mark, p) in enumerate(zip(names, visible(characters), confidence, strict=True)):
        put = artists.background_text if stays[i] else artists.text
        mark = " " if stays[i] and characters[i] == " " else mark
        letter = put(ax, name, (float(i % columns), float(i // columns)), mark, **style)
        if letter.get_color() != (colour := "white" if p < 0.6 else "black"):  # viridis ends in yellow
            letter.set_color(colour)
    if note:
        below = (columns - 1) / 2, len(grid) - 0.45
        artists.text(ax, "note", below, note, ha="center", va="top", annotation_clip=False)
    if len(ax.get_xticks()):
        ax.set_xticks([])
        ax.set_yticks([])
    artists.hide_frame(ax)
    artists.set_labels(ax, title, "", "")


def draw_fill_order(
    ax: Axes,
    when: np.ndarray,
    confidence: np.ndarray,
    now: int,
    longest: int,
    threshold: float | None,
    title: str,
) -> None:
    """Draw each character at the step that filled it in, as high as the model's confidence.

    when        (n,) steps, counted from 1
    confidence  (n,) probabilities
    now         the step that is shown; what comes later is grey
    longest     where the axis of steps ends
    threshold   above which all appear at once; None where there is none
    """
    for name, some, colour, label in (
        ("there", when <= now, "blue", "written so far"),
        ("later", when > now, "grey", "still to come"),
    ):
        look = {"ls": "", "marker": "o", "ms": 6, "alpha": 0.7, "color": COLOURS[colour], "label": label}
        artists.line(ax, name, when[some], confidence[some], **look)
    look = {"color": COLOURS["red"], "lw": 1.5, "ls": "--", "label": "surer than this: at once"}
    if threshold is not None:
        artists.horizontal_line(ax, "threshold", threshold, **look)
    artists.keep_only(ax, Line2D, ["later", "there", *(() if threshold is None else ("threshold",))])
    artists.set_limits(ax, (0.0, longest + 1.0), (-0.03, 1.6))  # with room for the legend
    artists.set_ticks(ax.yaxis, (0.0, 0.25, 0.5, 0.75, 1.0), ("0", "0.25", "0.5", "0.75", "1"))
    artists.set_labels(ax, title, "step", "how sure (probability)")
    artists.set_legend(ax, loc="upper left")
