"""What a claim is: a sentence of a source note, and what measures it; and how measurements decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean, stdev


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


def decide(*outcomes: bool) -> str:
    """The verdict on a claim: "holds" if all outcomes are true, "fails" if none is, otherwise "depends"."""
    return "holds" if all(outcomes) else "depends" if any(outcomes) else "fails"


def clearly_lower(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether the mean of the first sample is lower by more than twice the difference's standard error."""
    error = float((stdev(one) ** 2 / len(one) + stdev(other) ** 2 / len(other)) ** 0.5)
    return mean(other) - mean(one) > 2 * error
