"""View on display: widgets where there is a kernel, a still picture where there is none."""

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
from babygpt.live.canvas import DRAWING_LOCK, Canvas, first_drawing

HERE = Path(__file__).parent
IDLE_SECONDS = 1.0  # without a wake, after which a painter is idle
Target = TypeVar("Target")
# A saved page that is opened again finds no widget and says so: this hides the message above a still copy.
NO_WIDGET = (
    ".jp-OutputArea-child:has(> .jp-OutputArea-output.jupyter-widgets)"
    ":not(:has(> .jp-OutputArea-output.jupyter-widgets *))"  # browsers drop a rule with :has() inside :has()
    ":has(+ .jp-OutputArea-child .babygpt-still) { display: none; }"
)


class Painter:
    """Thread that calls `paint` soon after every `wake`: one painting at a time, one for wakes that pile up.

    The thread lives only while there is something to paint, and a moment longer: a notebook with twenty
    idle views has no more threads than one without any.

    paint    draws the present state
    on_idle  called after a painting that no other followed for a moment
    """

    def __init__(self, paint: Callable[[], None], on_idle: Callable[[], None]) -> None:
        self.paint, self.on_idle = paint, on_idle
        self.wanted = self.painting = False
        self.thread: threading.Thread | None = None
        self.change = threading.Condition()

    def wake(self) -> None:
        """Request a painting that begins after this call; return at once."""
        with self.change:
            if self.thread is None:
                thread = threading.Thread(target=self._work, name="babygpt painter", daemon=True)
                thread.start()  # if the system refuses another thread, nothing is requested
                self.thread = thread
            self.wanted = True
            self.change.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all requests are painted; return False if that took longer than `timeout` seconds."""
        with self.change:
            return self.change.wait_for(lambda: not (self.wanted or self.painting), timeout)

    def _work(self) -> None:
        try:
            while True:
                while self._wait_for_wake():
                    self.paint()
                self.on_idle()
                with self.change:
                    if not self.wanted:  # else somebody woke it while on_idle was at work
                        self.thread = None
                        return
        except BaseException:
            with self.change:  # else everybody would wait for ever for a thread that has failed
                self.wanted, self.painting, self.thread = False, False, None
                self.change.notify_all()
            raise

    def _wait_for_wake(self) -> bool:
        """Wait a moment for a request; return whether there is one."""
        with self.change:
            self.painting = False
            self.change.notify_all()
            self.painting = self.change.wait_for(lambda: self.wanted, IDLE_SECONDS)
            self.wanted = False
            return self.painting


class Picture(anywidget.AnyWidget):
    """Image on the page that sends its width to the kernel.

    value         PNG
    alt           description in words
    announcement  text that a screen reader speaks as soon as it changes
    still         name of the still copy, which the page hides while this widget is alive
    cell_width    CSS pixels; 0 until the page has sent it
    ratio         of the screen's pixels to CSS pixels; 0 until the page has sent it
    """

    _esm = HERE / "page.js"
    _css = HERE / "page.css"

    value = traitlets.Bytes().tag(sync=True)
    alt = traitlets.Unicode().tag(sync=True)
    announcement = traitlets.Unicode().tag(sync=True)
    still = traitlets.Unicode().tag(sync=True)
    cell_width = traitlets.Int(0).tag(sync=True)
    ratio = traitlets.Float(0.0).tag(sync=True)

    last_size: ClassVar[tuple[int, float]] = (0, 0.0)  # a good guess for the next picture

    def __init__(self, **traits: Any) -> None:
        self.turn = threading.RLock()  # two threads that set traits at once may lose a change
        super().__init__(**traits)
        self.observe(self._remember_size, names=["cell_width", "ratio"])

    def tell(self, **traits: Any) -> None:
        """Set traits, and send them to the page at once; from any thread."""
        with self.turn, self.hold_sync():
            for name, value in traits.items():
                setattr(self, name, value)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Set traits to values from the page."""
        with self.turn:
            super().set_state(sync_data)

    def _remember_size(self, _: Any) -> None:
        if self.cell_width and self.ratio:
            Picture.last_size = (self.cell_width, self.ratio)


class View:
    """Picture under some widgets. After the first drawing only its painter draws; others wake it.

    When a cell runs again, the view of its earlier run is closed: that view has left the page.

    title    in a word or two, equal on every machine
    widgets  above the picture
    canvas   of the picture; a subclass must be ready to `draw` when it calls this constructor
    """

    on_display: ClassVar[WeakSet[View]] = WeakSet()  # changed by cells only

    def __init__(self, title: str, widgets: list[Any], canvas: Canvas) -> None:
        self.title, self.canvas = title, canvas
        self.error: BaseException | None = None
        self.cell: tuple[str, str] | None = None
        self.shown = False
        self.name = uuid4().hex  # of the still copy
        self.message = ipywidgets.HTML()
        width, ratio = Picture.last_size
        self.image = Picture(still=self.name, cell_width=width, ratio=ratio)
        self.root = ipywidgets.VBox([*widgets, self.message, self.image])
        self.root.add_class("babygpt-view")
        self.root.add_class(f"babygpt-{type(self).__name__.lower()}")  # for tests, and for your own style
        with first_drawing():  # a state that cannot be drawn is an error of the cell
            self._draw_and_show()
        self.painter = Painter(self._paint, self._on_idle)
        resized = weak_callback(self, lambda view, _: view.painter.wake())
        self.image.observe(resized, names=["cell_width", "ratio"])

    def draw(self) -> None:
        """Draw the present state on the canvas."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Draw and show in the caller's thread, where errors are raised too."""
        with DRAWING_LOCK:
            self._draw_and_show()

    def _draw_and_show(self) -> None:
        self.draw()
        if self.image.cell_width and self.image.ratio:
            self.canvas.set_size(self.image.cell_width, self.image.ratio)
        self.image.tell(value=self.canvas.png(), alt=f"{self.title}: {self.canvas.alt_text()}")

    def _paint(self) -> None:
        """Refresh in the painter's thread; show an error under the widgets, for nobody else hears of it."""
        try:
            self.refresh()
        except BaseException as error:
            self.error = error
            kind = "" if isinstance(error, BadInput) else f"<b>{escape(type(error).__name__)}</b>: "
            self.message.value = kind + escape(str(error))
        else:
            if self.error is not None:
                self.error, self.message.value = None, ""

    def close(self) -> None:
        """Take the widgets off the page and out of the kernel."""
        close_all([self.root])

    # ------------------------------------------------------------ on the page, and in the saved notebook

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def _ipython_display_(self) -> None:
        """Show the widgets, and for readers without a kernel a still copy of the picture.

        A front end that names its cells (JupyterLab, VS Code) gets the copy as an output of its own, which
        the live picture hides. All others get one output with both.
        """
        self.shown, self.cell = True, current_cell()
        for other in list(self.on_display):
            same_place = self.cell and other.cell and other.cell[0] == self.cell[0]
            if same_place and other.cell != self.cell:  # shown by an earlier run of this cell
                other.close()
                self.on_display.discard(other)
        self.on_display.add(self)
        if self.cell:
            show(self.root._repr_mimebundle_())
        self._show_still()

    def _show_still(self, **options: Any) -> None:
        """Publish the still copy, with the widgets if they have no output of their own."""
        png = b64encode(self.image.value).decode()
        page = (
            f'<style>{NO_WIDGET}</style><img class="babygpt-still" data-babygpt="{self.name}" '
            f'alt="{escape(self.image.alt)}" src="data:image/png;base64,{png}" '
            'style="max-width: 100%; background: white">'
        )
        data, metadata = {"text/html": page, "text/plain": repr(self)}, {}
        if self.cell is None:  # a bare PNG has its description beside it
            data = {**self.root._repr_mimebundle_(), "image/png": png, "text/plain": repr(self)}
            metadata = {"image/png": {"alt": self.image.alt}}
        show(data, display_id=self.name, metadata=metadata, **options)

    def update_still(self) -> None:
        """Replace the still copy by the present picture."""
        if self.shown:
            self._show_still(update=True)

    def _on_idle(self) -> None:
        if self.cell:
            self.update_still()


def current_cell() -> tuple[str, str] | None:
    """Return the id of the running cell and of this run of it, or None if the front end sends no cell ids."""
    shell = get_ipython()
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    name = parent.get("metadata", {}).get("cellId")
    return (name, parent["header"]["msg_id"]) if name else None


def show(data: dict[str, str], **options: Any) -> None:
    """Publish an output, MIME type -> data; outside IPython do nothing."""
    if get_ipython() is not None:
        display(data, raw=True, **options)


def close_all(widgets: Sequence[Any]) -> None:
    """Close widgets with all that is inside them, their layouts and their styles."""
    for widget in widgets:
        close_all(getattr(widget, "children", ()))
        for part in (getattr(widget, "layout", None), getattr(widget, "style", None), widget):
            if part is not None:
                part.close()


def weak_callback(target: Target, act: Callable[[Target, Any], None]) -> Callable[[Any], None]:
    """Make a callback that calls `act(target, change)` while the target lives, and does not keep it alive."""
    target_or_none = ref(target)

    def call(change: Any) -> None:
        if (alive := target_or_none()) is not None:
            act(alive, change)

    return call
