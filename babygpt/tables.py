"""Numbers as tables, in a notebook and in Markdown.

The plain-text form leaves the numbers out: it is the same on every machine, so nbval can compare it.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

MARKS = {"holds": "✓", "fails": "✗", "depends": "≈"}


@dataclass(frozen=True)
class Table:
    """Rows under a heading, shown as HTML in a notebook and as text elsewhere.

    heading  one word or two for each column
    rows     texts, one for each column
    stable   how many of the columns are the same on every machine
    """

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    stable: int

    def __repr__(self) -> str:
        return "\n".join("  ".join(row[: self.stable]) for row in self.rows)

    def _repr_html_(self) -> str:
        head = "".join(f"<th style='text-align:left'>{escape(h)}</th>" for h in self.heading)
        cells = (
            "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row) for row in self.rows
        )
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Source:
    """The source of a function or class as it stands in its file, shown in colours in a notebook."""

    def __init__(self, thing: Any) -> None:
        self.text = inspect.getsource(thing)

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.text}```"


def source(thing: Any) -> Source:
    """The source of a function or class, to be shown as the last line of a cell."""
    return Source(thing)
