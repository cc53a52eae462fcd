"""Formulas as MathML, made while the book is built, and a font that holds what they need.

A Sphinx extension. A browser draws MathML by itself: no script, and a screen reader hears a formula.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from functools import cache
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import name, normalize

from docutils import nodes
from fontTools import subset
from math_core import LatexError, LatexToMathML
from sphinx.errors import ExtensionError

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment
    from sphinx.util.typing import ExtensionMetadata
    from sphinx.writers.html5 import HTML5Translator

FONT = "mathematics.woff"
# Forms for superscripts, dotless letters under accents, and flat accents: what a browser asks for in MathML.
FEATURES = ("ssty", "dtls", "flac", "ccmp")
WIDE = 30  # characters: a longer formula within a line may not fit a telephone, and scrolls
# A line over letters, which browsers draw as long as one and beside it: a border is above all of them.
OVERLINE = re.compile(
    r'<mover accent="true">(<mi>[^<]*</mi>|<mrow>.*?</mrow>)'
    r'<mo stretchy="true">[\u0305\u0332\u203e\u00af]</mo></mover>'
)
LICENCE_NAMES = (13, 14)  # numbers of the licence in the font's table of names


@cache
def _converter() -> LatexToMathML:
    return LatexToMathML(fancy_error=False)


@cache
def to_mathml(latex: str, display: bool) -> str:
    r"""Return a formula as a `<math>` element.

    latex    without dollar signs, such as r"\frac12"
    display  whether it stands on a line of its own
    Raises ValueError if it cannot be converted.
    """
    try:
        mathml = _converter().convert_with_local_state(latex, displaystyle=display)
    except LatexError as error:
        raise ValueError(f"cannot convert the formula {latex}\n(from character {error})") from error
    return OVERLINE.sub(r'<mrow class="overline">\1</mrow>', mathml)


def needed_characters(formulas: Iterable[str]) -> set[str]:
    """Return the characters that a font needs to draw formulas, given as MathML.

    A browser draws a single letter in `<mi>` as another character, the italic one, and a root by a
    sign that no text holds: these are added.
    """
    texts = (unescape(re.sub("<[^>]*>", "", formula)) for formula in formulas)
    used = set().union(*texts) | {"√"}
    italics = (chr(code) for code in (0x210E, *range(0x1D434, 0x1D7CC)))  # 0x210E: the italic h
    plain = ("PLANCK CONSTANT", "MATHEMATICAL ITALIC")
    italics = (character for character in italics if name(character, "").startswith(plain))
    return used | {character for character in italics if normalize("NFKC", character) in used}


def write_font(characters: Iterable[str], target: Path) -> None:
    """Write STIX Two Math, cut down to some characters and all sizes they grow to, as WOFF.

    ziamath's wheel brings the font. The MATH table stays, with what it says about these characters.
    """
    spec = find_spec("ziamath")  # it is not imported, for nothing else of it is needed
    assert spec is not None
    whole = Path(str(spec.origin)).parent / "fonts" / "STIXTwoMath-Regular.ttf"
    options = subset.Options(hinting=False, flavor="woff", layout_features=list(FEATURES))
    options.name_IDs = [*options.name_IDs, *LICENCE_NAMES]
    subsetter = subset.Subsetter(options)
    subsetter.populate(text="".join(sorted(characters)))
    target.parent.mkdir(parents=True, exist_ok=True)
    with subset.load_font(str(whole), options) as font:
        subsetter.subset(font)
        subset.save_font(font, str(target), options)


def _convert(translator: HTML5Translator, node: nodes.Element, display: bool) -> str:
    """Return the MathML of a node. Raises ExtensionError that names page and formula if there is none."""
    try:
        return to_mathml(node.astext(), display)
    except ValueError as error:
        raise ExtensionError(f"{translator.builder.current_docname}: {error}") from error


def visit_math(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line, and nothing else of its node."""
    mathml = _convert(translator, node, display=False)
    wide = len(unescape(re.sub("<[^>]*>", "", mathml))) > WIDE
    translator.body.append(f'<span class="formula within">{mathml}</span>' if wide else mathml)
    raise nodes.SkipNode


def visit_math_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, in a box that scrolls where the page is narrower.

    The box has a tabindex, because readers without mouse and touch scroll it with the keyboard.
    """
    attributes = {"role": "group", "tabindex": "0", "aria-label": "formula"}
    box = translator.starttag(node, "div", CLASS="formula", **attributes)
    translator.body.append(f"{box}{_convert(translator, node, display=True)}</div>\n")
    raise nodes.SkipNode


def formulas_of(env: BuildEnvironment) -> Iterator[str]:
    """Yield all formulas of a book as MathML, page by page."""
    for page in sorted(env.all_docs):
        tree = env.get_doctree(page)
        yield from (to_mathml(node.astext(), False) for node in tree.findall(nodes.math))
        yield from (to_mathml(node.astext(), True) for node in tree.findall(nodes.math_block))


def finish(app: Sphinx, error: Exception | None) -> None:
    """Write the font once all pages are: of every page, as Sphinx may have built only those that changed."""
    if error is None and app.builder.format == "html":
        write_font(needed_characters(formulas_of(app.env)), app.outdir / "_static" / FONT)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make MathML the way in which Sphinx writes formulas."""
    logging.getLogger("fontTools").setLevel(logging.WARNING)  # Sphinx would print every glyph
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
