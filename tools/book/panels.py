"""Cut a picture into its panels, and store each panel once, as a small file."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from PIL import Image

from babygpt.live.canvas import Canvas

GAP = 10  # pixels of white between two panels, at least: letters stand closer
MARGIN = 6  # pixels of white above and below a panel
LEVELS = 32  # of each of the three colours: at half the size hardly anybody sees it
FEWER = np.round(np.round(np.arange(256) / 255 * (LEVELS - 1)) / (LEVELS - 1) * 255).astype(np.uint8)


class Panels:
    """Cuts pictures of a canvas into its panels, and stores each panel once.

    canvas  what is drawn on
    folder  where the files go, named by what is on them
    """

    def __init__(self, canvas: Canvas, folder: Path) -> None:
        self.canvas, self.folder = canvas, folder
        folder.mkdir(parents=True, exist_ok=True)

    def set_cuts(self, samples: Sequence[np.ndarray]) -> None:
        """Cut between two Axes where all sample pictures are white, left of the right one's own words.

        Where there is no such place, two Axes stay in one panel. Rows that are always white above and below
        a panel are cut off.
        """
        ink = np.logical_or.reduce([(sample < 255).any(axis=2) for sample in samples])  # (height, width)
        width = ink.shape[1]
        begins = [left_end(ax, self.canvas) for ax in self.canvas.axes[1:]]
        ends = [round(ax.get_position().x1 * width) for ax in self.canvas.axes[:-1]]
        runs = [last_gap(~ink[:, end:begin].any(axis=0)) for end, begin in zip(ends, begins, strict=True)]
        cuts = [end + run for end, run in zip(ends, runs, strict=True) if run is not None]
        self.boxes = [(a, b, *rows_with_ink(ink[:, a:b])) for a, b in itertools.pairwise([0, *cuts, width])]

    def store(self, pixels: np.ndarray) -> list[str]:
        """Store the panels of a picture, and return their file names."""
        return [self._store(pixels[top:bottom, a:b]) for a, b, top, bottom in self.boxes]

    def sizes(self) -> list[tuple[int, int]]:
        """Return width and height of each panel, pixels."""
        return [(b - a, bottom - top) for a, b, top, bottom in self.boxes]

    def _store(self, panel: np.ndarray) -> str:
        panel = np.ascontiguousarray(panel)
        name = hashlib.sha256(repr(panel.shape).encode() + panel.tobytes()).hexdigest()[:12] + ".webp"
        if not (self.folder / name).exists():
            write_picture(panel, self.folder / name)
        return name


def write_picture(pixels: np.ndarray, path: Path) -> None:
    """Write a picture in fewer colours as WebP, whole or not at all: others may write the same one now.

    pixels  (height, width, 3)
    """
    part = path.with_name(f"{path.name}.{os.getpid()}")
    Image.fromarray(FEWER[pixels]).save(part, "WEBP", lossless=True, quality=25, method=2)
    part.replace(path)


def left_end(ax: Axes, canvas: Canvas) -> int:
    """Return the column where Axes begin, with the words beside them."""
    words = ax.yaxis.get_tightbbox(canvas.agg.get_renderer()) if ax.yaxis.get_visible() else None
    return int(min(ax.bbox.x0, ax.bbox.x0 if words is None else words.x0))


def rows_with_ink(ink: np.ndarray) -> tuple[int, int]:
    """Return the first row with something in it, and the row after the last, with a little white around."""
    rows = np.flatnonzero(ink.any(axis=1))
    if not len(rows):
        return 0, len(ink)
    return max(0, int(rows[0]) - MARGIN), min(len(ink), int(rows[-1]) + 1 + MARGIN)


def last_gap(white: np.ndarray, least: int = GAP) -> int | None:
    """Return the middle of the last run of at least so many True, None if there is none: (n,) -> below n."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], white, [False])).astype(int)))
    runs = [(begin, end) for begin, end in edges.reshape(-1, 2).tolist() if end - begin >= least]
    return (runs[-1][0] + runs[-1][1] - 1) // 2 if runs else None
