"""Numbers as tables, in a notebook and in Markdown.

`make test` compares the plain-text form of a table with the stored one, and nothing else of it. So this form
holds all columns that are equal on every machine, and leaves out those that a training decides.
"""

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

MARKS = {"holds": "✓", "fails": "✗", "depends": "≈", "undecided": "?"}
# Processors round differently: below this bound, a number that should be 0 has other digits on each of them.
NOISE = 1e-4


def format_measured(value: float, limit: float = NOISE, digits: int = 2) -> str:
    """Return a measured number as text that is equal on every machine.

    limit    largest value that is allowed; 0, 1 or more bounds a count, which has no rounding noise
    digits   that are shown of a number that is no noise
    returns  "below 1e-4", or below the limit if that is smaller, in place of the digits of rounding noise
    """
    noise = min(limit, NOISE)
    if 0 < limit < 1 and abs(value) <= noise:
        return f"below {format_limit(noise)}"
    return f"{value:.{digits}g}"


def format_limit(limit: float) -> str:
    """Return a limit as text, such as 1e-4 or 2."""
    return f"{limit:.0e}".replace("e-0", "e-") if 0 < limit < 1e-3 else f"{limit:.2g}"


@dataclass(frozen=True)
class Table:
    """Rows under a heading, shown as HTML in a notebook and as text elsewhere.

    heading  one word or two for each column
    rows     texts, one for each column
    stable   number of columns that are equal on every machine: these are in the plain-text form
    open     number of rows that are seen at once, the others folding out; None for all
    """

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    stable: int
    open: int | None = None

    def __repr__(self) -> str:
        return "\n".join("  ".join(row[: self.stable]) for row in self.rows)

    def _repr_html_(self) -> str:
        more = self.rows[len(self.rows) if self.open is None else self.open :]
        table = self._table(self.rows[: len(self.rows) - len(more)])
        folded = f"<details><summary>{len(more)} more</summary>{self._table(more)}</details>"
        return table + (folded if more else "")

    def _table(self, rows: Sequence[Sequence[str]]) -> str:
        head = "".join(f"<th style='text-align:left'>{escape(h)}</th>" for h in self.heading)
        cells = ("".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row) for row in rows)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class MarkdownText(str):
    """A text that a notebook shows as Markdown, without the quotes of a string."""

    __repr__ = str.__str__
    _repr_markdown_ = str.__str__


class Source:
    """The source of a function or class as it stands in its file, shown in colours in a notebook."""

    def __init__(self, thing: Any) -> None:
        self.name, self.text = thing.__qualname__, inspect.getsource(thing)

    def __repr__(self) -> str:
        return f"<source of {self.name}>"  # without an address, so that nbval can compare it

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.text}```"


def source(thing: Any) -> Source:
    """Return the source of a function or class, to be shown as the last line of a cell."""
    return Source(thing)


def markdown(heading: Sequence[str], rows: Iterable[Sequence[str]], align: str = "---") -> str:
    """Return a Markdown table of texts, one for each column; it ends with a line end.

    align  of all columns but the first: "---" is at the left, "---:" at the right
    """
    lines = [heading, ["---", *[align] * (len(heading) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
