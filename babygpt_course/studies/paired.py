"""Rule that decides between two models from paired differences; a reader's run beside the stored seeds."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import isfinite, sqrt, tan
from statistics import mean, stdev
from typing import Any, TypeVar

import numpy as np

from babygpt.errors import BadInput

UNDECIDED = "undecided"
FEWEST_SEEDS = 6
LEAST_LOSS, LEAST_SHARE = 0.02, 0.05  # effects that count: nats per character; share of right answers
RULE = (
    "Two models are compared seed by seed. Their difference is decided if all seeds agree on its sign, and "
    "its mean is further from 0 than Student's 95% limit; otherwise it is undecided. With six seeds, luck "
    "decides fewer than 1 of 35 comparisons of equal models. Effects below "
    f"{LEAST_LOSS} nats, or below {100 * LEAST_SHARE:.0f} points of right answers, do not count."
)
Variant = TypeVar("Variant", bound=Hashable)


def critical_t(n: int, level: float = 0.95) -> float:
    """Return how many standard errors the mean of n differences may be off zero by chance.

    n        differences, at least 2; normally distributed
    level    share of cases in which chance stays within this, on both sides together
    returns  the quantile of Student's distribution with n - 1 degrees of freedom: 12.7 for 2, 2.78 for 5
    Raises BadInput for fewer than 2 differences.
    Source: Student 1908, The probable error of a mean; t = sqrt(n - 1) tan(angle) makes the density a cosine.
    """
    if n < 2:
        raise BadInput(f"{n} differences have no standard error; at least 2 are needed")
    angle = np.linspace(0.0, np.pi / 2, 20_001)
    density = np.cos(angle) ** (n - 2)
    mass = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return sqrt(n - 1) * tan(float(np.interp(level, mass / mass[-1], angle)))


def decided_side(differences: Sequence[float]) -> str:
    """Return on which side of zero paired differences are, if they are enough to decide.

    They decide if all have one sign, and their mean is further from zero than chance takes it in 95 of 100
    cases. Between equal models, six seeds have one sign in 1 of 32 cases, and decide in fewer than 1 of 35.

    differences  one model's number minus its rival's, one a seed
    returns      "below", "above" or "undecided"; fewer than FEWEST_SEEDS never decide
    Raises BadInput for a difference that is nan or infinite, as of a run that diverged.
    """
    if not all(map(isfinite, differences)):
        raise BadInput(f"differences ({', '.join(map(str, differences))}) must be finite")
    if len(differences) < FEWEST_SEEDS or min(differences) <= 0 <= max(differences):
        return UNDECIDED
    error = stdev(differences) / sqrt(len(differences))
    if abs(mean(differences)) <= critical_t(len(differences)) * error:
        return UNDECIDED
    return "below" if mean(differences) < 0 else "above"


def agreed(verdicts: Iterable[str]) -> str:
    """Return the verdict that all sets of seeds share, or "undecided" if they differ or there is none."""
    found = set(verdicts)
    return found.pop() if len(found) == 1 else UNDECIDED


def exceeds(differences: Sequence[float], least: float = LEAST_LOSS) -> str:
    """Return whether paired differences lie above zero by an effect that counts.

    differences  one model's number minus its rival's, one a seed
    least        smallest effect that counts, above 0
    returns      "holds" if they are decided above 0 and their mean is at least `least`; "fails" if they are
                 decided below `least` and not above 0: no effect that counts, or the opposite; otherwise
                 "undecided", as for an effect that is decided and too small to count
    """
    side = decided_side(differences)
    if side == "above":
        return "holds" if mean(differences) >= least else UNDECIDED
    return "fails" if decided_side([gap - least for gap in differences]) == "below" else UNDECIDED


def differences(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """Return one variant's numbers minus another's, one a seed; both have the same seeds."""
    return [x - y for x, y in zip(one, other, strict=True)]


def table_head(results: Mapping[str, Any]) -> str:
    """Return what stands above a table of stored results: the command, its time, the seeds, and RULE."""
    return f"`{results['command']}`, {results['minutes']:.0f} minutes, {len(results['seeds'])} seeds. {RULE}"


def mean_sd(
    values: Sequence[float], average: Callable[[Sequence[float]], float] = mean
) -> dict[str, float | None]:
    """Return the mean and the sample standard deviation of some numbers.

    average  takes the mean; statistics.fmean is quicker, and may differ in the last digit
    returns  {"mean", "sd"}; the mean of no number is None, the deviation of fewer than two is None
    """
    return {"mean": average(values) if values else None, "sd": stdev(values) if len(values) > 1 else None}


def format_mean_sd(stats: Mapping[str, float | None], form: str = ".3f") -> str:
    """Return the result of `mean_sd` as text, such as "0.512 ± 0.003".

    stats    "mean" and "sd"; either may be None or missing
    form     how each number is formatted, as after the colon of an f-string
    returns  the mean alone where there is no deviation, a dash where there is no mean
    """
    middle, deviation = stats.get("mean"), stats.get("sd")
    if middle is None:
        return "–"
    return f"{middle:{form}}" + ("" if deviation is None else f" ± {deviation:{form}}")


def by_measurement(found: Mapping[Variant, Mapping[str, Any]]) -> dict[str, dict[Variant, Any]]:
    """Turn what `sweep` returns inside out: name of the measurement -> variant -> one value a seed.

    A variant that lacks a measurement is left out of it.
    """
    names = dict.fromkeys(name for each in found.values() for name in each)
    return {name: {v: each[name] for v, each in found.items() if name in each} for name in names}


def percent(shares: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Return shares in per cent: name -> one value a seed."""
    return {name: [100 * share for share in seeds] for name, seeds in shares.items()}


def beside(yours: float, ours: Sequence[float], unit: str = "") -> str:
    """Return one line that shows the number of a reader's run beside the numbers of the stored runs.

    yours    the number that the reader's own run gave
    ours     the stored numbers, one a seed
    unit     written after the numbers; "%" for shares, which are then given in per cent
    returns  for example "yours 0.55; ours 0.54 to 0.61, 8 seeds"
    Raises BadInput if no stored number is given.
    """
    if not ours:
        raise BadInput("no stored number to show yours beside")
    scale, digits = (100, ".0f") if unit == "%" else (1, ".3g")
    own, low, high = (f"{scale * number + 0.0:{digits}}" for number in (yours, min(ours), max(ours)))  # no −0
    after = unit if unit in ("", "%") else f" {unit}"
    stored = f"{low}{after}" if low == high else f"{low} to {high}{after}"
    return f"yours {own}{after}; ours {stored}, {len(ours)} seed{'s' if len(ours) > 1 else ''}"
