"""Formulas of the book: MathML and nothing else, an error that says where, and a font that draws them all."""

import re
from pathlib import Path

import jupytext
import pytest

sphinx_application = pytest.importorskip("sphinx.application")
pytest.importorskip("math_core")

from fontTools.ttLib import TTFont  # noqa: E402
from sphinx.errors import ExtensionError  # noqa: E402

from tools.book.mathematics import FONT, needed_characters, to_mathml, write_font  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", flags=re.M | re.S)
FORMULA = re.compile(r"(\$\$?)([^$]+)\1")
PAGE = """\
# Title with $x_1$

A line with $a + b$.

$$\\sqrt{m-n}$$

<details><summary>Answer</summary>

It is $\\theta$, as said.

</details>
"""


def texts() -> list[str]:
    """The Markdown of the course: notebooks and documents, without code."""
    notebooks = (
        jupytext.read(path, fmt="py:percent") for path in sorted((ROOT / "notebooks/src").glob("*.py"))
    )
    cells = [cell.source for book in notebooks for cell in book.cells if cell.cell_type == "markdown"]
    documents = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md"))]
    return [CODE.sub("", text) for text in [*cells, *documents]]


def formulas() -> list[tuple[str, bool]]:
    return sorted({(one[2], one[1] == "$$") for text in texts() for one in FORMULA.finditer(text)})


def build(folder: Path, page: str) -> str:
    """The HTML of a book of one page."""
    (folder / "source").mkdir(parents=True)
    (folder / "source" / "index.md").write_text(page, encoding="utf-8")
    settings = {
        "extensions": ["myst_parser", "tools.book.mathematics"],
        "myst_enable_extensions": ["dollarmath"],
        "html_math_renderer": "mathml",
    }
    folders = (folder / "source", None, folder / "html", folder / "trees")
    sphinx_application.Sphinx(*folders, "html", settings, status=None, warning=None).build()
    return (folder / "html" / "index.html").read_text(encoding="utf-8")


def test_the_course_has_formulas_and_each_becomes_mathml():
    assert len(formulas()) > 100
    for latex, display in formulas():
        mathml = to_mathml(latex, display)
        assert mathml.startswith('<math display="block"' if display else "<math")
        assert "merror" not in mathml


def test_the_font_has_every_character_its_variants_and_its_licence_and_is_small(tmp_path: Path):
    needed = needed_characters(to_mathml(*formula) for formula in formulas())
    write_font(needed, tmp_path / FONT)
    font = TTFont(tmp_path / FONT)
    assert needed <= {chr(code) for code in font.getBestCmap()}
    assert "MATH" in font
    tall = font["MATH"].table.MathVariants.VertGlyphCoverage.glyphs
    assert {font.getBestCmap()[ord(one)] for one in "()"} <= set(tall)
    assert "Open Font License" in str(font["name"].getName(13, 3, 1))
    assert (tmp_path / FONT).stat().st_size < 120_000


def test_a_page_holds_mathml_in_titles_lines_boxes_and_folds_and_no_script_for_it(tmp_path: Path):
    html = build(tmp_path, PAGE)
    body = html[html.index("<h1>") :]
    assert body.count("<math") >= 4
    assert "$" not in re.sub(r"<script.*?</script>", "", body, flags=re.S)
    box = re.search(r'<div [^>]*class="formula"[^>]*>(?=\s*<math display="block")', html)
    assert box is not None
    assert 'tabindex="0"' in box[0]
    assert "mathjax@" not in html.lower()  # its script; MyST names classes after it
    assert (tmp_path / "html" / "_static" / FONT).is_file()


def test_a_wrong_formula_stops_the_build_and_names_page_and_formula(tmp_path: Path):
    with pytest.raises(ExtensionError, match=r"index: .*\\nosuchcommand"):
        build(tmp_path, "# Title\n\n$\\nosuchcommand$\n")
