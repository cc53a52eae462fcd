"""Rule for paired differences: first the interval, then a word; a reader's run beside the stored seeds."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import atan, comb, inf, isfinite, sqrt, tan
from statistics import mean, stdev
from typing import Any, TypeVar

import numpy as np

from babygpt.errors import BadInput

UNDECIDED = "undecided"
FEWEST_SEEDS = 12  # fewer seeds leave a comparison undecided
LEVEL = 0.99  # confidence of all intervals
# The smallest effects that count.
LEAST_LOSS = 0.02  # nats per character
LEAST_SHARE = 0.05  # share of right answers
RULE = (
    "Two models are compared seed by seed. Beside each mean difference stands Student's "
    f"{LEVEL:.0%} interval. The difference is decided if the interval of at least {FEWEST_SEEDS} seeds "
    f"leaves out 0 and the mean is as large as what counts: {LEAST_LOSS} nats, or {100 * LEAST_SHARE:.0f} "
    "points of right answers. Seeds that suggested a comparison do not decide it: other seeds have to. "
    "Otherwise it is undecided, and the interval says which differences are excluded."
)
Variant = TypeVar("Variant", bound=Hashable)


def critical_t(n: int, level: float = LEVEL) -> float:
    """Return the number of standard errors by which the mean of n differences may be off zero by chance.

    n        differences, at least 2; normally distributed
    level    share of cases in which chance stays within this, on both sides together
    returns  the quantile of Student's distribution with n - 1 degrees of freedom: 3.11 for 12 at 0.99
    Raises BadInput for fewer than 2 differences.
    Source: Student 1908, The probable error of a mean; t = sqrt(n - 1) tan(angle) makes the density a cosine.
    """
    if n < 2:
        raise BadInput(f"{n} differences have no standard error; at least 2 are needed")
    angle, mass = student_mass(n)
    return sqrt(n - 1) * tan(float(np.interp(level, mass, angle)))  # from the table, without SciPy


def student_mass(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Student's distribution with n - 1 degrees of freedom as a table.

    returns  angles from 0 to π/2, and the chance that |t| is at most sqrt(n - 1) tan(angle), each (20,001,)
    """
    angle = np.linspace(0.0, np.pi / 2, 20_001)
    density = np.cos(angle) ** (n - 2)
    mass = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return angle, mass / mass[-1]


def chance_of(t: float, n: int) -> float:
    """Return how often chance alone gives n differences a mean as many standard errors off zero.

    t        standard errors, of either sign
    returns  the two-sided probability of Student's distribution with n - 1 degrees of freedom
    """
    angle, mass = student_mass(n)
    return 1.0 - float(np.interp(atan(abs(t) / sqrt(n - 1)), angle, mass))


@dataclass(frozen=True)
class Comparison:
    """Mean of paired differences with its interval, and what it decides.

    mean       difference, averaged over seeds
    low        lower end of Student's 99% interval, and `high` its upper end
    n          number of seeds, or of whatever else `of` names
    p          how often chance alone gives a mean as far from 0; 1 for a single seed
    least      smallest effect that counts
    of         what the differences are paired by
    suggested  whether these very seeds suggested the comparison: then they leave it undecided
    """

    mean: float
    low: float
    high: float
    n: int
    p: float
    least: float
    of: str = "seed"
    suggested: bool = False

    @property
    def side(self) -> str:
        """Side of zero on which the difference is: "below", "above" or "undecided"."""
        leaves_out_zero = self.low > 0 or self.high < 0
        if self.n < FEWEST_SEEDS or self.suggested or not leaves_out_zero or abs(self.mean) < self.least:
            return UNDECIDED
        return "below" if self.mean < 0 else "above"

    @property
    def most(self) -> float:
        """Largest difference, on either side, that the interval does not exclude."""
        return max(abs(self.low), abs(self.high))

    def __format__(self, form: str) -> str:
        """Write mean and interval; `form` is that of a number, such as "+.3f"."""
        # Adding 0.0 turns -0.0 into 0.0, which has no minus sign.
        middle, low, high = (f"{x + 0.0:{form or '+.2f'}}" for x in (self.mean, self.low, self.high))
        seeds = f"{self.n} {self.of}{'s' if self.n > 1 else ''}"
        return f"{middle} ({seeds})" if self.n < 2 else f"{middle} ({LEVEL:.0%}: {low} to {high}, {seeds})"

    def __str__(self) -> str:
        return format(self)


def compare(
    differences: Sequence[float], least: float = LEAST_LOSS, of: str = "seed", suggested: bool = False
) -> Comparison:
    """Compare two variants by their paired differences.

    differences  one model's number minus its rival's, one a seed
    least        smallest effect that counts
    of           what they are paired by: "seed", or "text" for one model that reads many texts
    suggested    whether the comparison was chosen because some of these seeds showed a difference, and not
                 named before they were trained
    Raises BadInput if there is none, or if one is nan or infinite, as of a run that diverged.
    """
    if not len(differences) or not all(map(isfinite, differences)):
        raise BadInput(f"differences ({', '.join(map(str, differences))}) must be finite, and at least one")
    n, middle = len(differences), mean(differences)
    if n < 2:
        return Comparison(middle, -inf, inf, n, 1.0, least, of, suggested)
    error = stdev(differences) / sqrt(n)
    half = critical_t(n) * error
    p = chance_of(middle / error, n) if error else float(middle == 0)  # equal differences have no error
    return Comparison(middle, middle - half, middle + half, n, p, least, of, suggested)


def compare_shares(differences: Sequence[float]) -> Comparison:
    """Compare two variants by paired differences of shares: the comparison is in points."""
    return compare([100 * difference for difference in differences], 100 * LEAST_SHARE)


def holm(chances: Sequence[float], level: float = LEVEL) -> list[bool]:
    """Return which comparisons of a family stand, if luck may decide any of them in 1 - level of all studies.

    chances  the two-sided probability of each comparison, such as `Comparison.p`
    returns  for each, in the given order, whether it stands
    Source: Holm 1979, A simple sequentially rejective multiple test procedure.
    """
    stands = [False] * len(chances)
    for rank, i in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if chances[i] > (1 - level) / (len(chances) - rank):
            break
        stands[i] = True
    return stands


def exceeds(differences: Sequence[float], least: float = LEAST_LOSS, suggested: bool = False) -> str:
    """Return whether paired differences lie above zero by an effect that counts.

    differences  one model's number minus its rival's, one a seed
    least        smallest effect that counts
    suggested    whether some of these seeds suggested the effect: then they leave it undecided
    returns      "holds" if they are decided above 0; "fails" if the interval of enough seeds is below
                 `least`: no effect that counts, or the opposite; otherwise "undecided"
    """
    comparison = compare(differences, least, suggested=suggested)
    if comparison.side == "above":
        return "holds"
    enough = comparison.n >= FEWEST_SEEDS and not suggested
    return "fails" if enough and comparison.high < least else UNDECIDED


def has_more_seeds(gaps: Sequence[float], family: Iterable[Sequence[float]]) -> bool:
    """Whether a comparison has more seeds than another of its family.

    It was then given them because its first seeds showed a difference, so that these suggested it.
    """
    return len(gaps) > min(map(len, family))


def sign_test(ours: Sequence[bool], theirs: Sequence[bool]) -> float:
    """Return how often chance alone parts two variants as far, in outcomes that a seed has or has not.

    ours     whether each seed learned the task under one variant
    theirs   the same under its rival, with the seeds in the same order
    returns  the two-sided probability of the exact sign test over the seeds that differ; 1 if none does
    """
    wins = sum(a and not b for a, b in zip(ours, theirs, strict=True))
    n = wins + sum(b and not a for a, b in zip(ours, theirs, strict=True))  # ties say nothing
    tail = sum(comb(n, k) for k in range(min(wins, n - wins) + 1))
    return min(1.0, 2 * tail / 2**n)


def share_decided(effect: float, n: int, trials: int = 20_000, seed: int = 0) -> float:
    """Return how often the rule's interval leaves out 0, by simulation; the size that counts is left out.

    effect   true mean of the differences, in their standard deviations; 0 for equal models
    n        seeds; the differences are drawn from a normal distribution
    returns  the share of trials that are decided: the power, or for equal models the false alarms
    """
    draws = np.random.default_rng(seed).normal(effect, 1.0, (trials, n))
    half = critical_t(n) * draws.std(axis=1, ddof=1) / sqrt(n)
    return float((np.abs(draws.mean(axis=1)) > half).mean()) if n >= FEWEST_SEEDS else 0.0


def differences(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Return one variant's numbers minus another's, one a seed.

    Both have the same seeds in the same order. If one was trained from fewer, the others are left out.
    """
    return [x - y for x, y in zip(ours, theirs, strict=False)]


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


def by_measurement(results: Mapping[Variant, Mapping[str, Any]]) -> dict[str, dict[Variant, Any]]:
    """Turn what `sweep` returns inside out: name of the measurement -> variant -> one value a seed.

    A variant that lacks a measurement is left out of it.
    """
    names = dict.fromkeys(name for numbers in results.values() for name in numbers)
    return {
        name: {variant: numbers[name] for variant, numbers in results.items() if name in numbers}
        for name in names
    }


def percent(shares: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Return shares in per cent: name -> one value a seed."""
    return {name: [100 * share for share in seeds] for name, seeds in shares.items()}


def counted_seeds(n: int) -> str:
    """Return a number of seeds in words: "1 seed", "3 seeds"."""
    return f"{n} seed{'s' if n > 1 else ''}"


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
    numbers = (scale * number + 0.0 for number in (yours, min(ours), max(ours)))  # + 0.0 turns -0.0 into 0.0
    own, low, high = (f"{number:{digits}}" for number in numbers)
    after = unit if unit in ("", "%") else f" {unit}"
    stored = f"{low}{after}" if low == high else f"{low} to {high}{after}"
    return f"yours {own}{after}; ours {stored}, {counted_seeds(len(ours))}"
