"""What can be guessed: one of several answers in words, or a number between two ends."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import ipywidgets

from babygpt.errors import BadInput
from babygpt.live.controls import format_number


@dataclass(frozen=True)
class OneOf:
    """Answers in words, of which one is chosen.

    Raises BadInput unless there are two or more different ones, none of them empty.
    """

    options: tuple[str, ...]

    def __post_init__(self) -> None:
        texts = all(isinstance(option, str) and option.strip() for option in self.options)
        if not texts or len(set(self.options)) < max(2, len(self.options)):
            raise BadInput(f"choices should be two or more different texts, and are {list(self.options)}")

    def widget(self) -> Any:
        return ipywidgets.RadioButtons(
            options=self.options, value=None, description="Your guess", layout={"width": "auto"}
        )

    def read(self, value: Any) -> str | None:
        """Return the choice that a widget or a call gave, None if none. Raises BadInput for another."""
        if value is not None and value not in self.options:
            raise BadInput(f"{value!r} is none of the choices {list(self.options)}")
        return None if value is None else str(value)

    def outcome(self, value: Any) -> str:
        """Return the outcome, which has to be one of the choices."""
        if (found := self.read(value)) is None:
            raise BadInput(f"the outcome should be one of {list(self.options)}, and is None")
        return found

    def right(self, guess: str, outcome: str) -> bool:
        return guess == outcome

    def words(self, value: str) -> str:
        return value

    def asked(self) -> str:
        return " / ".join(self.options)


@dataclass(frozen=True)
class Number:
    """A number between two ends.

    unit  written behind it
    near  how far from the outcome a guess may lie and still count as right
    Raises BadInput unless low lies below high, both finite, and near is a number from 0 on.
    """

    low: float
    high: float
    unit: str
    near: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise BadInput(f"a guess lies between two ends, low below high, not {self.low} and {self.high}")
        if not (math.isfinite(self.near) and self.near >= 0):
            raise BadInput(f"near should be a number from 0 on, and is {self.near}")

    def widget(self) -> Any:
        """A line of text: a box for numbers is never empty, and would pass for a guess at once."""
        ends = f"{self.words(self.low)} to {self.words(self.high)}"
        return ipywidgets.Text(description="Your guess", placeholder=ends, continuous_update=False)

    def read(self, value: Any) -> float | None:
        """Return the number that a widget or a call gave, None for nothing. Raises BadInput for junk."""
        if value is None or not str(value).strip():
            return None
        number = parse_number(str(value).replace(self.unit, "") if self.unit else str(value))
        if number is None or not self.low <= number <= self.high:
            raise BadInput(f"a number from {self.words(self.low)} to {self.words(self.high)}, not {value!r}")
        return number

    def outcome(self, value: Any) -> float:
        """Return the outcome as a number, which may lie outside the ends."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise BadInput(f"the outcome should be a number, and is {value!r}")
        return number

    def right(self, guess: float, outcome: float) -> bool:
        return abs(guess - outcome) <= self.near * (1 + 1e-9)

    def words(self, value: float) -> str:
        gap = "" if self.unit in ("", "%") else " "
        sign = "−" if value < 0 else ""
        return f"{sign}{format_number(abs(value))}{gap}{self.unit}"

    def asked(self) -> str:
        return f"{self.words(self.low)} to {self.words(self.high)}"


def parse_number(text: str) -> float | None:
    """Read a number as people type it: 1,200 or 1200, 0.5 or 0,5, − or -; None if it is none."""
    plain = text.strip().replace("−", "-").replace(" ", "")
    thousands = re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", plain)
    plain = plain.replace(",", "" if thousands else ".")
    try:
        number = float(plain)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
