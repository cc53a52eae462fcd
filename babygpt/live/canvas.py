"""Figure that is drawn again and again, quickly, as PNG."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from babygpt import plots
from babygpt.plots.artists import find_artist, moving_artists

WIDTH = 11.0  # inches of every figure, so that letters are as large in one view as in the next
DPI = 100  # of a figure on a page of unknown width
WIDEST = 1920  # CSS pixels
DRAWING_LOCK = threading.Lock()  # held while anything is drawn: Matplotlib's caches are shared by all figures


@contextmanager
def first_drawing() -> Iterator[None]:
    """Hold the drawing lock, and apply the course's style to all artists that are made meanwhile.

    Only for the thread of the reader's own cell. Matplotlib's settings belong to the whole process: a painter
    that changed them in the background would change a figure that the reader is just drawing.
    """
    with DRAWING_LOCK, matplotlib.rc_context(plots.STYLE):
        yield


class Canvas:
    """Row of Axes, and its picture as PNG.

    Each picture redraws only the artists that the drawing functions move. Everything else (axes, ticks,
    labels, colour bars) is kept as a background until Matplotlib marks the figure as stale.

    widths  of the Axes, relative to each other
    height  of the figure, inches; all figures are WIDTH inches wide
    split   whether `below` has an Axes of its own under the first one, with the same x axis; else None
    """

    def __init__(self, widths: Sequence[float], height: float, split: bool = False) -> None:
        with first_drawing():
            self.figure = Figure((WIDTH, height), DPI, layout="constrained")
            self.agg = FigureCanvasAgg(self.figure)
            row = self.figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0]
            self.below: Axes | None = None
            if split:
                upper, lower = row[0].get_subplotspec().subgridspec(2, 1, height_ratios=(2, 1))
                row[0].set_subplotspec(upper)
                self.below = self.figure.add_subplot(lower, sharex=row[0])
                row[0].xaxis.label.set_visible(False)
                row[0].tick_params(labelbottom=False)
        self.axes: list[Axes] = list(row)
        self.moving: list[tuple[Axes, Artist]] = []
        self.titles: dict[Artist, tuple[str, Any]] = {}  # their text, and a copy of its pixels
        self.laid_out = False

    def set_size(self, width: float, ratio: float) -> None:
        """Draw from now on for a cell of this width on a screen of this pixel ratio.

        width  CSS pixels; the picture is never wider than WIDEST
        ratio  of the screen's pixels to CSS pixels
        """
        dpi = round(min(width, WIDEST) * ratio) / WIDTH + 1e-6  # rounds to whole pixels, and loses none
        if self.figure.dpi != dpi:
            self.figure.set_dpi(dpi)

    def alt_text(self) -> str:
        """Return the titles of the Axes, as a description for readers who do not see the picture."""
        titles = [find_artist(ax, Text, "title") for ax in self.figure.axes]
        return "; ".join(title.get_text().replace("\n", " ") for title in titles if title is not None)

    def png(self) -> bytes:
        """Return the current picture as PNG. Higher compression levels save little and take far longer."""
        buffer = BytesIO()
        Image.fromarray(self.pixels()).save(buffer, "png", compress_level=1)
        return buffer.getvalue()

    def pixels(self) -> np.ndarray:
        """Return the current picture: (height, width, 4) of 0 to 255, valid until the next one."""
        if self.figure.stale:
            self.draw_background()
        self.agg.restore_region(self.background)
        for ax, artist in self.moving:
            if isinstance(artist, Text) and artist.get_gid() in ("title", "note"):
                self._draw_title(ax, artist)
            else:
                ax.draw_artist(artist)
        return np.asarray(self.agg.buffer_rgba())

    def _draw_title(self, ax: Axes, title: Text) -> None:
        """Draw a title or note, or copy its pixels if its text is the same: letters take longest to draw."""
        text, pixels = self.titles.get(title, (None, None))
        if text != title.get_text():
            ax.draw_artist(title)
            text, box = title.get_text(), title.get_window_extent(self.agg.get_renderer())
            pixels = self.agg.copy_from_bbox(box.padded(2))
            self.titles[title] = (text, pixels)
        self.agg.restore_region(pixels)

    def draw_background(self) -> None:
        """Draw all that does not move. The first time, lay the figure out."""
        self.titles.clear()
        if not self.laid_out:  # once only: a plot whose axes shift from frame to frame cannot be read
            if (engine := self.figure.get_layout_engine()) is not None:
                engine.execute(self.figure)
            self.figure.set_layout_engine("none")
            self.laid_out = True
        self.moving = [(ax, artist) for ax in self.figure.axes for artist in moving_artists(ax)]
        for _, artist in self.moving:
            artist.set_animated(True)
        self.agg.draw()
        self.background = self.agg.copy_from_bbox(self.figure.bbox)
