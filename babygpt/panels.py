"""Numbers as tables that a notebook shows: ✓ or ✗, what was asserted, what was measured.

The plain-text form leaves the numbers out: it is the same on every machine, so nbval can compare it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from IPython.display import Markdown

from babygpt.claims import CLAIMS, Finding
from babygpt.invariants import Verdict

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


def promises(verdicts: Iterable[Verdict]) -> Table:
    """Which promises hold, with what was measured and what was allowed."""
    rows = [
        (MARKS["holds" if v.holds else "fails"], v.promise, f"{v.value:.1e}", f"{v.limit:.0e}")
        for v in verdicts
    ]
    return Table(("", "promise", "measured", "allowed"), rows, stable=2)


def findings(note: str, only: Sequence[str] = ()) -> Table:
    """Run the claims of a source note and show what became of them.

    note   the beginning of its file name, such as "004"
    only   texts of the claims to run; all of the note's by default
    Raises ValueError if the note makes no such claim.
    """
    chosen = [c for c in CLAIMS if c.note.startswith(note) and (not only or c.text in only)]
    if not chosen:
        raise ValueError(f"no claim of note {note!r} among {sorted({c.note for c in CLAIMS})}")
    measured: list[tuple[str, Finding]] = [(c.text, c.measure()) for c in chosen]
    rows = [(MARKS[f.verdict], text, f.verdict, f"{f.value:.3g}", f.reason) for text, f in measured]
    return Table(("", "the note says", "verdict", "measured", "because"), rows, stable=3)


def source(thing: Any) -> Markdown:
    """The source of a function or class, as it stands in its file."""
    return Markdown(f"```python\n{inspect.getsource(thing)}```")
