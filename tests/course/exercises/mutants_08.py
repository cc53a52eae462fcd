"""Mistakes in the exercises of notebook 08, and right answers, which fail nothing."""

import math
from dataclasses import replace
from functools import partial
from statistics import fmean, pstdev, stdev

import numpy as np
import torch

from babygpt.encodings import ALiBi, Encoding, LearnedPositions, Sinusoidal
from babygpt.encodings.gaussian import AbsoluteGaussian, RelativeGaussian
from babygpt_course.exercises.lesson_08 import (
    LONGER,
    OWN_ENCODING,
    VERDICT,
    RoPEThatForgets,
    longer_answer,
    verdict_answer,
)
from babygpt_course.studies.paired import critical_t, decided_side, differences
from tests.course.exercises.harness import Mutant, requirements

WORDS = {"below": "better", "above": "worse", "undecided": "undecided"}
MEAN, DEVIATION, WORD = requirements(VERDICT)
TOKENS, FAIR = requirements(LONGER)
MAKES, CAUSAL, MOVES, BEATS = requirements(OWN_ENCODING)


def verdict(ours, theirs, deviation=stdev, sign=1, both=False, **rule):
    """Return a wrong deviation, or a word by another rule."""
    gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
    spread = math.hypot(stdev(ours), stdev(theirs)) if both else deviation(gaps)
    return sign * fmean(gaps), spread, word(gaps, **rule)


def rounded(ours, theirs, places):
    """Take gaps for ties that are 0 to so many decimals."""
    ties = any(round(a - b, places) == 0 for a, b in zip(ours, theirs, strict=True))
    return verdict(ours, theirs)[:2] + (("undecided",) if ties else verdict(ours, theirs)[2:])


def word(gaps, least=6, one_sign=True, ties=False, limit=critical_t, words=("better", "worse"), smallest=0.0):
    """Return the word of a rule that is the course's but for what is given."""
    mixed = min(gaps) < 0 < max(gaps) or (0 in gaps and not ties)
    near = abs(fmean(gaps)) <= max(smallest, limit(len(gaps)) * stdev(gaps) / len(gaps) ** 0.5)
    return "undecided" if len(gaps) < least or (one_sign and mixed) or near else words[fmean(gaps) > 0]


def fair(some):
    return lambda *given: (longer_answer(*given)[0], some(given[1].view(given[0].shape) - given[0], given[2]))


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
    ("not a sample", partial(verdict, deviation=pstdev), [DEVIATION], "n − 1"),
    ("not in pairs", partial(verdict, both=True), [DEVIATION], "no seed in common"),
    ("sorted", lambda a, b: verdict(sorted(a), sorted(b)), [DEVIATION, WORD], "Do not sort"),
    ("one sign is enough", partial(verdict, limit=lambda n: 0.0), [WORD], "2.20 standard errors from zero"),
    ("the mean is enough", partial(verdict, one_sign=False), [WORD], "both signs"),
    ("few seeds decide", partial(verdict, least=2), [WORD], "Fewer than six"),
    ("more than six seeds", partial(verdict, least=7), [WORD], "9.03 standard errors"),
    ("a seed too many", partial(verdict, limit=lambda n: critical_t(n + 1)), [WORD], "2.50 standard errors"),
    ("small effects do not count", partial(verdict, smallest=0.02), [WORD], "14.70 standard errors"),
    ("right, in NumPy", partial(verdict, deviation=partial(np.std, ddof=1)), []),
    ("right, by the rule", lambda a, b: (*verdict(a, b)[:2], WORDS[decided_side(differences(a, b))]), []),
    ("by the normal distribution", partial(verdict, limit=lambda n: 1.96), [WORD], "more than 2.57"),
    ("one limit for all", partial(verdict, limit=lambda n: critical_t(6)), [WORD], "more than 2.20"),
    ("a seed too few", partial(verdict, limit=lambda n: critical_t(n - 1)), [WORD], "2.65 standard errors"),
    ("deviations, no errors", partial(verdict, limit=lambda n: 2.57 * n**0.5), [WORD], "standard errors"),
    ("higher is better", partial(verdict, words=("worse", "better")), [WORD], "A lower loss"),
    ("small gaps are ties", lambda a, b: rounded(a, b, 2), [WORD], "-0.000040"),
    (
        "three places",
        lambda a, b: verdict_answer(*([round(x, 3) for x in y] for y in (a, b))),
        [MEAN, DEVIATION, WORD],
    ),
    ("ties count", partial(verdict, ties=True), [WORD], "A tie"),
]
LONGER_MISTAKES = [
    ("near minus far", lambda *a: tuple(-x for x in longer_answer(*a)), [TOKENS, FAIR], "far minus near"),
    ("all of it", fair(lambda c, least: c.mean()), [FAIR], "over all tokens, with"),
    ("first window too", fair(lambda c, least: c[:, :, least:].mean()), [FAIR], "nothing changes"),
    ("starts too", fair(lambda c, least: c[:, 1:].mean()), [FAIR], "fewer than"),
    ("the fair one first", lambda *a: longer_answer(*a)[::-1], [TOKENS, FAIR], "First *all* tokens"),
    ("off by one", fair(lambda c, least: c[:, 1:, least - 1 :].mean()), [FAIR], "before it, from 0"),
    ("off by one, upwards", fair(lambda c, least: c[:, 1:, least + 1 :].mean()), [FAIR], "from 0"),
    ("right, a mean of means", fair(lambda c, least: c.mean(dim=0)[1:, least:].mean()), []),
    ("right, in NumPy", fair(lambda c, least: c.numpy()[:, 1:, least:].mean()), []),
    ("eight at most", lambda n, f, least: longer_answer(n, f, min(least, 8)), [FAIR]),
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
    *(Mutant(LONGER, *mistake) for mistake in LONGER_MISTAKES),
    *(Mutant(OWN_ENCODING, *mistake) for mistake in OWN_ENCODING_MISTAKES),
]
