"""What a claim is: a sentence of a source note, and what measures it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What a measurement says of a claim.

    verdict  "holds", "fails" or "depends"
    value    the number that decides
    reason   one line
    """

    verdict: str
    value: float
    reason: str


@dataclass(frozen=True)
class Claim:
    """Something a source note asserts.

    note     file name
    text     the claim, in English
    measure  runs it
    """

    note: str
    text: str
    measure: Callable[[], Finding]


def verdict(holds: bool) -> str:
    """The word for it."""
    return "holds" if holds else "fails"
