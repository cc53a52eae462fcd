"""Exercises of notebook 07a: a bound by enumeration, texts written at once, and letters taken back."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import combinations
from statistics import fmean
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.errors import BadInput
from babygpt_course.exercises.checks import ask_tensors, equal_texts, expect, require, require_equal
from babygpt_course.exercises.compare import count, describe, format_beyond
from babygpt_course.exercises.exercise import Exercise, each, integer, read_tasks

TASKS = read_tasks("lesson_07a")

LogProb = Callable[[frozenset[int], int], float]  # masked positions, one of them -> log-probability


def nelbo_answer(log_prob: LogProb, n: int) -> float:
    """The NELBO of a text of n tokens, in nats: over all ways to mask it, the sum of loss times weight."""
    total = 0.0
    for size in range(1, n + 1):
        for subset in combinations(range(n), size):
            masked = frozenset(subset)
            loss = -sum(log_prob(masked, i) for i in subset)
            total += loss / (size * math.comb(n, size))
    return total


def subsets(n: int) -> list[tuple[int, ...]]:
    """Return all ways to mask some of n tokens."""
    return [subset for size in range(1, n + 1) for subset in combinations(range(n), size)]


def tabulated_log_prob(table: Mapping[Any, float], masked: frozenset[int], i: int) -> float:
    """Return a model's log-probability of the right token at i, from a table: (masked, i) -> number."""
    if (key := (tuple(sorted(map(int, masked))), int(i))) not in table:
        raise BadInput(f"token {key[1]} is not masked in {list(key[0])}, so there is nothing to find out")
    return table[key]


def ask_bounds(attempt: Any, draw: Generator, *lengths: int) -> None:
    """Ask about models that give each token a random probability for each way to mask the text."""
    for n in lengths:
        ways = subsets(n)
        table = {(subset, i): -3 * float(torch.rand((), generator=draw)) for subset in ways for i in subset}
        log_prob = partial(tabulated_log_prob, table)
        want = nelbo_answer(log_prob, n)
        losses = {subset: -sum(table[subset, i] for i in subset) for subset in ways}
        shared, mean = "Sets of the same size share their weight: divide by C(n, l)", fmean(losses.values())
        per_token = "The mean over the masked tokens of a way is its loss divided by l; each size l "
        no_l = "Where is the 1/l? A set of l tokens weighs 1/(l · C(n, l))"
        mistakes = {
            no_l: sum(loss / math.comb(n, len(subset)) for subset, loss in losses.items()),
            "That is all tokens masked at once; the NELBO asks for every way to mask some": losses[ways[-1]],
            "The weights: sets of one size share 1/l, so that each gets 1/(l · C(n, l))": mean,
            f"{per_token}then counts once, and n of these means make a text": want / n,
            "A loss is *minus* the logarithm": -want,
            shared: sum(loss / len(subset) for subset, loss in losses.items()),
        }
        listed = ", ".join(f"{[*subset]} token {i}: {p:.3f}" for (subset, i), p in table.items())
        what = f"n = {count(n, 'token')}" + f" and log-probabilities {listed}" * (n < 3)
        expect(attempt, log_prob, n, want=want, what=what, mistakes=mistakes)


def is_tight(attempt: Any, draw: Generator) -> None:
    """Ask about models that know the joint probabilities of n letters out of two, for the text 0…0."""
    for n in (2, 3, 4):
        joint, table = torch.rand([2] * n, generator=draw, dtype=torch.float64) + 0.05, dict[Any, float]()
        for subset in subsets(n):
            marginal = joint[tuple(slice(None) if j in subset else 0 for j in range(n))]
            for axis, i in enumerate(subset):
                table[subset, i] = float((marginal.select(axis, 0).sum() / marginal.sum()).log())
        want = float((joint.sum() / joint[(0,) * n]).log())
        what = f"n = {n} tokens and a model that knows the true probabilities"
        expect(attempt, partial(tabulated_log_prob, table), n, want=want, what=what)


NELBO = Exercise(
    TASKS["The bound of three tokens"], [*each(ask_bounds, (1, 1), 2, (3, 4, 5)), is_tight], nelbo_answer
)

MOST = 8
LETTERS = 6
IMPOSSIBLE = 0.8


def language(answer: Any, _: Any = None) -> list[str]:
    return list(dict.fromkeys(equal_texts(answer, MOST, 1, LETTERS)))  # all as likely


def needs_all(answer: Any, _: Generator) -> None:
    for i, letters in enumerate(zip(*language(answer), strict=True)):
        sentence = f"character {i} is {letters[0]!r} in every text: that one is known from the start"
        require(len(set(letters)) > 1, sentence)


def impossible_at_once(answer: Any, _: Generator) -> None:
    texts = language(answer)
    columns = list(zip(*texts, strict=True))
    chances = [math.prod(map(tuple.count, columns, text)) / len(texts) ** len(columns) for text in texts]
    wrong = 1 - sum(chances)
    none = (
        f"{format_beyond(wrong, IMPOSSIBLE, '%')} of what is filled in at once is none of {describe(texts)}"
    )
    require(wrong >= IMPOSSIBLE, f"{none}; should be {IMPOSSIBLE:.0%} or more")


AT_ONCE = Exercise(
    TASKS["Texts that cannot be written at once"], [language, needs_all, impossible_at_once], ["aaaa", "bbbb"]
)


def remask_answer(
    masked: Tensor, given: Tensor, confidence: Tensor, again: int, due: int
) -> tuple[Tensor, Tensor]:
    """Holes (B, T) once the `again` least sure letters are taken back, and how many to fill (B,)."""
    written = ~masked & ~given
    rank = confidence.masked_fill(~written, torch.inf).argsort(dim=1).argsort(dim=1)  # 0: the least sure
    taken = written & (rank < again)
    holes = masked | taken
    return holes, (due + taken.sum(dim=1)).minimum(holes.sum(dim=1))


def takes_back(attempt: Any, draw: Generator, aspect: str) -> None:
    """Ask about texts of growing size, and look at one thing in the holes or in the numbers to fill."""
    extremes = (1, 4, 0), (1, 4, 4 + integer(draw, 1, 6))  # letters to take back: none, and all
    sizes = ((1, 4, 1), *extremes, (2, 5, None), (5, 12, None), (5, 12, None), (3, 30, None), (2, 300, 280))
    for B, T, number in sizes:
        kind = torch.randint(4, (B, T), generator=draw)
        masked, given = kind == 0, kind == 1
        confidence = torch.rand(B, T, generator=draw)
        again, due = 1 + integer(draw, 0, T if aspect == "fill" else T // 5 + 1), integer(draw, 0, 4)
        again = again if number is None else number
        if aspect == "ties":  # also 1.0, and so many letters to take back that all of these are among them
            confidence = (2 * confidence).round() / 2
            again = again if number is not None else 1 + integer(draw, 0, T)
        elif B == 5:  # float16 cannot tell these apart
            confidence = 0.5 + confidence / 4096
        due = due if T < 30 else integer(draw, 0, 2 * T)
        numbers = f"again = {again} and due = {due}"
        what = f"{count(B, 'text')} of {count(T, 'letter')}, {numbers}"
        if B * T < 11:
            rounded = [[round(x, 2) for x in row] for row in confidence.tolist()]
            flags = f"masked {masked.int().tolist()}, given {given.int().tolist()}"
            what = f"{flags}, confidence {rounded}, {numbers}"
        shapes = {"holes": (B, T), "numbers to fill": (B,)}
        parts = ask_tensors(attempt, masked, given, confidence, again, due, what=what, shapes=shapes)
        flag = ((parts[0] == 0) | (parts[0] == 1)).all()
        require(flag, f"for {what} each entry of the holes should be True or False")
        holes, written = parts[0].bool(), ~masked & ~given
        taken, counts = holes & written, written.sum(dim=1).clamp(max=again)
        if aspect == "written":
            lost = "a hole is filled in here; it should stay a hole"
            require(not (masked & ~holes).any(), f"for {what} {lost}")
            require(not (holes & given).any(), f"for {what} a letter of the prompt is taken back")
        elif aspect == "fill":
            want = (due + counts).minimum(masked.sum(dim=1) + counts)
            mistakes = {
                "What is taken back has to be filled in as well": masked.sum(dim=1).clamp(max=due),
                "A text cannot fill more holes than it has": due + counts,
                f"Count what was taken back; a text may have fewer than {again} letters": (
                    (masked.sum(dim=1) + counts).clamp(max=due + again)
                ),
            }
            require_equal(parts[1], want.float(), f"{what} the numbers to fill", mistakes)
        else:
            require_equal(taken.sum(dim=1), counts, f"{what} the number of letters taken back in each text")
            surest = confidence.masked_fill(~taken, -torch.inf).amax(dim=1)
            spared = confidence.masked_fill(~written | taken, torch.inf).amin(dim=1)
            worse = f"one of {describe(surest.max())} is taken back, while a less sure one stays"
            require((surest <= spared).all(), f"for {what} {worse}")


REMASK = Exercise(
    TASKS["Letters taken back"], each(takes_back, "written", "least sure", "ties", "fill"), remask_answer
)

EXERCISES = (NELBO, AT_ONCE, REMASK)
