"""Explorers that the page computes, for pages without a kernel: their HTML, and a script for each."""

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from babygpt.live.explorers.formulas import HERE, STYLE, source

SHIM = Path(__file__).parents[2] / "book" / "static" / "computed.js"
FOLDER = "_static/explorers"
STYLESHEET = "explorers.css"


def script_json(data: Any) -> str:
    """Return JSON that may stand inside a script element."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def computed_html(state: Mapping[str, Any], root: str) -> str:
    """Return the HTML of an explorer.

    state  of the explorer, as `Formula.state` returns it
    root   the address of the book's root, seen from the page
    """
    name, folder = state["name"], f"{root}{FOLDER}/"
    return (
        f'<link rel="stylesheet" href="{folder}{STYLESHEET}">'
        f'<div class="computed" data-explorer="{name}">'
        f'<script type="application/json">{script_json(state)}</script>'
        f'<img src="{folder}{name}.png" alt="explorer: {state["title"]}"></div>'
        f'<script defer src="{folder}{name}.js"></script>'
    )


def page_script(name: str) -> str:
    """Return an explorer as a script that mounts it wherever a page has it, also a page on a disk."""
    module = source(name).replace("export default", "const widget =").replace("\nexport ", "\n")
    return f'(() => {{\nconst NAME = "{name}";\n{module}\n{SHIM.read_text(encoding="utf-8")}}})();\n'


def write_scripts(names: Iterable[str], html: Path) -> None:
    """Write the scripts of some explorers, their style and their still pictures into the folder of a book."""
    folder = html / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STYLESHEET).write_text(STYLE, encoding="utf-8")
    for name in names:
        (folder / f"{name}.js").write_text(page_script(name), encoding="utf-8")
        if (still := HERE / f"{name}.png").exists():  # a new explorer has none before its first screenshot
            shutil.copyfile(still, folder / still.name)
