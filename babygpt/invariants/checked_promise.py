"""Table of an encoding's promises: a row for each, with its mark, its number and its smallest input."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from babygpt.invariants.base import Promise
from babygpt.tables import MARKS, Table


@dataclass(frozen=True)
class CheckedPromise:
    """Row of a check: a promise and what was measured, or why nothing was.

    name       such as "cache"
    statement  the promise in words
    promise    the measurement on the smallest input that breaks it, else the one nearest to its limit; None
               for no measurement
    note       the input that breaks it and how, the reason why nothing was measured, or how it holds; else ""
    """

    name: str
    statement: str
    promise: Promise | None
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the promise is not broken: it holds, or was not measured."""
        return self.promise is None or self.promise.holds

    @property
    def mark(self) -> str:
        """The mark of the row: ✓, ✗, or – where nothing was measured."""
        return "–" if self.promise is None else MARKS["holds" if self.promise.holds else "fails"]

    @property
    def measured(self) -> str:
        """The measured number as text; none where nothing was measured, or the answer is yes or no."""
        counts = self.promise is not None and math.isfinite(self.promise.value) and self.promise.limit > 0
        return self.promise.measured if self.promise and counts else ""

    def as_json(self) -> dict[str, Any]:
        """Return the row as values that JSON can hold."""
        value = self.promise.value if self.promise and math.isfinite(self.promise.value) else None
        return {
            "name": self.name,
            "statement": self.statement,
            "holds": self.promise.holds if self.promise else None,
            "measured": value,
            "allowed": self.promise.limit if self.promise else None,
            "note": self.note,
        }


@dataclass(frozen=True)
class EncodingCheck:
    """Promises of one encoding, in text and in a notebook a table of marks, numbers and smallest inputs.

    title  the encoding
    rows   one for each promise
    """

    title: str
    rows: Sequence[CheckedPromise]

    @property
    def holds(self) -> bool:
        """Whether no promise is broken."""
        return not self.broken_names

    @property
    def broken_names(self) -> list[str]:
        """Names of the broken promises."""
        return [row.name for row in self.rows if not row.holds]

    def as_json(self) -> dict[str, Any]:
        """Return the table as values that JSON can hold."""
        return {"encoding": self.title, "holds": self.holds, "rows": [row.as_json() for row in self.rows]}

    def __getitem__(self, name: str) -> CheckedPromise:
        """Return the row of a promise. Raises KeyError for a name that is not in the table."""
        return {row.name: row for row in self.rows}[name]

    def __repr__(self) -> str:
        names, numbers = (
            max(map(len, column), default=0)
            for column in ([row.name for row in self.rows], [row.measured for row in self.rows])
        )
        lines = [
            f"{row.mark} {row.name:{names}}  {row.measured:{numbers}}  {row.note or row.statement}"
            for row in self.rows
        ]
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        cells = [(row.mark, row.name, row.measured, row.note or row.statement) for row in self.rows]
        return Table(
            ("", self.title, "measured", "promise, or what breaks it"), cells, stable=4
        )._repr_html_()
