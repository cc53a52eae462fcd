"""Head of every page: title, description and social card; sitemap, and repairs for screen readers.

A Sphinx extension. `html_baseurl` is the one setting: without it no page names an address of its own.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from html import escape, unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from matplotlib.figure import Figure
from matplotlib.pyplot import imread

from tools.notebooks import quantise

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

CARD = "_static/card.png"
FIGURE = Path(__file__).resolve().parents[2] / "figures" / "start.png"
PROMISE = (
    "An interactive course on position encodings: train small GPTs, and watch them learn where words stand"
)
LONGEST = 250  # characters of a description
UNUSED = ("doctools.js", "sphinx_highlight.js", "documentation_options.js")  # These serve Sphinx's search.
REPAIRS = {  # Furo and MyST-NB leave out what a screen reader needs, and a linked picture shall open
    r'<aside class="sidebar-drawer"': r'\g<0> aria-label="All pages"',
    r'<aside class="toc-drawer[^"]*"': r'\g<0> aria-label="Sections"',
    r'role="heading"': r'\g<0> aria-level="2"',
    r"<th\b[^>]*>(?:<p></p>)?</th>": "<td></td>",
    r' aria-label="Toggle hidden content"| download=""': "",
    # The rest saves bytes, and looks the same.
    r'<span class="(?:n|p|w|pre)">([^<]*)</span>': r"\1",
    r'(?s:<symbol id="svg-(?:pencil|eye)".*?</symbol>)': "",  # of buttons that no page has
    'class="reference internal"': 'class="reference"',
}
# Elements in which white space counts, as they are, or an indent elsewhere.
INDENT = re.compile(r"(<(pre|script|style|textarea)\b.*?</\2>)|\n\s+", flags=re.S)


def title_and_description(tree: nodes.document, heading: str) -> tuple[str, str]:
    """Return what a page promises, and its first sentences.

    A lesson asks a question below its heading, in bold: that is its title. A line in italics, which says
    where the lesson stands on the way, is left out.
    """
    texts = [
        p
        for p in tree.findall(nodes.paragraph)
        if isinstance(p.parent, nodes.section) and not all(isinstance(x, nodes.emphasis) for x in p.children)
    ]
    bold = [
        strong.astext()
        for p in texts[:1]
        for strong in p.findall(nodes.strong)
        if strong.astext() == p.astext()
    ]
    title = f"{bold[0]} · {heading.partition(' · ')[2]}" if bold else heading
    text, description = " ".join(" ".join(p.astext().split()) for p in texts[len(bold) :]), ""
    for sentence in re.split(r"(?<=[.?!]) ", text):
        if description and len(description) + len(sentence) > LONGEST:
            break
        description += f" {sentence}"
    return title, description.strip() or PROMISE


def fill_head(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.document) -> None:
    """Write title, description and card into the head of a page, and the start page's own style."""
    title, description = title_and_description(tree, unescape(re.sub("<[^>]*>", "", context["title"])))
    name, base = app.config.project, app.config.html_baseurl
    if page == app.config.root_doc:
        app.add_css_file("start.css")
    context |= {"title": escape(f"{title} · {name}"), "docstitle": ""}
    facts = {"description": description, "og:title": title, "og:description": description}
    facts |= {"og:type": "website", "og:site_name": name}
    facts["twitter:card"] = "summary_large_image" if base else "summary"
    if base:
        facts |= {"og:url": context["pageurl"], "og:image": base + CARD, "og:image:alt": PROMISE}
    tags = [f'<meta name="{key}" property="{key}" content="{escape(text)}">' for key, text in facts.items()]
    if page == "404" and base:  # it is shown at any depth
        tags.insert(0, f'<base href="{escape(base)}">')
    context["metatags"] += "\n".join(tags)
    context["script_files"] = [s for s in context["script_files"] if not str(s.filename).endswith(UNUSED)]


def without_indents(text: str) -> str:
    """Return a page without the white space at the beginning of its lines, where a browser shows none."""
    return INDENT.sub(lambda match: match[1] or "\n", text)


def draw_card(path: Path) -> None:
    """Draw the picture that a link to the book shows elsewhere: a figure of the course, 1200 x 630 pixels."""
    figure = Figure((12, 6.3), dpi=100)
    figure.text(0.04, 0.92, "babygpt", size=34, weight="bold", va="center")
    figure.text(0.04, 0.79, PROMISE.replace(": ", ":\n"), size=21, va="center")
    ax = figure.add_axes((0.04, 0.02, 0.92, 0.68))
    ax.imshow(imread(FIGURE), interpolation="lanczos")
    ax.axis("off")
    figure.savefig(path)
    path.write_bytes(b64decode(quantise(b64encode(path.read_bytes()).decode())))


def finish(app: Sphinx, error: Exception | None) -> None:
    """Repair the pages, draw the card, and list all pages for search engines."""
    if error is not None:
        return
    urls = ""
    for page in sorted(app.env.all_docs):
        path = app.outdir / f"{page}.html"
        text = path.read_text(encoding="utf-8")
        for pattern, new in REPAIRS.items():
            text = re.sub(pattern, new, text)
        path.write_text(without_indents(text), encoding="utf-8")
        urls += f"<url><loc>{escape(app.config.html_baseurl)}{page}.html</loc></url>\n"
    draw_card(app.outdir / CARD)
    if app.config.html_baseurl:
        text = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
        (app.outdir / "sitemap.xml").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Connect both to Sphinx, after the theme."""
    app.connect("html-page-context", fill_head, priority=900)
    app.connect("build-finished", finish)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
