"""The picture of a view in the page: as wide as its cell, as sharp as the screen, with words for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

HERE = Path(__file__).parent


class Picture(anywidget.AnyWidget):
    """An image that tells the kernel how much room it has.

    value  PNG
    alt    what it shows, in words
    said   what a screen reader is told as soon as it changes
    still  the name of the copy that stands in for the picture where there is no kernel; hidden while there is
    room   width of the cell, CSS pixels; 0 until the page has told
    ratio  of the screen's pixels to CSS pixels; 0 until the page has told
    """

    _esm = HERE / "picture.js"
    _css = HERE / "picture.css"

    value = traitlets.Bytes().tag(sync=True)
    alt = traitlets.Unicode().tag(sync=True)
    said = traitlets.Unicode().tag(sync=True)
    still = traitlets.Unicode().tag(sync=True)
    room = traitlets.Int(0).tag(sync=True)
    ratio = traitlets.Float(0.0).tag(sync=True)

    page: ClassVar[tuple[int, float]] = (0, 0.0)  # what was told last: most likely true of the next picture

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.observe(self._told, names=["room", "ratio"])

    def _told(self, _: Any) -> None:
        if self.room and self.ratio:
            Picture.page = (self.room, self.ratio)
