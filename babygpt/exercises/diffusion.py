"""Exercises of notebook 07a: a bound by enumeration, texts that cannot be written at once, an order of one's own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.exercises.base import Check, Exercise, Unusable, Wrong, ask, expect, texts
from babygpt.exercises.compare import difference, shown
from babygpt.exercises.draws import integer

LogProb = Callable[[frozenset[int], int], float]


def nelbo_stub(log_prob: LogProb, n: int) -> float:
    """The NELBO of a text of n tokens, in nats: the mean over all ways to mask it, with their weights."""
    return -sum(log_prob(frozenset(range(n)), i) for i in range(n))


def nelbo_answer(log_prob: LogProb, n: int) -> float:
    """The NELBO of a text of n tokens, in nats: the mean over all ways to mask it, with their weights."""
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
            raise ValueError(f"token {i} is not masked in {sorted(masked)}, so there is nothing to find out")
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
        "That is all tokens masked at once; the NELBO asks for every way to mask some": losses[tuple(range(n))],
        "The weights: sets of one size share 1/l, so that each gets 1/(l · C(n, l))": sum(losses.values())
        / len(ways),
        "The mean over the masked tokens of a way is its loss divided by l; each size l then counts once, and "
        "n of these means make a text": sum(
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
        "Write `nelbo(log_prob, n)`, the exact NELBO of a text of n tokens: over *every* set of masked tokens, "
        "with its weight. A set of l masked tokens out of n weighs 1 / (l · C(n, l)), and its loss is the sum "
        "over its tokens of −log p. `log_prob(masked, i)` is the model's log-probability of the right token at "
        "i, when `masked` (a `frozenset` of positions, i among them) is hidden. If the model knows the truth, "
        "the bound *is* −log p of the text."
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
        "`itertools.combinations(range(n), size)` lists the sets of one size, `math.comb(n, size)` counts them.",
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
        raise Unusable(f"the texts should all have the same 1 to {LETTERS} characters; lengths are {lengths}")
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
        "A perfect model of masked diffusion fills in all holes of a text in *one* step: each character is drawn "
        "with its true probability, and without looking at what the others become. Design a language for which "
        f"this goes wrong: up to {MOST} texts (all as likely, all equally long, up to {LETTERS} characters, no "
        f"character the same in all of them), such that at least {IMPOSSIBLE:.0%} of what comes out in one step "
        "is none of the texts. Your answer is a list of texts. (Written one character a step, none would be wrong.)"
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


def leftmost_stub(masked: Tensor, confidence: Tensor, most: int) -> Tensor:
    """What appears now (B, T): in each text the leftmost holes, at most so many, as long as they are sure."""
    return masked


def leftmost_answer(masked: Tensor, confidence: Tensor, most: int) -> Tensor:
    """What appears now (B, T): in each text the leftmost holes, at most so many, as long as they are sure."""
    number = masked.cumsum(dim=1)  # the first hole of a text is number 1
    unsure = masked & (confidence < 0.9) & (number > 1)
    stopped = unsure.cumsum(dim=1) > 0
    return masked & (number <= most) & ~stopped


def by_loops(masked: Tensor, confidence: Tensor, most: int) -> Tensor:
    """The same, hole by hole."""
    now = torch.zeros_like(masked)
    for row, holes in enumerate(masked.tolist()):
        at = [i for i, hole in enumerate(holes) if hole]
        for count, i in enumerate(at[:most]):
            if count and float(confidence[row, i]) < 0.9:
                break
            now[row, i] = True
    return now


def appear(attempt: Any, masked: Tensor, confidence: Tensor, most: int) -> None:
    sure = [[round(x, 2) for x in row] for row in confidence.tolist()]
    small = f"masked {masked.int().tolist()}, confidence {sure}"
    what = f"{small if masked.numel() <= 12 else f'texts of shape {tuple(masked.shape)}'} and most = {most}"
    want = by_loops(masked, confidence, most)
    got = ask(attempt, masked, confidence, most, what=what)
    if text := difference(got, want):
        same = isinstance(got, Tensor) and got.shape == masked.shape
        raise Wrong(f"for {what} {text}{reason(got.bool(), masked, want, most) if same else ''}")


def reason(now: Tensor, masked: Tensor, want: Tensor, most: int) -> str:
    """The first rule that what appears breaks."""
    rules = {
        "What is no hole cannot appear": now & ~masked,
        "The leftmost hole of a text always appears, or the writing never ends": masked.any(1) & ~now.any(1),
        f"More than {most} in one text": now.sum(1) > most,
        "Whatever stands to the right of an unsure hole must wait": now & ~want,
    }
    return next((f". {said}" for said, broken in rules.items() if broken.any()), "")


def holes(draw: Generator, shape: tuple[int, int], share: float) -> tuple[Tensor, Tensor]:
    """Where the holes are, and how sure the model is."""
    masked = torch.rand(shape, generator=draw) < share
    return masked, torch.rand(shape, generator=draw)


def first_appears(attempt: Any, draw: Generator) -> None:
    for shape in ((1, 3), (2, 4), (5, 9)):
        masked, confidence = holes(draw, shape, 0.6)
        appear(attempt, masked, 0.5 * confidence, integer(draw, 1, 4))


def most_appear(attempt: Any, draw: Generator) -> None:
    for shape in ((1, 4), (2, 5), (4, 12)):
        masked, confidence = holes(draw, shape, 0.7)
        appear(attempt, masked, 0.95 + 0.05 * confidence, integer(draw, 1, 4))


def unsure_wait(attempt: Any, draw: Generator) -> None:
    for shape in ((1, 4), (2, 6), (6, 20)):
        for _ in range(4):
            masked, chance = holes(draw, shape, 0.8)
            appear(attempt, masked, torch.where(chance < 0.4, 0.85, 0.95), integer(draw, 3, 7))


def ends(attempt: Any, draw: Generator) -> None:
    for shape in ((1, 3), (3, 8)):
        masked, confidence = holes(draw, shape, 0.5)
        masked[0] = False
        appear(attempt, masked, confidence, 2)


LEFTMOST = Exercise(
    name="An order of your own: from the left",
    task=(
        "Write `leftmost(masked, confidence, most)`: which holes are filled in now. `masked` (B, T) is True where "
        "a hole is, `confidence` (B, T) says how sure the model is there. In each text the holes appear from left "
        "to right: the leftmost one always, then the next ones as long as the model is at least 0.9 sure of "
        "them, at most `most` in all; at the first hole that is less sure the text stops, and waits for "
        "the next step. Return (B, T), True where a token appears. A text without holes has nothing to do."
    ),
    level="stretch",
    minutes=15,
    checks=(
        Check("the leftmost hole of each text appears", first_appears),
        Check("at most so many", most_appear),
        Check("an unsure hole stops those to its right", unsure_wait),
        Check("texts without holes stay", ends),
    ),
    hints=(
        "Number the holes of each text from the left: `masked.cumsum(dim=1)` does it for all texts at once.",
        "Where is a hole that is unsure, and not the first? From there on, nothing more appears.",
        "`(unsure.cumsum(dim=1) > 0)` is True at the first unsure hole and everywhere to its right.",
    ),
    stub=leftmost_stub,
    answer=leftmost_answer,
)

EXERCISES = (NELBO, AT_ONCE, LEFTMOST)
