"""Claims: sentences of the source notes with their measurements, and rules that decide verdicts."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from babygpt.experiments.paired import LEAST_LOSS, UNDECIDED, exceeds
from babygpt.tables import format_measured

VERDICTS = ("holds", "depends", UNDECIDED, "fails")


@dataclass(frozen=True)
class Finding:
    """Result of measuring a claim.

    verdict      one of VERDICTS
    value        the number that decides
    reason       why, in one to four plain sentences with the computed numbers
    comparisons  number of comparisons of trained models, paired by seed, behind the verdict
    """

    verdict: str
    value: float
    reason: str
    comparisons: int = 0

    @property
    def measured(self) -> str:
        """Value as text: three digits, an exact 0, or "below 1e-4" for rounding noise."""
        return format_measured(self.value, digits=3) if self.value else "0"


@dataclass(frozen=True)
class Claim:
    """Sentence of a source note, with the function that measures it.

    note         file name
    text         the claim in a few English words
    measure      function that measures it
    quote        the note's own sentence, in Chinese; a formula or a comment of its code if there is none
    translation  the quote in English
    reading      how we understand the sentence and what we measure; "" if it has only one meaning
    scope        what the number was measured on: untrained heads on random vectors, or the model's shape,
                 steps and seeds
    fault        the mistake behind a failure if several claims fail by it; it is counted once
    """

    note: str
    text: str
    measure: Callable[[], Finding]
    quote: str = ""
    translation: str = ""
    reading: str = ""
    scope: str = ""
    fault: str = ""


@dataclass(frozen=True)
class Measurement:
    """Our part of a claim: the function that measures it, its scope and its fault."""

    measure: Callable[[], Finding]
    scope: str
    fault: str = ""


def measured_on(scope: str, fault: str = "") -> Callable[[Callable[[], Finding]], Measurement]:
    """Return a decorator for the function that measures a claim; both have the same name."""
    return lambda measure: Measurement(measure, scope, fault)


@dataclass(frozen=True)
class VerdictCounts:
    """Numbers of claims by verdict, and number of different faults."""

    holds: int
    depends: int
    undecided: int
    fails: int
    faults: int


def count_verdicts(verdicts: Iterable[tuple[Claim, str]]) -> VerdictCounts:
    """Count verdicts and faults; claims that fail by the same fault count as one fault."""
    pairs = list(verdicts)
    number = Counter(verdict for _, verdict in pairs)
    faults = {claim.fault or claim.text for claim, verdict in pairs if verdict == "fails"}
    return VerdictCounts(faults=len(faults), **{verdict: number[verdict] for verdict in VERDICTS})


def combine(*verdicts: str) -> str:
    """Combine the verdicts on the meanings or the parts of one sentence.

    returns  "depends" if one holds and another fails; else "undecided" if any is, or the verdict of all
    """
    if {"holds", "fails"} <= {*verdicts}:
        return "depends"
    return UNDECIDED if UNDECIDED in verdicts else verdicts[0]


def decide(*outcomes: bool) -> str:
    """Return "holds" if all outcomes are true, "fails" if none is, otherwise "depends"."""
    return combine(*("holds" if outcome else "fails" for outcome in outcomes))


def opposite(verdict: str) -> str:
    """Return the verdict on the opposite of a sentence."""
    return {"holds": "fails", "fails": "holds"}.get(verdict, verdict)


def negligible(differences: Sequence[float], least: float = LEAST_LOSS, suggested: bool = False) -> str:
    """Return the verdict on whether paired differences are too small to count.

    suggested  whether some of these seeds suggested an effect
    returns    "holds" if their interval is below `least`, "fails" if they exceed it, or "undecided"
    """
    return opposite(exceeds(differences, least, suggested))


def by_luck(comparisons: int) -> str:
    """Return a sentence on how many of some comparisons of equal models chance alone would decide."""
    decided = -(-comparisons // 100)
    return f"Between equal models luck would decide fewer than {decided} of these {comparisons} comparisons."
