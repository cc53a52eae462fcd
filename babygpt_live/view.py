"""Output on display: a widget where there is a kernel, a still picture where there is none."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from uuid import uuid4
from weakref import WeakSet

from IPython import get_ipython
from IPython.display import display

PAGE = Path(__file__).with_name("page")  # scripts and styles
IMPORT = re.compile(r'^import (\{[^}]*\}) from "([./\w]+\.js)";\n', re.M)
DEFAULT = re.compile(r"^export default .*;\n", re.M)
EXPORT = re.compile(r"^export (?=(?:const|function|class) (\w+))", re.M)
# Hides a still copy while its widget is on the page, and the message above a copy that the widget is gone.
STILL_CSS = (
    "body:has(.{0}) :is(.still-{0}, .jp-OutputArea-child:has(.still-{0})),"
    ".jp-OutputArea-child:has(> .jp-OutputArea-output.jupyter-widgets)"
    ":not(:has(> .jp-OutputArea-output.jupyter-widgets *))"  # browsers drop a rule with :has() inside :has()
    ":has(+ .jp-OutputArea-child .babygpt-still) {{ display: none; }}"
)
# A still shrinks to this share of its width, then it scrolls, because its letters would be too small.
SMALLEST = 0.65


def script(path: Path, *others: Path) -> str:
    """Return a module of a page, and before it all that it imports, as one module without imports.

    path    of its file; an imported file is named from the folder of the one that imports it
    others  modules that stand before it too, as if it imported them: each is $ and the name of its file
    """
    texts: dict[str, str] = {}

    def add(file: Path) -> None:
        text = file.read_text(encoding="utf-8")
        for _, address in IMPORT.findall(text):
            imported = (file.parent / address).resolve()
            if imported.stem not in texts:
                add(imported)
        texts[file.stem] = IMPORT.sub(lambda match: f"const {match[1]} = ${Path(match[2]).stem};\n", text)
        if file != path:  # what it does not export stays its own: two modules may use a name differently
            own, names = texts[file.stem], ", ".join(EXPORT.findall(text))
            own = EXPORT.sub("", DEFAULT.sub("", own))
            texts[file.stem] = f"const ${file.stem} = (() => {{\n{own}return {{ {names} }};\n}})();\n"

    for file in (*others, path):
        add(file)
    return "".join(texts.values())


def style(*paths: Path) -> str:
    """Return styles of a page as one, after the tokens that they use."""
    return "".join(path.read_text(encoding="utf-8") for path in (PAGE / "tokens.css", *paths))


class Still(NamedTuple):
    """Picture that stands for a widget.

    data  of the picture
    kind  its MIME type
    alt   its description
    width in CSS pixels, at which its letters have their own size
    note  a sentence below it, as HTML
    """

    data: bytes
    kind: str
    alt: str
    width: int
    note: str = ""

    def html(self) -> str:
        """Return the picture as HTML. On a narrow page it scrolls, so that its letters can be read."""
        source = f"data:{self.kind};base64,{b64encode(self.data).decode()}"
        look = f"width: 100%; max-width: {self.width}px; min-width: {SMALLEST * self.width:.0f}px"
        image = f'<img alt="{escape(self.alt)}" src="{source}" style="{look}; background: white">'
        return f'<div style="overflow-x: auto">{image}</div>{self.note}'


class Output:
    """Widget, and a still copy for readers without a kernel: a saved notebook keeps only the copy.

    root     the widget
    words    equal on every machine
    picture  returns a picture of the widget as it is now, or None; without one, the words stand for it
    """

    def __init__(self, root: Any, words: str, picture: Callable[[], Still | None] = lambda: None) -> None:
        self.root, self.words, self.picture = root, words, picture
        self.name = f"babygpt-{uuid4().hex}"
        self.cell: tuple[str, str] | None = None
        root.add_class(self.name)

    def __repr__(self) -> str:
        return self.words

    def still(self) -> str:
        """Return the still copy as HTML."""
        picture = self.picture()
        if picture is not None:
            return picture.html()
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
        bundle, metadata = {}, {}
        if self.cell:
            css = f"<style>{STILL_CSS.format(self.name)}</style>"
            bundle["text/html"] = f'{css}<div class="babygpt-still still-{self.name}">{self.still()}</div>'
        else:
            bundle = bundle_of(self.root)
            if (picture := self.picture()) is not None:
                svg = picture.kind == "image/svg+xml"
                bundle[picture.kind] = picture.data.decode() if svg else b64encode(picture.data).decode()
                metadata = {picture.kind: {"alt": picture.alt}}
        bundle["text/plain"] = self.words
        show(bundle, display_id=self.name, metadata=metadata, **options)


class LiveOutput(Output):
    """Output that follows a model or its controls.

    When a cell runs again, the output of its earlier run is closed: that one has left the page.
    """

    on_display: ClassVar[WeakSet[LiveOutput]] = WeakSet()  # changed by cells only

    def _ipython_display_(self) -> None:
        super()._ipython_display_()
        for live_output in list(self.on_display):
            same_place = self.cell and live_output.cell and live_output.cell[0] == self.cell[0]
            if same_place and live_output.cell != self.cell:  # shown by an earlier run of this cell
                live_output.root.unobserve_all()  # anywidget keeps widgets, and they would keep their output
                close_all([live_output.root])
                self.on_display.discard(live_output)
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


def show(bundle: dict[str, str], **options: Any) -> None:
    """Publish an output, MIME type -> data; outside IPython do nothing."""
    if get_ipython() is not None:
        display(bundle, raw=True, **options)


def close_all(widgets: Sequence[Any]) -> None:
    """Close widgets with all that is inside them, their layouts and their styles."""
    for widget in widgets:
        close_all(getattr(widget, "children", ()))
        for part in (getattr(widget, "layout", None), getattr(widget, "style", None), widget):
            if part is not None:
                part.close()
