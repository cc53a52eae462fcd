"""Mistakes in the exercises of notebook 08, and right answers, which fail nothing."""

import math
from dataclasses import replace
from functools import partial
from statistics import fmean, median, pstdev, stdev

import numpy as np
import torch

from babygpt.encodings import ALiBi, Encoding, LearnedPositions, Sinusoidal
from babygpt.encodings.gaussian import AbsoluteGaussian, RelativeGaussian
from babygpt.experiments.paired import compare, critical_t, differences
from babygpt_course.exercises.lesson_08 import (
    CLICK,
    OWN_ENCODING,
    VERDICT,
    RoPEThatForgets,
    click_answer,
    verdict_answer,
)
from tests.course.exercises.harness import Mutant, requirements

WORDS = {"below": "better", "above": "worse", "undecided": "undecided"}
MEAN, HALF, WORD = requirements(VERDICT)
FOUND, NEVER = requirements(CLICK)
MAKES, CAUSAL, MOVES, BEATS = requirements(OWN_ENCODING)


def verdict(ours, theirs, deviation=stdev, sign=1, both=False, width=1.0, **rule):
    """Return a wrong interval, or a word by another rule."""
    gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
    spread = math.hypot(stdev(ours), stdev(theirs)) if both else deviation(gaps)
    half = width * critical_t(len(gaps)) * spread / len(gaps) ** 0.5
    return sign * fmean(gaps), half, word(gaps, **rule)


def word(
    gaps,
    least=12,
    one_sign=False,
    average=fmean,
    limit=critical_t,
    words=("better", "worse"),
    smallest=0.02,
):
    """Return the word of a rule that is the course's but for what is given."""
    n, middle = len(gaps), average(gaps)
    mixed = one_sign and min(gaps) <= 0 <= max(gaps)
    near = abs(middle) <= limit(n) * stdev(gaps) / n**0.5 or abs(middle) < smallest
    return "undecided" if n < least or mixed or near else words[middle > 0]


def confirmed_by(last, ours, theirs, average=fmean):
    """Return the word of a rule that asks some of the seeds to confirm the mean."""
    mean, half, decided = verdict(ours, theirs)
    gaps = [a - b for a, b in zip(ours, theirs, strict=True)][last]
    agree = mean * average(gaps) > 0 and abs(average(gaps)) >= 0.02
    return mean, half, decided if agree else "undecided"


def last_agrees(ours, theirs):
    """Return the word of a rule that asks the last seed to have the sign of the mean."""
    mean, half, decided = verdict(ours, theirs)
    return mean, half, decided if mean * (ours[-1] - theirs[-1]) > 0 else "undecided"


class Peeks(Encoding):
    """Each token gets a share of the one after it, in a batch of so many texts; or of one in another text."""

    def __init__(self, head_dim, n_head, least=1, dim=1):
        super().__init__()
        self.least, self.dim = least, dim

    def embed(self, x, positions):
        return x + x.roll(-1, self.dim) if len(x) >= self.least else x


class Leaks(Encoding):
    """Each token but those of the first text gets a share of the first text's."""

    def __init__(self, head_dim, n_head):
        super().__init__()

    def embed(self, x, positions):
        return torch.cat([x[:1], x[1:] + x[:1]])


class Noise(Leaks):
    """A bit of noise is added to each token."""

    def embed(self, x, positions):
        return x + 0.1 * torch.randn_like(x)


class Far(RoPEThatForgets):
    """RoPE that takes other positions for those far along."""

    def __init__(self, change, head_dim, n_head):
        super().__init__(head_dim, n_head)
        self.change = change

    def transform_qk(self, q, k, positions):
        return super().transform_qk(q, k, replace(positions, time=self.change(positions.time)))


NOPE = Encoding()
VERDICT_MISTAKES = [
    ("theirs minus ours", partial(verdict, sign=-1), [MEAN], "Ours minus theirs"),
    ("not a sample", partial(verdict, deviation=pstdev), [HALF], "n − 1"),
    ("not in pairs", partial(verdict, both=True), [HALF], "no seed in common"),
    ("the whole width", partial(verdict, width=2.0), [HALF], "whole width"),
    ("sorted", lambda a, b: verdict(sorted(a), sorted(b)), [HALF, WORD], "Do not sort"),
    ("the mean is enough", partial(verdict, limit=lambda n: 0.0), [WORD], "does not leave out 0"),
    ("one sign is needed", partial(verdict, one_sign=True), [WORD], "leaves out 0, and a mean"),
    ("six seeds decide", partial(verdict, least=6), [WORD], "Fewer than twelve"),
    ("more than twelve seeds", partial(verdict, least=13), [WORD], "leaves out 0, and a mean"),
    ("the last six confirm", partial(confirmed_by, slice(-6, None)), [WORD], "leaves out 0, and a mean"),
    ("the last five confirm", partial(confirmed_by, slice(-5, None)), [WORD], "leaves out 0, and a mean"),
    ("the first six confirm", partial(confirmed_by, slice(6)), [WORD], "leaves out 0, and a mean"),
    ("the last twelve count", lambda a, b: (*verdict(a, b)[:2], verdict(a[-12:], b[-12:])[2]), [WORD]),
    ("the last one confirms", last_agrees, [WORD], "leaves out 0, and a mean"),
    ("without the extremes", partial(verdict, average=lambda gaps: fmean(sorted(gaps)[1:-1])), [WORD]),
    ("the median counts", partial(verdict, average=median), [WORD], ""),
    ("capitals", lambda a, b: (*verdict(a, b)[:2], verdict(a, b)[2].title()), [WORD], "in small letters"),
    ("small effects count", partial(verdict, smallest=0.0), [WORD], "less than 0.02"),
    ("larger effects count", partial(verdict, smallest=0.025), [WORD], "leaves out 0, and a mean"),
    ("95 of 100", partial(verdict, limit=lambda n: critical_t(n, 0.95)), [WORD], "does not leave out 0"),
    ("by the normal distribution", partial(verdict, limit=lambda n: 2.576), [WORD], "does not leave out 0"),
    ("deviations, no errors", partial(verdict, limit=lambda n: 3.1 * n**0.5), [WORD], "leaves out 0, and"),
    ("higher is better", partial(verdict, words=("worse", "better")), [WORD], "A lower loss"),
    ("right, in NumPy", partial(verdict, deviation=partial(np.std, ddof=1)), []),
    ("right, by the rule", lambda a, b: (*verdict(a, b)[:2], WORDS[compare(differences(a, b)).side]), []),
    (
        "two places",
        lambda a, b: verdict_answer(*([round(x, 2) for x in y] for y in (a, b))),
        [MEAN, HALF, WORD],
    ),
]


def first_high(steps, shares, least):
    return next((step for step, share in zip(steps, shares, strict=True) if share >= least), math.inf)


def last_low(steps, shares, least):
    return max((step for step, share in zip(steps, shares, strict=True) if share < least), default=0)


def first_step(steps, shares, least):
    """Return the number of the step of the click, counted from 1."""
    click = click_answer(steps, shares, least)
    return steps.index(click) + 1 if click < math.inf else math.inf


def after_an_equal_share(steps, shares, least):
    """Look for the last share that is too low by its value, which finds an earlier one that is as low."""
    low = [share for share in shares if share < least]
    return [*steps, math.inf][shares.index(low[-1]) + 1 if low else 0]


CLICK_MISTAKES = [
    ("an equal share", after_an_equal_share, [FOUND]),
    ("the first one", first_high, [FOUND, NEVER], "a later one may fall below"),
    ("the last one below", last_low, [FOUND, NEVER], "the click comes after it"),
    ("more than the limit", lambda a, s, least: click_answer(a, s, least + 0.005), [FOUND], "itself is high"),
    ("an index", lambda a, *more: a.index(click_answer(a, *more)), [FOUND, NEVER], "return the step"),
    (
        "the last step",
        lambda a, s, least: a[-1] if s[-1] >= least else math.inf,
        [FOUND],
        "is the first from",
    ),
    ("always 0.9", lambda a, s, least: click_answer(a, s, 0.9), [FOUND], "not always 0.9"),
    ("equal steps", lambda a, s, least: first_step(a, s, least) * a[0], [FOUND]),
    (
        "high at both ends",
        lambda a, s, least: a[0] if min(s[0], s[-1]) >= least else click_answer(a, s, least),
        [FOUND],
    ),
    (
        "nothing if never",
        lambda *inputs: click_answer(*inputs) if inputs[1][-1] >= inputs[2] else None,
        [NEVER],
    ),
    (
        "right, in NumPy",
        lambda a, s, least: min(np.array(a)[last_low(a, s, least) < np.array(a)], default=math.inf),
        [],
    ),
]
OWN_ENCODING_MISTAKES = [
    ("ALiBi alone", lambda head_dim, n_head: ALiBi(n_head), [BEATS], "worse"),
    (
        "a flat kernel",
        lambda d, n: RelativeGaussian(d, (1, 1), (1e6, 1e6), learnable=False),
        [BEATS],
        "RoPE does",
    ),
    ("right, a kernel of the distance", lambda d, n: RelativeGaussian(d, learnable=False), []),
    ("peeks", Peeks, [CAUSAL, BEATS], "not trained"),
    ("peeks in a batch", partial(Peeks, least=2), [CAUSAL, BEATS], "alone or beside others"),
    ("reads its neighbours", partial(Peeks, dim=0, least=2), [CAUSAL, BEATS], "alone or beside others"),
    ("a table", lambda d, n: LearnedPositions(24, d * n), [CAUSAL, MOVES, BEATS], "refuses"),
    ("sinusoid", lambda d, n: Sinusoidal(d * n), [MOVES, BEATS], "only the distance"),
    ("the note's kernel", lambda d, n: AbsoluteGaussian(d, learnable=False), [MOVES, BEATS]),
    ("the first row leaks", Leaks, [CAUSAL, BEATS], "alone or beside others"),
    ("from 128 again", partial(Far, lambda time: time % 128), [MOVES, BEATS], "only the distance"),
    ("5000 at most", partial(Far, lambda time: time.clamp(max=5000)), [MOVES, BEATS], "only the distance"),
    ("float16", partial(Far, lambda time: time.half().float()), [MOVES, BEATS], "only the distance"),
    ("noise", Noise, [CAUSAL, MOVES, BEATS], "draw at random"),
    ("an instance", RoPEThatForgets(16, 2), [MAKES, CAUSAL, MOVES, BEATS], "Give the class"),
    ("one for all seeds", lambda *_: NOPE, [MAKES, CAUSAL, MOVES, BEATS], "new"),
]
MUTANTS = [
    *(Mutant(VERDICT, *mistake) for mistake in VERDICT_MISTAKES),
    *(Mutant(CLICK, *mistake) for mistake in CLICK_MISTAKES),
    *(Mutant(OWN_ENCODING, *mistake) for mistake in OWN_ENCODING_MISTAKES),
]
