"""Formulas of the book: each becomes MathML, and a font draws them all."""

import re
from pathlib import Path

import jupytext
import pytest

pytest.importorskip("math_core")

from fontTools.ttLib import TTFont

from tools.book.mathematics import FONT, needed_characters, to_mathml, write_font

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", flags=re.M | re.S)
FORMULA = re.compile(r"(\$\$?)([^$]+)\1")


def texts() -> list[str]:
    """Return the Markdown of the course: notebooks and documents, without code."""
    notebooks = (
        jupytext.read(path, fmt="py:percent") for path in sorted((ROOT / "notebooks/src").glob("*.py"))
    )
    cells = [cell.source for book in notebooks for cell in book.cells if cell.cell_type == "markdown"]
    documents = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md"))]
    return [CODE.sub("", text) for text in [*cells, *documents]]


def formulas() -> list[tuple[str, bool]]:
    return sorted({(one[2], one[1] == "$$") for text in texts() for one in FORMULA.finditer(text)})


def test_the_course_has_formulas_and_each_becomes_mathml():
    with pytest.raises(ValueError, match="nosuchcommand"):
        to_mathml(r"\nosuchcommand", False)
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
