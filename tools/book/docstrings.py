"""Docstrings as web text: prose, and a list of what stands in aligned columns."""

import re
from collections.abc import Callable
from html import escape
from itertools import groupby

ITEM = re.compile(r"(?P<name>\*{0,2}\w[\w.]*(?:, \*{0,2}\w+)*)(?P<gap> {2,})(?P<rest>\S.*)")
# A name as long as the column is wide leaves no room for a gap.
NARROW = re.compile(r"[a-z]\w*(?:, [a-z]\w*)* ")
OPENING = re.compile(r"(Raises|Source:|The other arguments|Arguments are|Options) ?")
CODE = re.compile(r"`([^`]+)`")

Link = Callable[[str], str]  # the address of a name in code; "" where there is none


def parse(docstring: str) -> list[tuple[str, list[str]]]:
    """Cut a docstring, without its indentation, into (name, lines): paragraphs have no name."""
    parts: list[tuple[str, list[str]]] = []
    for block in re.split(r"\n\s*\n", docstring.strip("\n")):
        column = 0  # The texts of the items begin in this column.
        for number, line in enumerate(block.splitlines()):
            if match := ITEM.fullmatch(line):
                column = match.start("rest")
                parts.append((match["name"], [match["rest"]]))
            elif NARROW.fullmatch(line[:column]):
                parts.append((line[:column].strip(), [line[column:]]))
            elif number and (line.startswith(" ") or not (parts[-1][0] or OPENING.match(line))):
                parts[-1][1].append(line.strip())
            else:
                parts.append(("", [line]))
    return parts


def summary(docstring: str) -> str:
    """Return the first paragraph of a docstring, on one line."""
    return " ".join(docstring.strip().partition("\n\n")[0].split())


def to_html(docstring: str, link: Link = lambda name: "") -> str:
    """Return a docstring as HTML without empty lines: paragraphs, and lists for columns.

    docstring  without its indentation, as inspect.getdoc returns it
    link       where a name in `code` leads
    """
    html = ""
    for is_item, parts in groupby(parse(docstring), key=lambda part: part[0] != ""):
        if is_item:
            entries = "".join(item_html(name, lines, link) for name, lines in parts)
            html += f'<dl class="arguments">\n{entries}</dl>\n'
        else:
            html += "".join(f"<p>{inline(' '.join(lines), link)}</p>\n" for _, lines in parts)
    return html


def item_html(name: str, lines: list[str], link: Link) -> str:
    """Return an argument as a term and its meaning; a shape, before a gap, belongs to the term."""
    first, gap, rest = lines[0].partition("  ")
    shape = f' <span class="shape">{escape(first)}</span>' if gap else ""
    text = " ".join([rest.strip() if gap else first, *lines[1:]])
    term = name if name in ("returns", "yields") else f"<code>{escape(name)}</code>"
    return f"<dt>{term}{shape}</dt><dd>{inline(text, link)}</dd>\n"


def inline(text: str, link: Link = lambda name: "") -> str:
    """Return a line of text as HTML, with its `code`."""

    def code(match: re.Match[str]) -> str:
        marked = f'<code class="literal">{match[1]}</code>'
        address = link(match[1])
        return f'<a href="{escape(address)}">{marked}</a>' if address else marked

    return CODE.sub(code, escape(text, quote=False))
