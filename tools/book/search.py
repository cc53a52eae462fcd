"""Index of the sentences of all pages, gzipped in a script that a page can load from a disk as well.

A Sphinx extension, in place of Sphinx's own search: that one fetches whole pages to show a sentence.
"""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterator
from html import unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

INDEX = "_static/sentences.js"
Part = tuple[str, str, list[str]]  # address on its page, heading, sentences
SILENT = re.compile(r'<(script|style|pre|svg|figcaption)\b.*?</\1>|<a class="headerlink".*?</a>', re.S)
BLOCK = re.compile(r"<(?:/?(section|article|h\d|p|li|tr|d[td]|div|summary|legend|label)\b)([^>]*)>")
SENTENCE = re.compile(r"(?<=[.?!])(?<!et al[.]) (?=[^a-z])")


def parts_of(html: str) -> Iterator[Part]:
    """Yield what a page says: its sections, claims and public names, each with its sentences."""
    main = SILENT.sub("", html.partition('id="furo-main-content">')[2].rpartition("</article>")[0])
    main = re.sub(r"<t[dh]\b[^>]*>(?:<p>)?|(?:</p>)?</t[dh]>", " ", main)  # a row of a table is one sentence
    address, heading, sentences = "", "", list[str]()
    pieces = BLOCK.split(main)[1:]
    for tag, attributes, inside in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        match = re.search(r'\bid="([^"]+)"', attributes) if tag in ("section", "article", "dt") else None
        if match:
            if sentences:
                yield address, heading, sentences
            address, heading, sentences = match[1], "", []
        text = " ".join(unescape(re.sub("<[^>]*>", "", inside)).split())
        if text and not heading:
            heading = text
        elif text:
            sentences += SENTENCE.split(text)
    yield address, heading, sentences


def write_index(app: Sphinx, error: Exception | None) -> None:
    """Write the index of all pages."""
    if error is None:
        pages = sorted(app.env.all_docs)
        texts = {page: (app.outdir / f"{page}.html").read_text(encoding="utf-8") for page in pages}
        index = {page: list(parts_of(text)) for page, text in texts.items()}
        text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
        packed = b64encode(gzip.compress(text.encode(), mtime=0)).decode()  # a third of the bytes
        (app.outdir / INDEX).write_text(f'const SENTENCES = "{packed}";\n', encoding="utf-8")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Switch Sphinx's own search off, and write the index in its place."""
    app.connect("builder-inited", lambda app: setattr(app.builder, "search", False))
    app.connect("build-finished", write_index)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
