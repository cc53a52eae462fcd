"""Claims: a sentence of a source note with its measurement, and rules by which measurements decide."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, stdev


@dataclass(frozen=True)
class Finding:
    """Result of measuring a claim.

    verdict  "holds", "fails" or "depends"
    value    the number that decides
    reason   one line
    """

    verdict: str
    value: float
    reason: str


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
    """Numbers of claims that hold, depend and fail, and of the different faults by which they fail."""

    holds: int
    depends: int
    fails: int
    faults: int


def count_verdicts(verdicts: Iterable[tuple[Claim, str]]) -> VerdictCounts:
    """Count verdicts; claims that fail by one and the same fault count as one fault."""
    pairs = list(verdicts)
    number = Counter(verdict for _, verdict in pairs)
    faults = {claim.fault or claim.text for claim, verdict in pairs if verdict == "fails"}
    return VerdictCounts(number["holds"], number["depends"], number["fails"], len(faults))


def decide(*outcomes: bool) -> str:
    """Decide: "holds" if all outcomes are true, "fails" if none is, otherwise "depends"."""
    return "holds" if all(outcomes) else "depends" if any(outcomes) else "fails"


def clearly_lower(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether the first mean is lower by more than twice the standard error of the difference."""
    error = float((stdev(one) ** 2 / len(one) + stdev(other) ** 2 / len(other)) ** 0.5)
    return mean(other) - mean(one) > 2 * error
