"""Mistakes in the exercises of notebook 08."""

import math
from functools import partial
from statistics import fmean, pstdev, stdev

from babygpt.encodings import ALiBi, Encoding, LearnedPositions, Sinusoidal
from babygpt.encodings.gaussian import AbsoluteGaussian
from babygpt.encodings.rotary import Rotary
from babygpt_course.exercises.lesson_08 import LONGER, OWN_ENCODING, VERDICT, longer_answer, verdict_answer
from babygpt_course.studies.paired import critical_t
from tests.course.exercises.harness import Mutant, requirements

MEAN, DEVIATION, WORD = requirements(VERDICT)
TOKENS, FAIR = requirements(LONGER)
MAKES, CAUSAL, MOVES, BEATS = requirements(OWN_ENCODING)


def verdict(ours, theirs, deviation=stdev, sign=1, both=False, word=None):
    """Return a wrong deviation, or a word by another rule; the rule gets the differences."""
    gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
    mean, _, right = verdict_answer(ours, theirs)
    spread = math.hypot(stdev(ours), stdev(theirs)) if both else deviation(gaps)
    return sign * mean, spread, word(gaps) if word else right


def by_rule(least=6, one_sign=True, ties=False, limit=critical_t, per_root=1.0, words=("better", "worse")):
    """Return a rule that is the course's but for what is given; the limit is asked of the number of seeds."""

    def word(gaps):
        n = len(gaps)
        error = stdev(gaps) / math.sqrt(n) ** per_root
        mixed = min(gaps) < 0 < max(gaps) or (0 in gaps and not ties)
        if n < least or (one_sign and mixed) or abs(fmean(gaps)) <= limit(n) * error:
            return "undecided"
        return words[fmean(gaps) > 0]

    return partial(verdict, word=word)


def turned(near, far, least):
    """The long window laid out the other way."""
    W, n, T = near.shape
    return longer_answer(near, far.view(W, T, n).transpose(1, 2).flatten(1), least)


def fair(some):
    return lambda near, far, least: (
        longer_answer(near, far, least)[0],
        some(far.view(near.shape) - near, least),
    )


class Peeks(Encoding):
    """Each token gets a share of the one after it."""

    def __init__(self, head_dim, n_head):
        super().__init__()

    def embed(self, x, positions):
        return x + x.roll(-1, dims=1)


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
    (
        "one sign is enough",
        by_rule(limit=lambda n: 0.0),
        [WORD],
        "2.20 standard errors from zero; more than 2.57",
    ),
    ("the mean is enough", by_rule(one_sign=False), [WORD], "both signs"),
    ("few seeds decide", by_rule(least=2), [WORD], "Fewer than six"),
    ("more than six seeds", by_rule(least=7), [WORD], "9.03 standard errors"),
    ("by the normal distribution", by_rule(limit=lambda n: 1.96), [WORD], "more than 2.57"),
    ("one limit for all", by_rule(limit=lambda n: critical_t(6)), [WORD], "more than 2.20"),
    ("degrees of freedom twice", by_rule(limit=lambda n: critical_t(n - 1)), [WORD], "2.65 standard errors"),
    ("deviations, no errors", by_rule(per_root=0.0), [WORD], "standard errors from zero"),
    ("higher is better", by_rule(words=("worse", "better")), [WORD], "A lower loss"),
    ("ties count", by_rule(ties=True), [WORD], "A tie"),
]
LONGER_MISTAKES = [
    ("near minus far", lambda *a: tuple(-x for x in longer_answer(*a)), [TOKENS, FAIR], "far minus near"),
    ("all of it", fair(lambda c, least: c.mean()), [FAIR], "over all tokens, poor"),
    ("first window too", fair(lambda c, least: c[:, :, least:].mean()), [FAIR], "nothing changes"),
    ("starts too", fair(lambda c, least: c[:, 1:].mean()), [FAIR], "fewer than"),
    ("off by one", fair(lambda c, least: c[:, 1:, least - 1 :].mean()), [FAIR], "before it, from 0"),
    ("off by one, upwards", fair(lambda c, least: c[:, 1:, least + 1 :].mean()), [FAIR], "from 0"),
    ("laid out otherwise", turned, [FAIR]),
]
OWN_ENCODING_MISTAKES = [
    ("ALiBi alone", lambda head_dim, n_head: ALiBi(n_head), [BEATS], "worse"),
    ("a bias of 0", WithNothing, [BEATS], "does what RoPE does"),
    ("peeks", Peeks, [CAUSAL, BEATS], "not trained"),
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
