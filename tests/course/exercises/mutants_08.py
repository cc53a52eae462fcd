"""Mistakes in the exercises of notebook 08."""

from statistics import fmean, pstdev, stdev

from babygpt.encodings import ALiBi, Encoding, LearnedPositions, Sinusoidal
from babygpt.encodings.gaussian import AbsoluteGaussian
from babygpt.encodings.rotary import Rotary
from babygpt_course.exercises.lesson_08 import LONGER, OWN_ENCODING, VERDICT, longer_answer, verdict_answer
from tests.course.exercises.harness import Mutant, requirements

MEAN, DEVIATION, WORD = requirements(VERDICT)
TOKENS, FAIR = requirements(LONGER)
MAKES, CAUSAL, MOVES, BEATS = requirements(OWN_ENCODING)


def verdict(ours, theirs, deviation=None, word=None, sign=1):
    gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
    found = verdict_answer(ours, theirs)
    return sign * found[0], deviation(gaps) if deviation else found[1], word(gaps) if word else found[2]


def unpaired(ours, theirs):
    mean, _, word = verdict_answer(ours, theirs)
    return mean, (stdev(ours) ** 2 + stdev(theirs) ** 2) ** 0.5, word


def change(near, far, least):
    return (far.view(near.shape) - near), least


def turned(near, far, least):
    """The long window laid out the other way."""
    W, n, T = near.shape
    return longer_answer(near, far.view(W, T, n).transpose(1, 2).flatten(1), least)


def with_word(word):
    return lambda a, b: verdict(a, b, word=word)


def fair(some):
    return lambda near, far, least: (longer_answer(near, far, least)[0], some(*change(near, far, least)))


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
MUTANTS = [
    Mutant(VERDICT, "theirs minus ours", lambda a, b: verdict(a, b, sign=-1), [MEAN], "Ours minus theirs"),
    Mutant(VERDICT, "not a sample", lambda a, b: verdict(a, b, deviation=pstdev), [DEVIATION], "n − 1"),
    Mutant(VERDICT, "not in pairs", unpaired, [DEVIATION], "no seed in common"),
    Mutant(VERDICT, "by the mean", with_word(lambda g: "better" if fmean(g) < 0 else "worse"), [WORD]),
    Mutant(
        VERDICT,
        "higher is better",
        with_word(lambda g: "better" if min(g) > 0 else "worse" if max(g) < 0 else "undecided"),
        [WORD],
        "A lower loss",
    ),
    Mutant(
        VERDICT,
        "most seeds",
        with_word(lambda g: "better" if sorted(g)[len(g) // 2] < 0 else "worse"),
        [WORD],
    ),
    Mutant(
        VERDICT,
        "ties count",
        with_word(lambda g: "better" if max(g) <= 0 else "worse" if min(g) >= 0 else "undecided"),
        [WORD],
        "A tie",
    ),
    Mutant(
        LONGER,
        "near minus far",
        lambda *a: tuple(-x for x in longer_answer(*a)),
        [TOKENS, FAIR],
        "far minus near",
    ),
    Mutant(LONGER, "all of it", fair(lambda c, least: c.mean()), [FAIR], "over all tokens, poor"),
    Mutant(
        LONGER, "first window too", fair(lambda c, least: c[:, :, least:].mean()), [FAIR], "nothing changes"
    ),
    Mutant(LONGER, "starts too", fair(lambda c, least: c[:, 1:].mean()), [FAIR], "fewer than"),
    Mutant(
        LONGER, "off by one", fair(lambda c, least: c[:, 1:, least - 1 :].mean()), [FAIR], "before it, from 0"
    ),
    Mutant(
        LONGER, "off by one, upwards", fair(lambda c, least: c[:, 1:, least + 1 :].mean()), [FAIR], "from 0"
    ),
    Mutant(LONGER, "laid out otherwise", turned, [FAIR]),
    Mutant(OWN_ENCODING, "ALiBi alone", lambda head_dim, n_head: ALiBi(n_head), [BEATS], "worse"),
    Mutant(OWN_ENCODING, "a bias of 0", WithNothing, [BEATS], "does what RoPE does"),
    Mutant(OWN_ENCODING, "peeks", Peeks, [CAUSAL, BEATS], "not trained"),
    Mutant(
        OWN_ENCODING, "a table", lambda d, n: LearnedPositions(24, d * n), [CAUSAL, MOVES, BEATS], "refuses"
    ),
    Mutant(OWN_ENCODING, "sinusoid", lambda d, n: Sinusoidal(d * n), [MOVES, BEATS], "only the distance"),
    Mutant(
        OWN_ENCODING, "the note's kernel", lambda d, n: AbsoluteGaussian(d, learnable=False), [MOVES, BEATS]
    ),
    Mutant(
        OWN_ENCODING,
        "one for all seeds",
        lambda d, n: NOPE,
        [MAKES, CAUSAL, MOVES, BEATS],
        "new",
    ),
]
