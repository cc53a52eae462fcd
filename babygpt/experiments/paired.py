"""Rule for paired differences: first the interval, then a word; a reader's run beside the stored seeds."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, copysign, inf, isfinite, sqrt, tan
from statistics import mean, stdev
from typing import Any, TypeVar

import numpy as np

from babygpt.errors import BadInput

UNDECIDED = "undecided"
FEWEST_SEEDS = 12  # that decide
FRESH = 6  # of them, the last ones, that were not used to find a difference
LEVEL = 0.99  # of intervals
LEAST_LOSS, LEAST_SHARE = 0.02, 0.05  # effects that count: nats per character; share of right answers
RULE = (
    "Two models are compared seed by seed. Beside each mean difference stands Student's "
    f"{LEVEL:.0%} interval. The difference is decided if the interval of at least {FEWEST_SEEDS} seeds "
    f"leaves out 0, the {FRESH} seeds that were not used to find it have a mean on the same side, and the "
    f"mean is larger than what counts: {LEAST_LOSS} nats, or {100 * LEAST_SHARE:.0f} points of right "
    "answers. Otherwise it is undecided, and the interval says which differences are excluded."
)
Variant = TypeVar("Variant", bound=Hashable)


def critical_t(n: int, level: float = LEVEL) -> float:
    """Return how many standard errors the mean of n differences may be off zero by chance.

    n        differences, at least 2; normally distributed
    level    share of cases in which chance stays within this, on both sides together
    returns  the quantile of Student's distribution with n - 1 degrees of freedom: 3.11 for 12 at 0.99
    Raises BadInput for fewer than 2 differences.
    Source: Student 1908, The probable error of a mean; t = sqrt(n - 1) tan(angle) makes the density a cosine.
    """
    if n < 2:
        raise BadInput(f"{n} differences have no standard error; at least 2 are needed")
    angle = np.linspace(0.0, np.pi / 2, 20_001)
    density = np.cos(angle) ** (n - 2)
    mass = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return sqrt(n - 1) * tan(float(np.interp(level, mass / mass[-1], angle)))


@dataclass(frozen=True)
class Comparison:
    """Mean of paired differences with its interval, and what it decides.

    mean   difference, averaged over seeds
    low    lower end of Student's 99% interval, and `high` its upper end
    n      number of seeds, or of whatever else `of` names
    fresh  mean over the last six seeds, which were not used to find the difference
    least  smallest effect that counts
    of     what the differences are paired by
    """

    mean: float
    low: float
    high: float
    n: int
    fresh: float
    least: float
    of: str = "seed"

    @property
    def side(self) -> str:
        """Side of zero on which the difference is: "below", "above" or "undecided"."""
        leaves_out_zero = self.low > 0 or self.high < 0
        confirmed = copysign(1, self.fresh) == copysign(1, self.mean)
        if self.n < FEWEST_SEEDS or not leaves_out_zero or not confirmed or abs(self.mean) < self.least:
            return UNDECIDED
        return "below" if self.mean < 0 else "above"

    @property
    def most(self) -> float:
        """Largest difference, on either side, that the interval does not exclude."""
        return max(abs(self.low), abs(self.high))

    def __format__(self, form: str) -> str:
        """Write mean and interval; `form` is that of a number, such as "+.3f"."""
        middle, low, high = (f"{x + 0.0:{form or '+.2f'}}" for x in (self.mean, self.low, self.high))
        seeds = f"{self.n} {self.of}{'s' if self.n > 1 else ''}"
        return f"{middle} ({seeds})" if self.n < 2 else f"{middle} ({LEVEL:.0%}: {low} to {high}, {seeds})"

    def __str__(self) -> str:
        return format(self)


def compare(differences: Sequence[float], least: float = LEAST_LOSS, of: str = "seed") -> Comparison:
    """Compare two variants by their paired differences.

    differences  one model's number minus its rival's, one a seed; the six fresh seeds are the last
    least        smallest effect that counts
    of           what they are paired by: "seed", or "text" for one model that reads many texts
    Raises BadInput if there is none, or if one is nan or infinite, as of a run that diverged.
    """
    if not len(differences) or not all(map(isfinite, differences)):
        raise BadInput(f"differences ({', '.join(map(str, differences))}) must be finite, and at least one")
    n, middle = len(differences), mean(differences)
    half = critical_t(n) * stdev(differences) / sqrt(n) if n > 1 else inf
    return Comparison(middle, middle - half, middle + half, n, mean(differences[-FRESH:]), least, of)


def exceeds(differences: Sequence[float], least: float = LEAST_LOSS) -> str:
    """Return whether paired differences lie above zero by an effect that counts.

    differences  one model's number minus its rival's, one a seed; the six fresh seeds are the last
    least        smallest effect that counts
    returns      "holds" if they are decided above 0; "fails" if the interval of enough seeds is below
                 `least`: no effect that counts, or the opposite; otherwise "undecided"
    """
    found = compare(differences, least)
    if found.side == "above":
        return "holds"
    return "fails" if found.n >= FEWEST_SEEDS and found.high < least else UNDECIDED


def sign_test(one: Sequence[bool], other: Sequence[bool]) -> float:
    """Return how often chance alone parts two variants as far, in outcomes that a seed has or has not.

    one, other  whether each seed learned the task under either variant, in the same order
    returns     the two-sided probability of the exact sign test over the seeds that differ; 1 if none does
    """
    only = sum(a and not b for a, b in zip(one, other, strict=True))
    n = only + sum(b and not a for a, b in zip(one, other, strict=True))
    tail = sum(comb(n, k) for k in range(min(only, n - only) + 1))
    return min(1.0, 2 * tail / 2**n)


def share_decided(effect: float, n: int, trials: int = 20_000, seed: int = 0) -> float:
    """Return how often the rule decides between two models, by simulation.

    effect   true mean of the differences, in their standard deviations; 0 for equal models
    n        seeds; the differences are drawn from a normal distribution
    returns  the share of trials that are decided: the power, or for equal models the false alarms
    """
    draws = np.random.default_rng(seed).normal(effect, 1.0, (trials, n))
    middle, fresh = draws.mean(axis=1), draws[:, -FRESH:].mean(axis=1)
    half = critical_t(n) * draws.std(axis=1, ddof=1) / sqrt(n)
    return float(((np.abs(middle) > half) & (fresh * middle > 0)).mean()) if n >= FEWEST_SEEDS else 0.0


def differences(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """Return one variant's numbers minus another's, one a seed.

    Both have the same seeds in the same order. If one was trained from fewer, the others are left out.
    """
    return [x - y for x, y in zip(one, other, strict=False)]


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
