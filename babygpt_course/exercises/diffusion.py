"""Exercises of notebook 07a: a bound by enumeration, and texts that cannot be written at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import torch
from torch import Generator

from babygpt.errors import BadInput
from babygpt_course.exercises.base import Check, Exercise, Unusable, Wrong, expect, texts
from babygpt_course.exercises.compare import shown
from babygpt_course.exercises.filling_order import LEFTMOST

LogProb = Callable[[frozenset[int], int], float]


def nelbo_stub(log_prob: LogProb, n: int) -> float:
    """The NELBO of a text of n tokens, in nats: over all ways to mask it, the sum of loss times weight."""
    return -sum(log_prob(frozenset(range(n)), i) for i in range(n))


def nelbo_answer(log_prob: LogProb, n: int) -> float:
    """The NELBO of a text of n tokens, in nats: over all ways to mask it, the sum of loss times weight."""
    total = 0.0
    for size in range(1, n + 1):
        for some in combinations(range(n), size):
            masked = frozenset(some)
            loss = -sum(log_prob(masked, i) for i in some)
            total += loss / (size * math.comb(n, size))
    return total


def drawn_losses(n: int, draw: Generator) -> LogProb:
    """A model that gives each token a drawn probability, another one for each way to mask the text."""
    table = {
        (frozenset(some), i): -3 * float(torch.rand((), generator=draw))
        for size in range(1, n + 1)
        for some in combinations(range(n), size)
        for i in some
    }

    def log_prob(masked: frozenset[int], i: int) -> float:
        if (frozenset(masked), i) not in table:
            raise BadInput(f"token {i} is not masked in {sorted(masked)}, so there is nothing to find out")
        return table[frozenset(masked), i]

    return log_prob


def exact(n: int, draw: Generator) -> tuple[LogProb, float]:
    """A model that knows the true joint probabilities of n letters out of two, and −log p of the text 0…0."""
    joint = torch.rand([2] * n, generator=draw, dtype=torch.float64) + 0.05
    joint /= joint.sum()

    def log_prob(masked: frozenset[int], i: int) -> float:
        seen = joint[tuple(slice(None) if j in masked else 0 for j in range(n))]
        axis = sorted(masked).index(i)
        left = seen.select(axis, 0).sum() / seen.sum()
        return float(left.log())

    return log_prob, -float(joint[(0,) * n].log())


def wrong_bounds(log_prob: LogProb, n: int) -> dict[str, float]:
    """What to say -> what somebody gets who makes that mistake."""
    ways = [some for size in range(1, n + 1) for some in combinations(range(n), size)]
    losses = {some: -sum(log_prob(frozenset(some), i) for i in some) for some in ways}
    return {
        "That is all tokens masked at once; the NELBO asks for every way to mask some": losses[
            tuple(range(n))
        ],
        "The weights: sets of one size share 1/l, so that each gets 1/(l · C(n, l))": sum(losses.values())
        / len(ways),
        "The mean over the masked tokens of a way is its loss divided by l; each size l then counts once, "
        "and n of these means make a text": sum(
            losses[some] / (len(some) * math.comb(n, len(some))) for some in ways
        )
        / n,
        "A loss is *minus* the logarithm": -sum(
            losses[some] / (len(some) * math.comb(n, len(some))) for some in ways
        ),
        "Sets of the same size share their weight: divide by C(n, l)": sum(
            losses[some] / len(some) for some in ways
        ),
    }


def bounded(attempt: Any, draw: Generator, n: int) -> None:
    log_prob = drawn_losses(n, draw)
    want = nelbo_answer(log_prob, n)
    expect(attempt, log_prob, n, want=want, what=f"n = {n} tokens", mistakes=wrong_bounds(log_prob, n))


def one_token(attempt: Any, draw: Generator) -> None:
    for _ in range(2):
        bounded(attempt, draw, 1)


def two_tokens(attempt: Any, draw: Generator) -> None:
    bounded(attempt, draw, 2)


def three_tokens(attempt: Any, draw: Generator) -> None:
    for n in (3, 4, 5):
        bounded(attempt, draw, n)


def tight(attempt: Any, draw: Generator) -> None:
    for n in (2, 3, 4):
        log_prob, want = exact(n, draw)
        what = f"n = {n} tokens and a model that knows the true probabilities"
        expect(attempt, log_prob, n, want=want, what=what)


NELBO = Exercise(
    name="The bound of three tokens",
    task=(
        "Write `nelbo(log_prob, n)`, the exact NELBO of a text of n tokens: over *every* set of masked "
        "tokens that is not empty, its loss times its weight. The loss of a set is the sum of −log p over "
        "its tokens. A set of l tokens weighs 1 / (l · C(n, l)), where C(n, l) is how many sets of l tokens "
        "there are. `log_prob(masked, i)` is the model's log-probability of the right token at i, when "
        "`masked` (a `frozenset` of positions from 0 to n − 1, i among them) is hidden. If the model knows "
        "the truth, the bound *is* −log p of the text."
    ),
    level="core",
    minutes=12,
    checks=(
        Check("one token: there is one way", one_token),
        Check("two tokens", two_tokens),
        Check("three and more", three_tokens),
        Check("no gap where the model knows the truth", tight),
    ),
    hints=(
        "Three tokens have 7 sets: three of one token, three of two, one of three.",
        "`itertools.combinations(range(n), size)` lists the sets of one size, `math.comb(n, size)` counts "
        "them.",
    ),
    stub=nelbo_stub,
    answer=nelbo_answer,
)


MOST, LETTERS, IMPOSSIBLE = 8, 6, 0.8


def language(answer: Any) -> tuple[str, ...]:
    """The learner's texts. Raises Unusable if they are none, too many, too long, or not all as long."""
    given = texts(answer)
    lengths = sorted({len(text) for text in given})
    if len(lengths) > 1 or not 1 <= lengths[0] <= LETTERS:
        raise Unusable(
            f"the texts should all be equally long, 1 to {LETTERS} characters; lengths are {lengths}"
        )
    if len(given) > MOST or len(set(given)) < len(given):
        raise Unusable(f"there should be at most {MOST} different texts; these are {shown(given)}")
    return given


def is_language(answer: Any, _: Generator) -> None:
    language(answer)


def needs_all(answer: Any, _: Generator) -> None:
    given = language(answer)
    for i in range(len(given[0])):
        if len({text[i] for text in given}) < 2:
            raise Wrong(f"character {i} is {given[0][i]!r} in every text: that one is known from the start")


def impossible_at_once(answer: Any, _: Generator) -> None:
    given = language(answer)
    chances = [Counter(text[i] for text in given) for i in range(len(given[0]))]
    possible = sum(
        math.prod(chance[letter] / len(given) for chance, letter in zip(chances, text, strict=True))
        for text in given
    )
    if 1 - possible < IMPOSSIBLE:
        raise Wrong(f"{1 - possible:.0%} of what is filled in at once is none of {shown(given)}")


AT_ONCE = Exercise(
    name="Texts that cannot be written at once",
    task=(
        "A perfect model of masked diffusion fills in all holes of a text in *one* step: each character is "
        "drawn with its true probability, and without looking at what the others become. Design a language "
        f"for which this goes wrong: up to {MOST} texts (all as likely, all equally long, up to {LETTERS} "
        "characters, and at no place the same character in all of them), such that at least "
        f"{IMPOSSIBLE:.0%} of what comes out in one step is none of the texts. Your answer is a list of "
        "texts. (Written one character a step, none would be wrong.)"
    ),
    level="core",
    minutes=8,
    checks=(
        Check(f"up to {MOST} texts of one length", is_language),
        Check("every character is in question", needs_all),
        Check(f"{IMPOSSIBLE:.0%} of the texts written at once are wrong", impossible_at_once),
    ),
    hints=(
        "Think of *ab* and *ba*: what comes out if both characters are tossed for separately?",
        "The more a character depends on the others, the worse. More texts, or longer ones?",
        "Texts of one letter only: *aaaa*, *bbbb*. How probable are four equal tosses?",
    ),
    stub=[],
    answer=["aaaa", "bbbb"],
)


EXERCISES = (NELBO, AT_ONCE, LEFTMOST)
