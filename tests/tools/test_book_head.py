"""Heads, sitemap, page for wrong addresses, and search index of a book of four pages."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from PIL import Image

from tools.book.search import parts_of

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "https://somewhere.org/course/"
PAGES = {
    "index.md": "# Where?\n\nSentence one. Sentence two & three.\n"
    "\n```{toctree}\n:hidden:\n\ndeep/lesson\n```\n",
    "deep/lesson.md": "# 04 · RoPE\n\n**Why <10,000>?**\n\nIt turns. It is slow, as *Press et al. 2021* say."
    "\n\n## Waves\n\n||loss|\n|-|-|\n|v4|1|\n",
    "404.md": "---\norphan: true\n---\n# Nothing here\n",
    "search.md": (ROOT / "book" / "search.md").read_text(encoding="utf-8"),
}


def make(folder: Path, address: str) -> Path:
    """Make the pages with the settings of the course's book, and return their folder."""
    for name, text in PAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-c", ROOT / "book", folder, folder / "html"]
    subprocess.run(command, check=True, env={**os.environ, "BOOK_ADDRESS": address})
    return folder / "html"


def head_of(path: Path) -> dict[str, str]:
    """Read a page's metadata: name -> text."""
    soup = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    found = {tag["name"]: tag["content"] for tag in soup.select("meta[name]")}
    links = {"canonical": soup.select_one("link[rel=canonical]"), "base": soup.base}
    return {**found, "title": soup.title.string} | {key: tag["href"] for key, tag in links.items() if tag}


def test_a_published_book_names_its_addresses(tmp_path: Path):
    html = make(tmp_path, ADDRESS)
    head = head_of(html / "deep" / "lesson.html")
    assert head["title"] == "Why <10,000>? · RoPE · babygpt"
    assert head["og:title"] == "Why <10,000>? · RoPE"
    assert head["description"] == head["og:description"] == "It turns. It is slow, as Press et al. 2021 say."
    assert head["canonical"] == head["og:url"] == f"{ADDRESS}deep/lesson.html"
    with Image.open(html / head["og:image"].removeprefix(ADDRESS)) as card:
        assert card.size == (1200, 630)
    assert head_of(html / "404.html")["base"] == ADDRESS
    assert f"<loc>{ADDRESS}deep/lesson.html</loc>" in (html / "sitemap.xml").read_text()


def test_a_book_without_an_address_names_none_and_its_sentences_can_be_found(tmp_path: Path):
    html = make(tmp_path, "")
    head = head_of(html / "index.html")
    assert head["title"] == "Where? · babygpt"
    assert head["description"] == "Sentence one. Sentence two & three."
    assert not {"canonical", "og:url", "og:image", "base"} & head.keys()
    assert not (html / "sitemap.xml").exists()
    found = json.loads((html / "_static/sentences.js").read_text("utf-8").partition("= ")[2].rstrip("\n;"))
    assert found["index"] == [["where", "Where?", ["Sentence one.", "Sentence two & three."]]]
    told = ["Why <10,000>?", "It turns.", "It is slow, as Press et al. 2021 say."]
    assert found["deep/lesson"] == [["rope", "04 · RoPE", told], ["waves", "Waves", ["loss", "v4 1"]]]


@pytest.mark.parametrize("tag", ["script", "pre", "svg"])
def test_invisible_text_is_not_found(tag: str):
    page = f'<article id="furo-main-content"><h1>A</h1><{tag}>no</{tag}><p>Yes.</p></article>'
    assert list(parts_of(page)) == [("", "A", ["Yes."])]
