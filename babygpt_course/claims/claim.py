"""Claims: a sentence of a source note with its measurement, and rules by which measurements decide."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from babygpt_course.studies.paired import LEAST_LOSS, UNDECIDED, decided_side, exceeds

VERDICTS = ("holds", "depends", UNDECIDED, "fails")


@dataclass(frozen=True)
class Finding:
    """Result of measuring a claim.

    verdict      one of VERDICTS
    value        the number that decides
    reason       one line
    comparisons  how many times trained models were compared, paired by seed, for this verdict
    """

    verdict: str
    value: float
    reason: str
    comparisons: int = 0


@dataclass(frozen=True)
class Claim:
    """Sentence of a source note, with the function that measures it.

    note         file name
    text         the claim in a few English words, with the reading that is asked where there are two
    measure      runs it
    quote        the note's own sentence, in Chinese; a formula or a comment of its code where there is none
    translation  the same in English
    reading      what else the sentence may mean, and which meaning is asked here; "" where it has only one
    scope        what the number was measured on: untrained heads on random vectors, or the model's shape,
                 steps and seeds
    fault        the mistake behind a failure, where several claims fail by the same one; it is counted once
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
    """Part of a claim that is ours: the function that measures it, its scope and its fault."""

    measure: Callable[[], Finding]
    scope: str
    fault: str = ""


def measured_on(scope: str, fault: str = "") -> Callable[[Callable[[], Finding]], Measurement]:
    """Return a decorator for the function that measures a claim; its sentence has the function's name."""
    return lambda measure: Measurement(measure, scope, fault)


@dataclass(frozen=True)
class VerdictCounts:
    """Numbers of claims by verdict, and of the different faults by which claims fail."""

    holds: int
    depends: int
    undecided: int
    fails: int
    faults: int


def count_verdicts(verdicts: Iterable[tuple[Claim, str]]) -> VerdictCounts:
    """Count verdicts; claims that fail by one and the same fault count as one fault."""
    pairs = list(verdicts)
    number = Counter(verdict for _, verdict in pairs)
    faults = {claim.fault or claim.text for claim, verdict in pairs if verdict == "fails"}
    return VerdictCounts(faults=len(faults), **{verdict: number[verdict] for verdict in VERDICTS})


def combine(*verdicts: str) -> str:
    """Combine the verdicts on the readings or the parts of one sentence.

    returns  "depends" if one holds and another fails; otherwise "undecided" if one is, or what all are
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


def negligible(differences: Sequence[float], least: float = LEAST_LOSS) -> str:
    """Return whether paired differences stay below an effect that counts.

    returns  "holds" if they are decided below `least`, "fails" if they exceed it (`exceeds`), or "undecided"
    """
    if decided_side([gap - least for gap in differences]) == "below":
        return "holds"
    return "fails" if exceeds(differences, least) == "holds" else UNDECIDED


def by_luck(comparisons: int) -> str:
    """Return the sentence that says how many of some comparisons luck would decide between equal models."""
    decided = -(-comparisons // 35)
    return f"Between equal models luck would decide fewer than {decided} of these {comparisons} comparisons."
