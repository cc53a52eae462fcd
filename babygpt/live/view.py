"""Something on display: widgets where there is a kernel, a picture where there is none."""

from __future__ import annotations

import threading
from base64 import b64encode
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from uuid import uuid4
from weakref import WeakSet, ref

import anywidget
import ipywidgets
import traitlets
from IPython import get_ipython
from IPython.display import display

from babygpt.errors import BadInput
from babygpt.live.canvas import DRAWING_LOCK, Canvas
from babygpt.live.painter import Painter, as_failure

HERE = Path(__file__).parent
Target = TypeVar("Target")
DISPLAY_LOCK = threading.Lock()  # of View.on_display
# A saved page that is opened again finds no widget and says so: where the still copy follows, that is hidden.
NO_WIDGET = (
    ".jp-OutputArea-child:has(> .jp-OutputArea-output.jupyter-widgets)"
    ":not(:has(> .jp-OutputArea-output.jupyter-widgets *))"  # no :has() inside another: that rule is dropped
    ":has(+ .jp-OutputArea-child .babygpt-still) { display: none; }"
)


def current_cell() -> tuple[str, str] | None:
    """Return the cell being run and the id of this run of it, where the front end names them; else None."""
    shell = get_ipython()
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    name = parent.get("metadata", {}).get("cellId")
    return (name, parent["header"]["msg_id"]) if name else None


class Picture(anywidget.AnyWidget):
    """An image on the page that tells the kernel its width.

    value         PNG
    alt           what it shows, in words
    announcement  what a screen reader says as soon as it changes
    still         the name of the copy that stands in for the picture where there is no kernel; hidden while
                  there is one
    cell_width    CSS pixels; 0 until the page has sent it
    ratio         of the screen's pixels to CSS pixels; 0 until the page has sent it
    """

    _esm = HERE / "picture.js"
    _css = HERE / "picture.css"

    value = traitlets.Bytes().tag(sync=True)
    alt = traitlets.Unicode().tag(sync=True)
    announcement = traitlets.Unicode().tag(sync=True)
    still = traitlets.Unicode().tag(sync=True)
    cell_width = traitlets.Int(0).tag(sync=True)
    ratio = traitlets.Float(0.0).tag(sync=True)

    last_size: ClassVar[tuple[int, float]] = (0, 0.0)  # most likely true of the next picture, too

    def __init__(self, **traits: Any) -> None:
        self.turn = threading.RLock()  # of who sets traits: changes that cross may not all be sent
        super().__init__(**traits)
        self.observe(self._remember_size, names=["cell_width", "ratio"])

    def tell(self, **traits: Any) -> None:
        """Set traits, and send them to the page at once; from any thread."""
        with self.turn, self.hold_sync():
            for name, value in traits.items():
                setattr(self, name, value)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Set what the page has sent."""
        with self.turn:
            super().set_state(sync_data)

    def _remember_size(self, _: Any) -> None:
        if self.cell_width and self.ratio:
            Picture.last_size = (self.cell_width, self.ratio)


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
        self.cell: tuple[str, str] | None = None
        self.shown = False
        self.name = uuid4().hex  # of the still copy
        self.message = ipywidgets.HTML()
        width, ratio = Picture.last_size
        self.image = Picture(still=self.name, cell_width=width, ratio=ratio)
        self.root = ipywidgets.VBox([*widgets, self.message, self.image])
        self.root.add_class("babygpt-view")
        self.root.add_class(f"babygpt-{type(self).__name__.lower()}")  # for tests, and for your own style
        self.painter = Painter(self.paint, self._on_idle)
        resized = weak_callback(self, lambda view, _: view.painter.wake())
        self.image.observe(resized, names=["cell_width", "ratio"])

    def draw(self) -> None:
        """Draw the present state on the canvas; every kind of view says how."""
        raise TypeError(f"{type(self).__name__} does not say what it draws")

    def refresh(self) -> None:
        """Draw and show, in the caller's thread: what goes wrong is the caller's."""
        with DRAWING_LOCK:
            self.draw()
            if self.image.cell_width and self.image.ratio:
                self.canvas.set_size(self.image.cell_width, self.image.ratio)
            png = self.canvas.png()
        self.image.tell(value=png, alt=f"{self.title}: {self.canvas.alt_text()}")

    def paint(self) -> None:
        """Refresh, in the painter's thread, or say under the widgets why that is not possible."""
        try:
            self.refresh()
        except BaseException as error:  # in a thread nobody else would ever hear of it
            self.error = as_failure(error, "drawing")
            kind = "" if isinstance(error, BadInput) else f"<b>{escape(type(error).__name__)}</b>: "
            self.message.value = kind + escape(str(error))
        else:
            if self.error is not None:
                self.error, self.message.value = None, ""

    def close(self) -> None:
        """Take the widgets off the page and out of the kernel."""
        close_all([*_below(self.root), self.root])

    # ------------------------------------------------------------ on the page, and in the saved notebook

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def _ipython_display_(self) -> None:
        """Show the widgets, and for readers without a kernel a still copy of the picture.

        A front end that tells its cells apart (JupyterLab, VS Code) gets the copy as an output of its own,
        which the live picture hides; anybody else gets one output with both.
        """
        self._close_earlier()
        if self.cell:
            show(self.root._repr_mimebundle_())
        self._show_still()

    def output(self) -> dict[str, str]:
        """Return the output with the still copy, and with the widgets if they have no output of their own."""
        name = {"text/plain": repr(self)}
        png = b64encode(self.image.value).decode()
        if self.cell is None:
            return {**self.root._repr_mimebundle_(), **({"image/png": png} if png else {}), **name}
        page = (
            f'<style>{NO_WIDGET}</style><img class="babygpt-still" data-babygpt="{self.name}" '
            f'alt="{escape(self.image.alt)}" src="data:image/png;base64,{png}" '
            'style="max-width: 100%; background: white">'
        )
        return {"text/html": page, **name}

    def _show_still(self, **options: Any) -> None:
        """Publish the still copy. In HTML its alt text is in the page; beside a bare PNG it is metadata."""
        metadata = {} if self.cell else {"image/png": {"alt": self.image.alt}}
        show(self.output(), display_id=self.name, metadata=metadata, **options)

    def update_still(self) -> None:
        """Replace the still copy by the picture as it is now."""
        if self.shown:
            self._show_still(update=True)

    def _on_idle(self) -> None:
        if self.cell:
            self.update_still()

    def _close_earlier(self) -> None:
        """Close the views that an earlier run of this cell has left, and stand in their place."""
        self.shown, self.cell = True, current_cell()
        for other in self.displayed():
            if self.cell and other.cell and _run_again(other.cell, self.cell):
                other.close()
                with DISPLAY_LOCK:
                    self.on_display.discard(other)
        with DISPLAY_LOCK:
            self.on_display.add(self)

    @classmethod
    def displayed(cls) -> list[View]:
        """Return the views on the page; from any thread."""
        with DISPLAY_LOCK:
            return list(cls.on_display)


def show(data: dict[str, str], **options: Any) -> None:
    """Publish an output, MIME type -> data; outside IPython do nothing."""
    if get_ipython() is not None:
        display(data, raw=True, **options)


def close_all(widgets: Sequence[Any]) -> None:
    """Close widgets together with their layouts and styles."""
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


def weak_callback(target: Target, act: Callable[[Target, Any], None]) -> Callable[[Any], None]:
    """Make a callback that calls `act(target, change)` while the target lives, and does not keep it alive."""
    target_or_none = ref(target)

    def call(change: Any) -> None:
        if (alive := target_or_none()) is not None:
            act(alive, change)

    return call
