"""Explorers that the page computes, for pages without a kernel: their HTML, and a script for each."""

from pathlib import Path

from babygpt.live.explorers.formulas import STYLE, Formula, source
from tools.book.outputs import script_json

SHIM = Path(__file__).parents[2] / "book" / "static" / "computed.js"
FOLDER = "_static/explorers"
STYLESHEET = "explorers.css"


def computed_html(formula: Formula, root: str, still: str) -> str:
    """Return the HTML of an explorer.

    root   the address of the book's root, seen from the page
    still  what stands there without JavaScript, as HTML
    """
    return (
        f'<link rel="stylesheet" href="{root}{FOLDER}/{STYLESHEET}">'
        f'<div class="computed" data-explorer="{formula.name}">'
        f'<script type="application/json">{script_json(formula.state())}</script>{still}</div>'
        f'<script defer src="{root}{FOLDER}/{formula.name}.js"></script>'
    )


def page_script(name: str) -> str:
    """Return an explorer as a script that mounts it wherever a page has it, also a page on a disk."""
    module = source(name).replace("export default", "const widget =").replace("\nexport ", "\n")
    return f'(() => {{\nconst NAME = "{name}";\n{module}\n{SHIM.read_text(encoding="utf-8")}}})();\n'


def write_scripts(names: set[str], html: Path) -> None:
    """Write the scripts of some explorers, and their style, into the folder of a book."""
    folder = html / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STYLESHEET).write_text(STYLE, encoding="utf-8")
    for name in names:
        (folder / f"{name}.js").write_text(page_script(name), encoding="utf-8")
