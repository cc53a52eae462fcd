"""Exercises of notebook 07a: a bound by enumeration, texts written at once, and an order of filling in."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import combinations
from statistics import fmean
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.errors import BadInput
from babygpt_course.exercises.checks import ask, equal_texts, expect, require, require_equal
from babygpt_course.exercises.compare import as_numbers, beyond, describe
from babygpt_course.exercises.exercise import Exercise, each, integer, read_tasks

TASKS = read_tasks("lesson_07a")

LogProb = Callable[[frozenset[int], int], float]  # masked positions, one of them -> log-probability


def nelbo_answer(log_prob: LogProb, n: int) -> float:
    """The NELBO of a text of n tokens, in nats: over all ways to mask it, the sum of loss times weight."""
    total = 0.0
    for size in range(1, n + 1):
        for some in combinations(range(n), size):
            masked = frozenset(some)
            loss = -sum(log_prob(masked, i) for i in some)
            total += loss / (size * math.comb(n, size))
    return total


def subsets(n: int) -> list[tuple[int, ...]]:
    """Return all ways to mask some of n tokens."""
    return [some for size in range(1, n + 1) for some in combinations(range(n), size)]


def look_up(table: Mapping[Any, float], masked: frozenset[int], i: int) -> float:
    """Return a model's log-probability of the right token at i, from a table: (masked, i) -> number."""
    if (key := (tuple(sorted(map(int, masked))), int(i))) not in table:
        raise BadInput(f"token {key[1]} is not masked in {list(key[0])}, so there is nothing to find out")
    return table[key]


def ask_bounds(attempt: Any, draw: Generator, *lengths: int) -> None:
    """Ask about models that give each token a random probability for each way to mask the text."""
    for n in lengths:
        ways = subsets(n)
        table = {(some, i): -3 * float(torch.rand((), generator=draw)) for some in ways for i in some}
        log_prob = partial(look_up, table)
        want, losses = nelbo_answer(log_prob, n), {some: -sum(table[some, i] for i in some) for some in ways}
        shared, mean = "Sets of the same size share their weight: divide by C(n, l)", fmean(losses.values())
        per_token = "The mean over the masked tokens of a way is its loss divided by l; each size l "
        no_l = "Where is the 1/l? A set of l tokens weighs 1/(l · C(n, l))"
        mistakes = {
            no_l: sum(loss / math.comb(n, len(some)) for some, loss in losses.items()),
            "That is all tokens masked at once; the NELBO asks for every way to mask some": losses[ways[-1]],
            "The weights: sets of one size share 1/l, so that each gets 1/(l · C(n, l))": mean,
            f"{per_token}then counts once, and n of these means make a text": want / n,
            "A loss is *minus* the logarithm": -want,
            shared: sum(loss / len(some) for some, loss in losses.items()),
        }
        expect(attempt, log_prob, n, want=want, what=f"n = {n} tokens", mistakes=mistakes)


def is_tight(attempt: Any, draw: Generator) -> None:
    """Ask about models that know the joint probabilities of n letters out of two, for the text 0…0."""
    for n in (2, 3, 4):
        joint, table = torch.rand([2] * n, generator=draw, dtype=torch.float64) + 0.05, dict[Any, float]()
        for some in subsets(n):
            seen = joint[tuple(slice(None) if j in some else 0 for j in range(n))]
            for at, i in enumerate(some):
                table[some, i] = float((seen.select(at, 0).sum() / seen.sum()).log())
        want = float((joint.sum() / joint[(0,) * n]).log())
        what = f"n = {n} tokens and a model that knows the true probabilities"
        expect(attempt, partial(look_up, table), n, want=want, what=what)


NELBO = Exercise(
    TASKS["The bound of three tokens"], [*each(ask_bounds, (1, 1), 2, (3, 4, 5)), is_tight], nelbo_answer
)

MOST, LETTERS, IMPOSSIBLE = 8, 6, 0.8


def language(answer: Any, _: Any = None) -> list[str]:
    return list(dict.fromkeys(equal_texts(answer, MOST, 1, LETTERS)))  # all as likely


def needs_all(answer: Any, _: Generator) -> None:
    for i, letters in enumerate(zip(*language(answer), strict=True)):
        known = f"character {i} is {letters[0]!r} in every text: that one is known from the start"
        require(len(set(letters)) > 1, known)


def impossible_at_once(answer: Any, _: Generator) -> None:
    given = language(answer)
    columns = list(zip(*given, strict=True))
    chances = [math.prod(map(tuple.count, columns, text)) / len(given) ** len(columns) for text in given]
    wrong = 1 - sum(chances)
    none = f"{beyond(wrong, IMPOSSIBLE, '%')} of what is filled in at once is none of {describe(given)}"
    require(wrong >= IMPOSSIBLE, f"{none}; should be {IMPOSSIBLE:.0%} or more")


AT_ONCE = Exercise(
    TASKS["Texts that cannot be written at once"], [language, needs_all, impossible_at_once], ["aaaa", "bbbb"]
)


def leftmost_answer(masked: Tensor, confidence: Tensor, most: int) -> Tensor:
    """Return the tokens that appear (B, T): leftmost holes of a text, at most `most`, while they are sure."""
    number = masked.cumsum(dim=1)  # the first hole of a text is number 1
    unsure = masked & (confidence < 0.9) & (number > 1)
    stopped = unsure.cumsum(dim=1) > 0
    return masked & (number <= most) & ~stopped


def fills(attempt: Any, draw: Generator, sure: Any, most: Any) -> None:
    """Ask about texts of growing size.

    sure   function that makes confidences of random numbers from 0 to 1
    most   limits of the number that may appear; None: two may, and the first text has no holes
    """
    for shape in sorted(((1, 4), (2, 6), (6, 20)) * 4):
        masked, chance = torch.rand(shape, generator=draw) < 0.8, torch.rand(shape, generator=draw)
        masked[0] &= most is not None
        given = masked, sure(chance), integer(draw, *most) if most else 2
        rounded = [[round(x, 2) for x in row] for row in given[1].tolist()]
        small = f"masked {masked.int().tolist()}, confidence {rounded}"
        what = f"{small if masked.numel() <= 12 else f'texts of shape {shape}'} and most = {given[2]}"
        got, want, hint = ask(attempt, *given, what=what), leftmost_answer(*given), ""
        if (numbers := as_numbers(got)) is not None and numbers.shape == shape:
            now = numbers.bool()
            always = "The leftmost hole of a text always appears, or the writing never ends"
            rules = {
                "What is no hole cannot appear": now & ~masked,
                always: (masked & (masked.cumsum(1) == 1) & ~now).any(1),
                f"More than {given[2]} in one text": now.sum(1) > given[2],
                "Whatever stands to the right of an unsure hole must wait": now & ~want,
                f"The next ones appear too if they are at least 0.9 sure, {given[2]} in all": want & ~now,
            }
            hint = next((f". {rule}" for rule, broken in rules.items() if broken.any()), "")
        require_equal(got, want, what, hint=hint)


SURE = torch.tensor([0.6, 0.89, 0.9, 0.91, 0.95, 0.99], dtype=torch.float64)
LEFTMOST = Exercise(
    TASKS["An order of your own: from the left"],
    each(
        fills,
        (lambda x: 0.5 * x, (1, 4)),
        (lambda x: 0.95 + 0.05 * x, (1, 12)),
        (lambda x: SURE[(6 * x).long()], (3, 7)),
        (lambda x: x, None),
    ),
    leftmost_answer,
)

EXERCISES = (NELBO, AT_ONCE, LEFTMOST)
