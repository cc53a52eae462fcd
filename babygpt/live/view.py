"""Something on display: widgets where there is a kernel, a picture where there is none."""

from __future__ import annotations

import threading
from base64 import b64encode
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, ClassVar, TypeVar
from uuid import uuid4
from weakref import WeakSet, ref

import ipywidgets
from IPython import get_ipython
from IPython.display import display

from babygpt.live.canvas import Canvas, drawing
from babygpt.live.painter import Painter
from babygpt.live.picture import Picture

Thing = TypeVar("Thing")
REGISTER = threading.Lock()
# A saved page that is opened again finds no widget and says so: where the still copy follows, that is hidden.
NO_WIDGET = (
    ".jp-OutputArea-child:has(> .jp-OutputArea-output.jupyter-widgets:not(:has(*)))"
    ":has(+ .jp-OutputArea-child .babygpt-still) { display: none; }"
)


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
        self.error: BaseException | None = None
        self.shown_in: tuple[str, str] | None = None
        self.shown = False
        self.name = uuid4().hex  # of the still copy
        self.message = ipywidgets.HTML()
        room, ratio = Picture.page
        self.image = Picture(still=self.name, room=room, ratio=ratio)
        self.root = ipywidgets.VBox([*widgets, self.message, self.image])
        self.root.add_class("babygpt-view")
        self.root.add_class(f"babygpt-{type(self).__name__.lower()}")  # for tests, and for your own style
        self.painter = Painter(self.paint, self._at_rest)
        resized = weakly(self, lambda view, _: view.painter.wake())
        self.image.observe(resized, names=["room", "ratio"])

    def draw(self) -> None:
        """Put what is true now on the canvas."""
        raise TypeError(f"{type(self).__name__} does not say what it draws")

    def refresh(self) -> None:
        """Draw and show, in the caller's thread: what goes wrong is the caller's."""
        with drawing():
            self.draw()
            if self.image.room and self.image.ratio:
                self.canvas.fit(self.image.room, self.image.ratio)
            png = self.canvas.png()
        with self.image.hold_sync():
            self.image.value = png
            self.image.alt = f"{self.title}: {self.canvas.words()}"

    def paint(self) -> None:
        """What the painter does: refresh, or say under the widgets why that is not possible."""
        try:
            self.refresh()
        except BaseException as error:  # in a thread nobody else would ever hear of it
            self.error = error
            self.message.value = f"<b>{escape(type(error).__name__)}</b>: {escape(str(error))}"
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
        self._take_place()
        if self.shown_in:
            show(self.root._repr_mimebundle_())
        show(self.output(), display_id=self.name)

    def output(self) -> dict[str, str]:
        """The output with the still copy: picture, words for it, and the widgets if they have no other."""
        word = {"text/plain": repr(self)}
        png = b64encode(self.image.value).decode()
        if self.shown_in is None:
            return {**self.root._repr_mimebundle_(), **({"image/png": png} if png else {}), **word}
        page = (
            f'<style>{NO_WIDGET}</style><img class="babygpt-still" data-babygpt="{self.name}" '
            f'alt="{escape(self.image.alt)}" src="data:image/png;base64,{png}" '
            'style="max-width: 100%; background: white">'
        )
        return {"text/html": page, **word}

    def renew(self) -> None:
        """Put the picture as it is now in the place of the still copy."""
        if self.shown:
            show(self.output(), display_id=self.name, update=True)

    def _at_rest(self) -> None:
        """The painter has nothing to do: time to think of readers without a kernel."""
        if self.shown_in:
            self.renew()

    def _take_place(self) -> None:
        """Close the views that an earlier run of this cell has left."""
        self.shown, self.shown_in = True, cell()
        for other in self.displayed():
            if self.shown_in and other.shown_in and _run_again(other.shown_in, self.shown_in):
                other.close()
                with REGISTER:
                    self.on_display.discard(other)
        with REGISTER:
            self.on_display.add(self)

    @classmethod
    def displayed(cls) -> list[View]:
        """The views on the page, from any thread."""
        with REGISTER:
            return list(cls.on_display)


def show(data: dict[str, str], **options: Any) -> None:
    """Publish an output of these kinds; outside IPython there is nobody to see it."""
    if get_ipython() is not None:
        display(data, raw=True, **options)


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


def weakly(target: Thing, act: Callable[[Thing, Any], None]) -> Callable[[Any], None]:
    """A callback that acts on a thing as long as there is one, and does not keep it alive."""
    target_or_none = ref(target)

    def call(change: Any) -> None:
        alive = target_or_none()
        if alive is not None:
            act(alive, change)

    return call
