"""Explorers and dashboards on pages without a kernel: their HTML, and the scripts that draw them.

The notebook's own JavaScript draws; live.js stands in for the kernel. An explorer of a formula is computed in
the page. A run, or an explorer of a trained model, is a recording.
"""

import gzip
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

from babygpt_course.explorers.switches import SCRIPTS, Switchboard
from babygpt_live.explorer import Explorer
from babygpt_live.view import PAGE, script, style

SHIM = Path(__file__).parents[2] / "book" / "static" / "live.js"
FOLDER = "_static/live"
STYLESHEET = "figure.css"
RECORDED = (PAGE / "dashboard.js", Explorer.module, Switchboard.module)  # they draw recordings


def script_json(content: Any) -> str:
    """Return JSON that may stand inside a script element."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def pack(state: Any) -> str:
    """Return plain data as a text: JSON, a zero byte, and the bytes of all arrays; gzipped, in base64.

    state  as `as_plain` returns it. An array that occurs twice is stored once.
    """
    numbers, places = bytearray(), dict[bytes, list[int]]()

    def place(part: bytes) -> list[int]:
        if part not in places:
            places[part] = [len(numbers), len(numbers) + len(part)]
            numbers.extend(part)
        return places[part]

    text = json.dumps(state, ensure_ascii=False, separators=(",", ":"), default=place)
    return b64encode(gzip.compress(text.encode() + b"\0" + numbers, mtime=0)).decode()


def live_html(module: str, state: str, root: str, still: str = "", words: str = "") -> str:
    """Return the HTML of an explorer or a dashboard.

    module  of the page that draws it
    state   JSON of an explorer of a formula, or else a recording, as `pack` returns it
    root    the address of the book's root, seen from the page
    still   HTML for readers without JavaScript
    words   below it
    """
    folder, kind = f"{root}{FOLDER}/", "json" if state.startswith("{") else "gzip"
    caption = f"<figcaption>{escape(words)}</figcaption>" if words else ""
    return (
        f'<link rel="stylesheet" href="{folder}{STYLESHEET}">'
        f'<figure class="live" data-live="{module}"><script type="application/{kind}">{state}</script>'
        f'<noscript>{still}</noscript>{caption}</figure><script defer src="{folder}{module}.js"></script>'
    )


def formula_html(state: Mapping[str, Any], root: str, still: str = "") -> str:
    """Return the HTML of an explorer that the page computes.

    state  as `Formula.state` returns it
    """
    return live_html(state["name"], script_json(state), root, still)


def plain_script(path: Path, *others: Path) -> str:
    """Return a module and all that it imports as a text without exports; `widget` is its default export.

    others  modules that stand before it, as in `script`
    """
    return script(path, *others).replace("export default", "const widget =").replace("\nexport ", "\n")


def page_script(path: Path) -> str:
    """Return a module as a script that mounts it wherever a page has it, also a page on a disk."""
    module = plain_script(path)
    return f'(() => {{\nconst MODULE = "{path.stem}";\n{module}\n{SHIM.read_text(encoding="utf-8")}}})();\n'


def write_scripts(paths: Iterable[Path], html: Path) -> None:
    """Write the scripts of some explorers of formulas, those of recordings, and their style, into a book."""
    folder = html / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STYLESHEET).write_text(style(PAGE / "figure.css", SCRIPTS / "switches.css"), encoding="utf-8")
    for path in (*paths, *RECORDED):
        (folder / path.name).write_text(page_script(path), encoding="utf-8")
