"""Texts, a square for each character; a second call on the same Axes moves them."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

from babygpt.plots import artists
from babygpt.plots.style import COLOURS, visible

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
    given       (n,) whether it was there before the model wrote and will not change; by default none
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
