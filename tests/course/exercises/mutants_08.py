"""Mistakes in the exercises of notebook 08."""

import math
from functools import partial
from statistics import fmean, median_high, pstdev, stdev

from babygpt.encodings import ALiBi, Encoding, LearnedPositions, Sinusoidal
from babygpt.encodings.gaussian import AbsoluteGaussian
from babygpt.encodings.rotary import Rotary
from babygpt_course.exercises.lesson_08 import LONGER, OWN_ENCODING, VERDICT, longer_answer, verdict_answer
from tests.course.exercises.harness import Mutant, requirements

MEAN, DEVIATION, WORD = requirements(VERDICT)
TOKENS, FAIR = requirements(LONGER)
MAKES, CAUSAL, MOVES, BEATS = requirements(OWN_ENCODING)


def verdict(ours, theirs, deviation=stdev, sides=None, sign=1, both=False):
    """Return a wrong deviation, or a word by two rules: when is ours better, when worse?"""
    gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
    mean, _, word = verdict_answer(ours, theirs)
    if sides:
        word = "better" if sides[0](gaps) else "worse" if sides[1](gaps) else "undecided"
    return sign * mean, math.hypot(stdev(ours), stdev(theirs)) if both else deviation(gaps), word


def fair(some):
    return lambda near, far, least: (
        longer_answer(near, far, least)[0],
        some(far.view(near.shape) - near, least),
    )


class Peeks(Encoding):
    """Each token gets a share of the one after it, in a batch of so many texts; or of one in another text."""

    def __init__(self, head_dim, n_head, least=1, dim=1):
        super().__init__()
        self.least, self.dim = least, dim

    def embed(self, x, positions):
        return x + x.roll(-1, self.dim) if len(x) >= self.least else x


class WithNothing(Rotary):
    """RoPE, and a bias of 0."""

    def __init__(self, head_dim, n_head):
        super().__init__(head_dim)

    def score_bias(self, queries, keys):
        return 0.0 * (queries.time[..., None, :, None] - keys.time[..., None, None, :])


NOPE = Encoding()
VERDICT_MISTAKES = [
    ("theirs minus ours", partial(verdict, sign=-1), [MEAN], "Ours minus theirs"),
    ("not a sample", partial(verdict, deviation=pstdev), [DEVIATION], "n − 1"),
    ("not in pairs", partial(verdict, both=True), [DEVIATION], "no seed in common"),
    ("by the mean", partial(verdict, sides=(lambda g: fmean(g) < 0, any)), [WORD]),
    (
        "higher is better",
        partial(verdict, sides=(lambda g: min(g) > 0, lambda g: max(g) < 0)),
        [WORD],
        "A lower",
    ),
    ("most seeds", partial(verdict, sides=(lambda g: median_high(g) < 0, any)), [WORD]),
    ("ties count", partial(verdict, sides=(lambda g: max(g) <= 0, lambda g: min(g) >= 0)), [WORD], "A tie"),
]
LONGER_MISTAKES = [
    ("near minus far", lambda *a: tuple(-x for x in longer_answer(*a)), [TOKENS, FAIR], "far minus near"),
    ("all of it", fair(lambda c, least: c.mean()), [FAIR], "over all tokens, poor"),
    ("first window too", fair(lambda c, least: c[:, :, least:].mean()), [FAIR], "nothing changes"),
    ("starts too", fair(lambda c, least: c[:, 1:].mean()), [FAIR], "fewer than"),
    ("off by one", fair(lambda c, least: c[:, 1:, least - 1 :].mean()), [FAIR], "before it, from 0"),
    ("off by one, upwards", fair(lambda c, least: c[:, 1:, least + 1 :].mean()), [FAIR], "from 0"),
    ("eight at most", lambda n, f, least: longer_answer(n, f, min(least, 8)), [FAIR]),
]
OWN_ENCODING_MISTAKES = [
    ("ALiBi alone", lambda head_dim, n_head: ALiBi(n_head), [BEATS], "worse"),
    ("a bias of 0", WithNothing, [BEATS], "does what RoPE does"),
    ("peeks", Peeks, [CAUSAL, BEATS], "not trained"),
    ("peeks in a batch", partial(Peeks, least=2), [CAUSAL, BEATS], "alone or beside others"),
    ("reads its neighbours", partial(Peeks, dim=0, least=2), [CAUSAL, BEATS], "alone or beside others"),
    ("a table", lambda d, n: LearnedPositions(24, d * n), [CAUSAL, MOVES, BEATS], "refuses"),
    ("sinusoid", lambda d, n: Sinusoidal(d * n), [MOVES, BEATS], "only the distance"),
    ("the note's kernel", lambda d, n: AbsoluteGaussian(d, learnable=False), [MOVES, BEATS]),
    ("one for all seeds", lambda *_: NOPE, [MAKES, CAUSAL, MOVES, BEATS], "new"),
]
MUTANTS = [
    *(Mutant(VERDICT, *mistake) for mistake in VERDICT_MISTAKES),
    *(Mutant(LONGER, *mistake) for mistake in LONGER_MISTAKES),
    *(Mutant(OWN_ENCODING, *mistake) for mistake in OWN_ENCODING_MISTAKES),
]
