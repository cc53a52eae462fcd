"""Something on display: widgets where there is a kernel, a picture where there is none."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from typing import Any, ClassVar
from weakref import WeakSet

import ipywidgets
from IPython import get_ipython

from babygpt.live.canvas import Canvas, drawing
from babygpt.live.painter import Painter

NATURAL = {"max_width": "100%", "align_self": "flex-start", "height": "auto"}  # never blown up, never cut


def cell() -> tuple[str, str] | None:
    """The cell being run and the run it is in, where the front end tells; else None."""
    shell = get_ipython()
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    name = parent.get("metadata", {}).get("cellId")
    return (name, parent["header"]["msg_id"]) if name else None


class View:
    """A picture under some widgets. Only its painter draws; whoever has news wakes the painter.

    A view is closed when its cell is run again, as its place on the page is gone by then.

    title    what the view is, in a word or two, the same on every machine
    widgets  what stands above the picture
    canvas   where the picture is drawn
    """

    on_display: ClassVar[WeakSet[View]] = WeakSet()

    def __init__(self, title: str, widgets: list[Any], canvas: Canvas) -> None:
        self.title, self.canvas = title, canvas
        self.error: Exception | None = None
        self.shown_in: tuple[str, str] | None = None
        self.message = ipywidgets.HTML()
        self.image = ipywidgets.Image(format="png", layout=NATURAL)
        self.root = ipywidgets.VBox([*widgets, self.message, self.image])
        self.root.add_class(f"babygpt-{type(self).__name__.lower()}")  # for tests, and for your own style
        self.painter = Painter(self.paint)

    def draw(self) -> None:
        """Put what is true now on the canvas."""
        raise TypeError(f"{type(self).__name__} does not say what it draws")

    def refresh(self) -> None:
        """Draw and show, in the caller's thread: what goes wrong is the caller's."""
        with drawing():
            self.draw()
            png = self.canvas.png()
        self.image.value = png

    def paint(self) -> None:
        """What the painter does: refresh, or say under the widgets why that is not possible."""
        try:
            self.refresh()
        except Exception as error:
            self.error = error
            self.message.value = f"<b>{escape(type(error).__name__)}</b>: {escape(str(error))}"
        else:
            self.error = None
            if self.message.value:
                self.message.value = ""

    def close(self) -> None:
        """Take the widgets off the page and out of the kernel."""
        close_all([*_below(self.root), self.root])

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        self._take_place()
        return {**self.root._repr_mimebundle_(), **self.still()}

    def still(self) -> dict[str, str]:
        """What needs no kernel: the picture as it is now, and a word that is the same on every machine."""
        return {"image/png": b64encode(self.image.value).decode(), "text/plain": repr(self)}

    def _take_place(self) -> None:
        """Close the views that an earlier run of this cell has left."""
        self.shown_in = cell()
        for other in list(self.on_display):
            if self.shown_in and other.shown_in and _run_again(other.shown_in, self.shown_in):
                other.close()
                self.on_display.discard(other)
        self.on_display.add(self)


def close_all(widgets: Sequence[Any]) -> None:
    """Close widgets, with the layouts and styles that came with them."""
    for widget in widgets:
        for part in (getattr(widget, "layout", None), getattr(widget, "style", None), widget):
            if part is not None:
                part.close()


def _run_again(before: tuple[str, str], now: tuple[str, str]) -> bool:
    """Whether two displays are in the same cell, and not in the same run of it."""
    return before[0] == now[0] and before[1] != now[1]


def _below(widget: Any) -> list[Any]:
    """All widgets inside a widget."""
    children = getattr(widget, "children", ())
    return [inner for child in children for inner in (*_below(child), child)]
