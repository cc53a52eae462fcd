"""Texts, a square for each character, and how sure a model was of what it wrote."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

from babygpt.plots import artists
from babygpt.plots.artists import finish
from babygpt.plots.style import COLOURS, visible


def draw_text(
    ax: Axes,
    characters: Sequence[str],
    sure: np.ndarray,
    title: str,
    note: str = "",
    columns: int = 16,
    size: float = 13,
    given: np.ndarray | None = None,
) -> None:
    """A text in rows of squares; what a model wrote stands on the colour of how sure it was.

    characters  (n,)
    sure        (n,) probability that the model gave each of them; nan for what it did not write
    note        how it was written, below the squares
    columns     of squares; a shorter text is one row
    size        of the letters, points
    given       (n,) whether it stood there from the start, and is not going to move; by default nothing
    """
    columns = min(columns, len(characters))
    grid = np.full((-(-len(characters) // columns), columns), np.nan)
    grid.flat[: len(characters)] = sure
    artists.picture(ax, "sure", grid, (0.0, 1.0), None)
    stays = np.zeros(len(characters), bool) if given is None else given
    names = [f"letter {i}" for i in range(len(characters))]
    moving = [name for name, there in zip(names, stays, strict=True) if not there]
    artists.keep(ax, Annotation, [*moving, "note"] if note else moving)
    artists.keep_still(ax, set(names) - set(moving))
    style = {"ha": "center", "va": "center_baseline", "family": "monospace", "size": size}
    for i, (name, mark, p) in enumerate(zip(names, visible(characters), sure, strict=True)):
        put = artists.still if stays[i] else artists.words
        letter = put(ax, name, (float(i % columns), float(i // columns)), mark, **style)
        if letter.get_color() != (colour := "white" if p < 0.6 else "black"):  # viridis ends in yellow
            letter.set_color(colour)
    if note:
        below = (columns - 1) / 2, len(grid) - 0.45
        artists.words(ax, "note", below, note, ha="center", va="top", annotation_clip=False)
    if len(ax.get_xticks()):
        ax.set_xticks([])
        ax.set_yticks([])
    artists.bare(ax)
    finish(ax, title, "", "")


def draw_appearing(
    ax: Axes, when: np.ndarray, sure: np.ndarray, now: int, longest: int, threshold: float, title: str
) -> None:
    """Characters by the step at which they appeared and how sure the model was of them.

    when       (n,) steps, counted from 1
    sure       (n,) probabilities
    now        the step that is shown; what comes later is grey
    longest    where the axis of steps ends
    threshold  above which all appear at once
    """
    for name, some, colour, label in (
        ("there", when <= now, "blue", "written so far"),
        ("later", when > now, "grey", "still to come"),
    ):
        look = {"ls": "", "marker": "o", "ms": 6, "alpha": 0.7, "color": COLOURS[colour], "label": label}
        artists.line(ax, name, when[some], sure[some], **look)
    look = {"color": COLOURS["red"], "lw": 1.5, "ls": "--", "label": "surer than this: at once"}
    artists.level(ax, "threshold", threshold, **look)
    artists.keep(ax, Line2D, ["later", "there", "threshold"])
    artists.limits(ax, (0.0, longest + 1.0), (-0.03, 1.6))  # with room for the legend
    artists.ticks(ax.yaxis, (0.0, 0.25, 0.5, 0.75, 1.0), ("0", "0.25", "0.5", "0.75", "1"))
    finish(ax, title, "step", "how sure (probability)")
    artists.legend(ax, loc="upper left")
