"""The book's pages beside the lessons: links, reference, claims, board, heads, search, formulas."""

import gzip
import json
import os
import re
import subprocess
import sys
from base64 import b64decode
from collections import Counter
from inspect import ismodule
from pathlib import Path

import jupytext
import numpy as np
import pytest
from bs4 import BeautifulSoup
from PIL import Image

import babygpt
from babygpt.experiments.paired import RULE
from babygpt_course.claims import CLAIMS, VERDICTS, Finding
from babygpt_course.studies.board import COLUMNS
from babygpt_course.studies.results import load_results
from tools.book import docstrings, reference
from tools.book.__main__ import remove_copies, write_webp
from tools.book.board_page import board_page
from tools.book.claims_page import anchor, claims_page
from tools.book.documents import CodeHost, rewrite_links, site, tables_page, write_old_addresses
from tools.book.head import without_indents
from tools.book.search import parts_of

ROOT = Path(__file__).resolve().parents[2]
HOST = CodeHost("https://host/owner/name", "abc")
MEASURED = [(claim, Finding(VERDICTS[n % 4], -0.5, "a < b", 1)) for n, claim in enumerate(CLAIMS)]


@pytest.mark.parametrize(
    ("text", "place", "with_host", "without"),
    [
        ("[a](04a_rope.ipynb) [b](https://arxiv.org/abs/1)", "notebooks/05.ipynb", *[None] * 2),
        ("[`r.py`](babygpt/config.py)", "README.md", "[`r.py`]({blob}/babygpt/config.py)", "`r.py`"),
        ("[x](../LICENSE)", "docs/live.md", "[x]({blob}/LICENSE)", "x"),
        ("[x](docs/story.md)", "CONTRIBUTING.md", "[x]({blob}/docs/story.md)", "x"),
        ("[x](../docs/notes)", "figures/a.md", *["[x](../docs/notes/README.md)"] * 2),
        ("[`x/`](tools)", "README.md", "[`x/`]({tree}/tools)", "`x/`"),
        ("[x](../figures/lookup.png)", "docs/results.md", *[None] * 2),
        ("[x](../figures/open.md)", "docs/results.md", *["[x](../figures/tables.md#open)"] * 2),
        ("`[x](tools)`", "README.md", *[None] * 2),
    ],
)
def test_links_lead_to_pages_or_to_the_host_or_are_text(text, place, with_host, without):
    """Expect None where a link stays as it is."""
    blob, tree = (f"{HOST.address}/{kind}/{HOST.commit}" for kind in ("blob", "tree"))
    assert rewrite_links(text, place, site(host=HOST)) == (with_host or text).format(blob=blob, tree=tree)
    assert rewrite_links(text, place, site()) == (without or text)


def test_old_addresses_of_tables_lead_to_their_sections(tmp_path):
    (tmp_path / "figures").mkdir()
    write_old_addresses(tmp_path, site())
    sections = set(re.findall(r"^## (.+)$", tables_page(site()), flags=re.M))
    pages = {path.stem: path.read_text() for path in (tmp_path / "figures").glob("*.html")}
    assert pages.keys() == sections
    assert {"open", "ladder"} <= sections
    assert all(f'href="tables.html#{name}"' in page for name, page in pages.items())


def test_the_reference_has_a_section_for_every_name_and_the_index_leads_there():
    offered = {name for name in babygpt.__all__ if not ismodule(getattr(babygpt, name))}
    assert {name.name for name in reference.public_names("babygpt")} == offered
    index = reference.index_page()
    for package in reference.packages():
        page, stem = reference.package_page(package, HOST), Path(reference.page_of(package)).stem
        assert reference.public_names(package), f"the page of {package} is empty"
        for name in reference.public_names(package):
            head = rf"^`+{{py:(class|function|data)}} {name.name}\b.*\n:module: {package}$"
            assert re.search(head, page, flags=re.M), name
            assert f'href="{stem}.html#{name.anchor}"' in index
        heads = re.findall(r"^`+\{py:\w+\} (.+)$", page, flags=re.M)
        assert not [head for head in heads if re.search(r"<| at 0x|\*args, \*\*kwargs\)$|'Tensor'", head)]
    things = {name.anchor: name.thing for name in reference.names()}
    rotary = reference.signature(things["babygpt.encodings.Rotary"])
    assert rotary == "(head_dim: int, theta: float = 10000.0)"
    alibi = [name for name, _ in reference.methods(things["babygpt.encodings.ALiBi"])]
    assert alibi == ["score_bias"]  # those of the documented base are not repeated


def test_aligned_lines_of_a_docstring_become_a_list():
    rows = "x         (B, T)  queries, or\n          keys\nlow, high the ends, in `unit`\n"
    text = f"Rotate x.\n\n{rows}Source: a < b.\n"
    assert docstrings.to_html(text, {"unit": "#unit"}.get).splitlines() == [
        "<p>Rotate x.</p>",
        '<dl class="arguments">',
        '<dt><code>x</code> <span class="shape">(B, T)</span></dt><dd>queries, or keys</dd>',
        "<dt><code>low, high</code></dt><dd>the ends, in "
        '<a href="#unit"><code class="literal">unit</code></a></dd>',
        "</dl>",
        "<p>Source: a &lt; b.</p>",
    ]


def words(html: str) -> Counter[str]:
    """Return the words of a page, without its tags."""
    return Counter(re.findall(r"[A-Za-z]+", re.sub(r"<[^<>]+>|&\w+;|&#x27;", " ", html)))


def test_no_word_of_a_docstring_is_lost():
    for name in reference.names():
        docstring = "" if reference.is_constant(name.thing) else reference.docstring(name.thing)
        html = docstrings.to_html(docstring, reference.addresses(name.package))
        assert words(html) == Counter(re.findall(r"[A-Za-z]+", docstring)), name


def test_the_page_of_claims_shows_each_whole_at_its_own_address():
    assert len({anchor(claim) for claim in CLAIMS}) == len(CLAIMS)
    page = claims_page(MEASURED)
    articles = re.findall(r"<article.*?</article>", page, flags=re.S)
    for (claim, finding), html in zip(MEASURED, articles, strict=True):
        parts = [claim.text, claim.quote, claim.translation, claim.reading, claim.scope, finding.reason]
        parts += [claim.fault] if finding.verdict == "fails" else []
        assert all(docstrings.inline(part) in html for part in parts)
        assert f'data-note="{claim.note[:3]}" data-verdict="{finding.verdict}"' in html
        assert "\n\n" not in html  # an empty line would end the block of HTML
    count = Counter(finding.verdict for _, finding in MEASURED)
    text = " ".join(page.split())
    assert f"{count['holds']} hold, {count['depends']} depend" in text
    assert f"{count['undecided']} are undecided, {count['fails']} fail" in text
    assert f"{RULE} Between equal models luck would decide fewer than 1 of these {len(CLAIMS)}" in text


def test_the_page_of_the_board_has_every_model_and_every_column():
    results = load_results("ladder")
    page = board_page(results)
    assert all(f'<th scope="row">{name}</th>' in page for name in results["board"])
    assert all(f'<th scope="col">{column}</th>' in page for column in COLUMNS)
    assert RULE in page
    assert "luck would decide fewer than 1 of these 55 comparisons" in page
    assert "{" not in page


# ---------------------------------------------------------------- made by Sphinx

ADDRESS = "https://somewhere.org/course/"
PAGES = {
    "index.md": "# Where?\n\nSentence one. Sentence two & three.\n"
    "\n```{toctree}\n:hidden:\n\ndeep/lesson\n```\n",
    "deep/lesson.md": "# 04 · RoPE\n\n**Why <10,000>?**\n\n*The way, page 4.*\n\n"
    "It turns. It is slow, as *Press et al. 2021* say."
    "\n\n## Waves\n\n||loss|\n|-|-|\n|v4|1|\n",
    "404.md": "---\norphan: true\n---\n# Nothing here\n",
    "search.md": (ROOT / "book" / "search.md").read_text(encoding="utf-8"),
}


def test_a_published_book_names_its_addresses_and_its_sentences_can_be_found(tmp_path: Path):
    """Make four pages with the settings of the course's book."""
    for name, text in PAGES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    html = tmp_path / "html"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-c", ROOT / "book", tmp_path, html]
    subprocess.run(command, check=True, env={**os.environ, "BOOK_ADDRESS": ADDRESS})
    soup = BeautifulSoup((html / "deep" / "lesson.html").read_text(encoding="utf-8"), "html.parser")
    head = {tag["name"]: tag["content"] for tag in soup.select("meta[name]")}
    assert soup.title.string == "Why <10,000>? · RoPE · babygpt"
    assert head["description"] == head["og:description"] == "It turns. It is slow, as Press et al. 2021 say."
    assert soup.select_one("link[rel=canonical]")["href"] == head["og:url"] == f"{ADDRESS}deep/lesson.html"
    assert (html / head["og:image"].removeprefix(ADDRESS)).is_file()
    lost = BeautifulSoup((html / "404.html").read_text(encoding="utf-8"), "html.parser")
    assert lost.base["href"] == ADDRESS
    assert f"<loc>{ADDRESS}deep/lesson.html</loc>" in (html / "sitemap.xml").read_text()
    packed = (html / "_static/sentences.js").read_text("utf-8").split('"')[1]
    sections = json.loads(gzip.decompress(b64decode(packed)))
    assert sections["index"] == [["where", "Where?", ["Sentence one.", "Sentence two & three."]]]
    sentences = ["Why <10,000>?", "The way, page 4.", "It turns.", "It is slow, as Press et al. 2021 say."]
    assert sections["deep/lesson"] == [["rope", "04 · RoPE", sentences], ["waves", "Waves", ["loss", "v4 1"]]]


@pytest.mark.parametrize("tag", ["script", "pre", "svg"])
def test_invisible_text_is_not_found(tag: str):
    page = f'<article id="furo-main-content"><h1>A</h1><{tag}>no</{tag}><p>Yes.</p></article>'
    assert list(parts_of(page)) == [("", "A", ["Yes."])]


# ---------------------------------------------------------------- formulas


def formulas() -> list[tuple[str, bool]]:
    """Return the formulas of notebooks and documents, and whether each is displayed."""
    paths = sorted((ROOT / "notebooks/src").glob("*.py"))
    cells = [cell for path in paths for cell in jupytext.read(path, fmt="py:percent").cells]
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    texts += [path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")]
    prose = [re.sub(r"^```.*?^```|`[^`\n]+`", "", text, flags=re.M | re.S) for text in texts]
    matches = (match for text in prose for match in re.finditer(r"(\$\$?)([^$]+)\1", text))
    return sorted({(match[2], match[1] == "$$") for match in matches})


def test_each_formula_becomes_mathml_and_the_font_has_all_its_characters(tmp_path: Path):
    pytest.importorskip("math_core")
    from fontTools.ttLib import TTFont

    from tools.book.mathematics import FONT, needed_characters, to_mathml, write_font

    with pytest.raises(ValueError, match="nosuchcommand"):
        to_mathml(r"\nosuchcommand", False)
    mathml_texts = [to_mathml(*formula) for formula in formulas()]
    assert len(mathml_texts) > 100
    assert not [mathml for mathml in mathml_texts if "merror" in mathml or not mathml.startswith("<math")]
    bars = r'<mo stretchy="\w+">[\u0305\u0332\u203e\u00af]'  # WebKit draws one too high: write \overline
    assert not [mathml for mathml in mathml_texts if re.search(bars, mathml)]
    write_font(needed_characters(mathml_texts), tmp_path / FONT)
    font = TTFont(tmp_path / FONT)
    assert needed_characters(mathml_texts) <= {chr(code) for code in font.getBestCmap()}
    tall = font["MATH"].table.MathVariants.VertGlyphCoverage.glyphs
    assert {font.getBestCmap()[ord(bracket)] for bracket in "()"} <= set(tall)
    assert "Open Font License" in str(font["name"].getName(13, 3, 1))
    assert (tmp_path / FONT).stat().st_size < 120_000


def test_a_picture_that_a_page_shows_and_links_to_is_kept_once(tmp_path):
    for place, content in {
        "_images/a.png": b"1",
        "_downloads/x/a.png": b"1",
        "_downloads/y/b.png": b"2",
        "_downloads/z/c.webp": b"3",
        "pictures/1a2b.webp": b"3",
    }.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(content)
    (tmp_path / "style.css.map").write_bytes(b"3")
    links = "_downloads/x/a.png", "_downloads/y/b.png", "_downloads/z/c.webp"
    (tmp_path / "page.html").write_text("".join(f"<a href='{link}'>" for link in links), "utf-8")
    remove_copies(tmp_path)
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    kept = "_images/a.png", "_downloads/y/b.png", "pictures/1a2b.webp"
    assert files == {*kept, "page.html"}
    assert (tmp_path / "page.html").read_text("utf-8") == "".join(f"<a href='{link}'>" for link in kept)


def test_pictures_of_documents_become_webp_and_pages_lead_to_them(tmp_path: Path):
    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    for name in ("_images/a.png", "_downloads/x/b.png", "_static/card.png"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        Image.fromarray(pixels).save(path)
    page = tmp_path / "docs" / "page.html"
    page.parent.mkdir()
    page.write_text('<img src="../_images/a.png"><a href="../_downloads/x/b.png">_images/no.png</a>', "utf-8")
    write_webp(tmp_path)
    for name in ("_images/a.webp", "_downloads/x/b.webp"):
        with Image.open(tmp_path / name) as image:
            assert np.array_equal(np.asarray(image), pixels)
    names = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {"a.webp", "b.webp", "card.png", "page.html"}
    expected = '<img src="../_images/a.webp"><a href="../_downloads/x/b.webp">_images/no.png</a>'
    assert page.read_text("utf-8") == expected


def test_a_page_keeps_white_space_in_code_and_nowhere_else():
    page = "<ul>\n    <li>one\n      two</li>\n<pre>def f():\n    <span>return</span></pre>\n\n  </ul>"
    assert (
        without_indents(page)
        == "<ul>\n<li>one\ntwo</li>\n<pre>def f():\n    <span>return</span></pre>\n</ul>"
    )
