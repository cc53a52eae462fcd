"""A folder of web pages, served on this machine as the code host would, and a page of explorers for it."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from babygpt_course.explorers.formulas import Formula
from tools.book.live_parts import formula_html, write_scripts

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Explorers</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<style>:root {{ color-scheme: light dark }}
body {{ margin: 12px; background: white; font-family: system-ui }} .live {{ margin: 24px 0 }}
@media (prefers-color-scheme: dark) {{ body {{ background: #131416; color: #ddd }} }}</style>
<main><h1>Explorers</h1>{}</main></html>"""


class Quiet(SimpleHTTPRequestHandler):
    """Request handler that answers without a log."""

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    """Serve a folder on 127.0.0.1 while the context lasts; yields its address, ending with a slash."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, name="site", daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


def write_explorers(folder: Path, formulas: Sequence[Formula], words: str = "") -> None:
    """Write index.html: explorers that the page computes, as the book has them.

    words  HTML above them
    """
    write_scripts([formula.script for formula in formulas], folder)
    body = words + "".join(formula_html(formula.state(), "") for formula in formulas)
    (folder / "index.html").write_text(PAGE.format(body), encoding="utf-8")
