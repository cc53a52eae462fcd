"""View on display: widgets where there is a kernel, a still picture where there is none."""

from __future__ import annotations

import threading
from base64 import b64encode
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import AbstractContextManager, suppress
from html import escape
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from uuid import uuid4
from weakref import WeakSet

import anywidget
import ipywidgets
import traitlets
from IPython import get_ipython
from IPython.display import display

from babygpt.errors import BadInput
from babygpt.live.canvas import DRAWING_LOCK, Canvas, first_drawing

HERE = Path(__file__).parent
PAINTER = ThreadPoolExecutor(1, "babygpt painter")  # of all views: Matplotlib draws one figure at a time
IDLE_SECONDS = 1.0  # without a painting, after which a view leaves a still copy of its picture
# Hides a still copy while its widget is on the page, and the message above a copy that the widget is gone.
STILL_CSS = (
    "body:has(.{0}) :is(.still-{0}, .jp-OutputArea-child:has(.still-{0})),"
    ".jp-OutputArea-child:has(> .jp-OutputArea-output.jupyter-widgets)"
    ":not(:has(> .jp-OutputArea-output.jupyter-widgets *))"  # browsers drop a rule with :has() inside :has()
    ":has(+ .jp-OutputArea-child .babygpt-still) {{ display: none; }}"
)
LATE = (  # shown by page.css in a view whose page.js does not come up
    f"<style>{(HERE / 'page.css').read_text(encoding='utf-8')}</style>"
    "The page’s script did not start: this is a plain picture. To try again, save the notebook and reload."
)


class Picture(ipywidgets.Image):
    """Image on the page, with what page.js makes of it. Without page.js it is a plain image.

    alt           description in words
    announcement  text that a screen reader speaks as soon as it changes
    """

    alt = traitlets.Unicode().tag(sync=True)
    announcement = traitlets.Unicode().tag(sync=True)


class Page(anywidget.AnyWidget):
    """Script on the page. The kernel only listens: anywidget drops what is sent to a script that is late.

    picture  model id of the picture beside it; empty beside a guess
    size     width of the cell in CSS pixels, and the ratio of the screen's pixels to them; or empty
    """

    _esm = HERE / "page.js"

    picture = traitlets.Unicode().tag(sync=True)
    size = traitlets.List(traitlets.Float()).tag(sync=True)

    last_size: ClassVar[list[float]] = []  # that a page has sent: a good guess for the next picture

    def __init__(self, **traits: Any) -> None:
        super().__init__(size=Page.last_size, **traits)
        self.observe(lambda change: setattr(Page, "last_size", change["new"]), names="size")
        self.on_msg(lambda page, *_: page.send({}))  # no answer: a cell is running


class Still(NamedTuple):
    """Picture that stands for a widget: a PNG, and its description."""

    value: bytes
    alt: str


class Output:
    """Widget, and a still copy for readers without a kernel: a saved notebook keeps only the copy.

    root   the widget
    words  equal on every machine
    image  what the copy shows, or None
    """

    def __init__(self, root: Any, words: str, image: Picture | Still | None = None) -> None:
        self.root, self.words, self.image = root, words, image
        self.name = f"babygpt-{uuid4().hex}"
        self.cell: tuple[str, str] | None = None
        root.add_class(self.name)

    def __repr__(self) -> str:
        return self.words

    def still(self) -> str:
        """Return the still copy as HTML."""
        if self.image is not None:
            png, look = b64encode(self.image.value).decode(), "max-width: 100%; background: white"
            image = f'<img alt="{escape(self.image.alt)}" src="data:image/png;base64,{png}" style="{look}">'
            return image + ("<p>Run the cell to move it.</p>" if isinstance(self.image, Still) else "")
        lines = escape(self.words).replace("\n", "<br>")
        return f'<p class="babygpt-words">{lines}</p>'

    def _ipython_display_(self) -> None:
        """Show the widget and the still copy.

        A front end that names its cells (JupyterLab, VS Code) gets the copy as an output of its own, which
        the widget hides. All others get one output with both.
        """
        self.cell = current_cell()
        if self.cell:  # the widget's own text may hold a guess, and the page would save it
            show({**bundle_of(self.root), "text/plain": ""})
        self.show_still()

    def show_still(self, **options: Any) -> None:
        """Publish the still copy, with the widget if that has no output of its own."""
        metadata = {}
        if self.cell:
            style = f"<style>{STILL_CSS.format(self.name)}</style>"
            data = {"text/html": f'{style}<div class="babygpt-still still-{self.name}">{self.still()}</div>'}
        else:
            data = bundle_of(self.root)
            if self.image is not None:  # a bare PNG has its description beside it
                data["image/png"] = b64encode(self.image.value).decode()
                metadata = {"image/png": {"alt": self.image.alt}}
        data["text/plain"] = self.words
        show(data, display_id=self.name, metadata=metadata, **options)


class View(Output):
    """Picture under some widgets. After the first drawing only the painter draws; others wake it.

    When a cell runs again, the view of its earlier run is closed: that view has left the page.

    title    in a word or two, equal on every machine
    widgets  above the picture
    canvas   of the picture; a subclass must be ready to `draw` when it calls this constructor
    """

    image: Picture
    on_display: ClassVar[WeakSet[View]] = WeakSet()  # changed by cells only

    def __init__(self, title: str, widgets: list[Any], canvas: Canvas) -> None:
        self.title, self.canvas = title, canvas
        self.error: BaseException | None = None
        self.resting = threading.Timer(IDLE_SECONDS, self.show_still)  # never started
        self.message, self.image, late = ipywidgets.HTML(), Picture(), ipywidgets.HTML(LATE)
        late.add_class("babygpt-late")
        self.page = Page(picture=self.image.model_id)
        root = ipywidgets.VBox([*widgets, self.message, self.image, late, self.page])
        super().__init__(root, f"<{title}>", self.image)
        self.root.add_class("babygpt-view")
        self.root.add_class(f"babygpt-{type(self).__name__.lower()}")  # for tests, and for your own style
        self.refresh(first=True)  # a state that cannot be drawn is an error of the cell
        self.waking, self.painting = threading.Lock(), Future[None]()  # the latest request
        self.painting.set_result(None)
        self.page.observe(self.wake, names="size")

    def draw(self) -> None:
        """Draw the present state on the canvas."""
        raise NotImplementedError

    def wake(self, _: Any = None) -> None:
        """Request a painting that begins after this call; return at once. Requests that pile up are one."""
        with self.waking, suppress(RuntimeError):  # which an interpreter that is ending raises
            if self.painting.running() or self.painting.done():
                self.painting = PAINTER.submit(self._paint)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all requests are painted; return False if that took longer than `timeout` seconds."""
        return not wait_for([self.painting], timeout).not_done

    def refresh(self, first: bool = False) -> None:
        """Draw and show in the caller's thread, where errors are raised too.

        first  whether artists are made too, in the course's style
        """
        lock: AbstractContextManager[Any] = first_drawing() if first else DRAWING_LOCK
        with lock:
            self.draw()
            if self.page.size:
                self.canvas.set_size(*self.page.size)
            self.image.alt = f"{self.title}: {self.canvas.alt_text()}"
            self.image.value = self.canvas.png()

    def _paint(self) -> None:
        """Refresh in the painter's thread; show an error under the widgets."""
        try:
            self.refresh()
        except BaseException as error:
            self.error = error
            kind = "" if isinstance(error, BadInput) else f"<b>{escape(type(error).__name__)}</b>: "
            self.message.value = kind + escape(str(error))
        else:
            if self.error is not None:
                self.error, self.message.value = None, ""
        if self.cell:
            self.resting.cancel()
            self.resting = threading.Timer(IDLE_SECONDS, self.show_still, kwargs={"update": True})
            self.resting.daemon = True
            self.resting.start()

    def _ipython_display_(self) -> None:
        super()._ipython_display_()
        for other in list(self.on_display):
            same_place = self.cell and other.cell and other.cell[0] == self.cell[0]
            if same_place and other.cell != self.cell:  # shown by an earlier run of this cell
                other.page.unobserve_all()  # anywidget keeps pages, and they would keep their view
                close_all([other.root])
                self.on_display.discard(other)
        self.on_display.add(self)


def bundle_of(widget: Any) -> dict[str, Any]:
    """Return what shows a widget, MIME type -> data."""
    bundle = widget._repr_mimebundle_()
    return dict(bundle[0] if isinstance(bundle, tuple) else bundle)  # anywidget adds metadata


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
