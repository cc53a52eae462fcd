"""Texts, a square for each character, and how sure a model was of what it wrote."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

from babygpt import artists
from babygpt.artists import finish
from babygpt.plots.style import COLOURS, visible


def draw_text(
    ax: Axes,
    characters: Sequence[str],
    sure: np.ndarray,
    title: str,
    note: str = "",
    columns: int = 16,
    size: float = 13,
) -> None:
    """A text in rows of squares; what a model wrote stands on the colour of how sure it was.

    characters  (n,)
    sure        (n,) probability that the model gave each of them; nan for what it did not write
    note        how it was written, below the squares
    columns     of squares; a shorter text is one row
    size        of the letters, points
    """
    columns = min(columns, len(characters))
    grid = np.full(-(-len(characters) // columns) * columns, np.nan)
    grid[: len(characters)] = sure
    artists.picture(ax, "sure", grid.reshape(-1, columns), (0.0, 1.0), None)
    artists.keep(ax, Annotation, [f"letter {i}" for i in range(len(characters))])
    style = {"ha": "center", "va": "center_baseline", "family": "monospace", "size": size}
    for i, (mark, p) in enumerate(zip(visible(characters), sure, strict=True)):
        at = (float(i % columns), float(i // columns))
        letter = artists.words(ax, f"letter {i}", at, mark, **style)
        letter.set_color("white" if p < 0.6 else "black")  # viridis ends in yellow; nan has no colour
    if len(ax.get_xticks()):
        ax.set_xticks([])
        ax.set_yticks([])
    finish(ax, title, note, "")


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
    for name, some, colour in (("later", when > now, "grey"), ("there", when <= now, "blue")):
        look = {"ls": "", "marker": "o", "ms": 4.5, "alpha": 0.7, "color": COLOURS[colour]}
        artists.line(ax, name, when[some], sure[some], **look)
    artists.level(ax, "threshold", threshold, color="black", lw=1, ls="--")
    artists.keep(ax, Line2D, ["later", "there", "threshold"])
    artists.limits(ax, (0.0, longest + 1.0), (-0.03, 1.03))
    finish(ax, title, "step", "how sure (probability)")
