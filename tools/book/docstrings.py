"""Docstrings as web text: prose, and a list of what stands in aligned columns."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape

ITEM = re.compile(r"(?P<name>\*{0,2}\w[\w.]*(?:, \*{0,2}\w+)*)(?P<gap> {2,})(?P<rest>\S.*)")
# A name as long as the column is wide leaves no room for a gap.
NARROW = re.compile(r"[a-z]\w*(?:, [a-z]\w*)* ")
OPENING = re.compile(r"(Raises|Source:|The other arguments|Arguments are|Options) ?")
CODE = re.compile(r"`([^`]+)`")

Link = Callable[[str], str]  # the address of a name in code; "" where there is none


@dataclass
class Item:
    """A line of aligned columns with the lines that go on with it: name, and what is said of it."""

    name: str
    lines: list[str] = field(default_factory=list)


@dataclass
class Prose:
    """Lines of one paragraph."""

    lines: list[str]


def parse(docstring: str) -> Iterator[Item | Prose | str]:
    """Cut a docstring, without its indentation, into paragraphs and items; what is neither is a text."""
    for block in filter(None, re.split(r"\n\s*\n", docstring.strip("\n"))):
        yield from parse_block(block.splitlines()) or [block]


def parse_block(lines: list[str]) -> list[Item | Prose | str]:
    """Return the paragraphs and items of a block; nothing if a line is indented for no reason."""
    parts: list[Item | Prose | str] = []
    column = 0  # where the texts of the items begin
    for line in lines:
        last = parts[-1] if parts else None
        if found := ITEM.fullmatch(line):
            column = found.start("rest")
            parts.append(Item(found["name"], [found["rest"]]))
        elif line.startswith(" "):
            if not isinstance(last, Item):
                return []
            last.lines.append(line.strip())
        elif NARROW.fullmatch(line[:column]):
            parts.append(Item(line[:column].strip(), [line[column:]]))
        elif isinstance(last, Prose) and not OPENING.match(line):
            last.lines.append(line)
        else:
            parts.append(Prose([line]))
    return parts


def summary(docstring: str) -> str:
    """Return the first paragraph of a docstring, on one line."""
    return " ".join(docstring.strip().partition("\n\n")[0].split())


def to_html(docstring: str, link: Link = lambda name: "") -> str:
    """Return a docstring as HTML without empty lines: paragraphs, a list for columns, <pre> for the rest.

    docstring  without its indentation, as inspect.getdoc returns it
    link       where a name in `code` leads
    """
    html, items = [], list[str]()
    for part in [*parse(docstring), Prose([])]:
        if isinstance(part, Item):
            items.append(item_html(part, link))
            continue
        if items:
            html.append(f'<dl class="arguments">\n{"".join(items)}</dl>\n')
            items = []
        if isinstance(part, str):
            html.append(f'<pre tabindex="0">{escape(part)}</pre>\n')
        elif part.lines:
            html.append(f"<p>{inline(' '.join(part.lines), link)}</p>\n")
    return "".join(html)


def item_html(item: Item, link: Link) -> str:
    """Return an argument as a term and its meaning; a shape, before a gap, belongs to the term."""
    first, gap, rest = item.lines[0].partition("  ")
    shape = f' <span class="shape">{escape(first)}</span>' if gap else ""
    text = " ".join([rest.strip() if gap else first, *item.lines[1:]])
    name = escape(item.name)
    term = name if name in ("returns", "yields") else f"<code>{name}</code>"
    return f"<dt>{term}{shape}</dt><dd>{inline(text, link)}</dd>\n"


def inline(text: str, link: Link = lambda name: "") -> str:
    """Return a line of text as HTML, with its `code`."""

    def code(found: re.Match[str]) -> str:
        marked = f'<code class="literal">{found[1]}</code>'
        address = link(found[1])
        return f'<a href="{escape(address)}">{marked}</a>' if address else marked

    return CODE.sub(code, escape(text, quote=False))
