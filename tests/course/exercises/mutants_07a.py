"""Mistakes in the exercises of notebook 07a."""

import math
from functools import partial
from itertools import combinations

import torch

from babygpt_course.exercises.lesson_07a import AT_ONCE, NELBO, REMASK
from tests.course.exercises.harness import Mutant, requirements

ONE, TWO, MORE, TIGHT = requirements(NELBO)
TEXTS, QUESTION, WRONG = requirements(AT_ONCE)
STAY, LEAST, TIES, FILL = ALL = requirements(REMASK)


def bound(log_prob, n, weight=lambda n, size: 1 / (size * math.comb(n, size)), sizes=None, sign=-1):
    total = 0.0
    for size in sizes or range(1, n + 1):
        for subset in combinations(range(n), size):
            total += sign * weight(n, size) * sum(log_prob(frozenset(subset), i) for i in subset)
    return total


def one_order(log_prob, n):
    """Go from left to right only: the chain rule, which is exact for a model that knows the truth."""
    return -sum(log_prob(frozenset(range(i, n)), i) for i in range(n))


def taken_back(
    masked, is_given, confidence, again, due, sign=1, batch=False, ties=False, stay=True, fill=None
):
    written = ~masked & ~is_given
    doubt = (sign * confidence).masked_fill(~written, torch.inf)
    order = doubt.flatten() if batch else doubt
    taken = written & (order.argsort(-1).argsort(-1).view_as(masked) < again)
    if ties:
        taken = written & (doubt <= doubt.masked_fill(~taken, -torch.inf).amax(1, keepdim=True))
    holes = masked & stay | taken
    most = (masked | taken).sum(1)
    return holes, fill(taken.sum(1), most, again, due) if fill else (due + taken.sum(1)).minimum(most)


def by_topk(masked, is_given, confidence, again, due):
    written = ~masked & ~is_given
    least = confidence.masked_fill(~written, torch.inf).topk(again, dim=1, largest=False).indices
    taken = written & torch.zeros_like(masked).scatter(1, least, True)
    holes = masked | taken
    return holes, (due + taken.sum(1)).minimum(holes.sum(1))


def by_filled(masked, is_given, confidence, again, due, others):
    """Give all but written letters this confidence, and take back the least."""
    written = ~masked & ~is_given
    rank = confidence.masked_fill(~written, others).argsort(dim=1, stable=True).argsort(dim=1)
    taken = written & (rank < again)
    right = written.sum(1).clamp(max=again)  # the numbers to fill are right, the holes are not
    return masked | taken, (due + right).minimum(masked.sum(1) + right)


def from_the_end(masked, is_given, confidence, again, due):
    return taken_back(masked, is_given, confidence, again or masked.shape[1], due)


NELBO_MISTAKES = [
    ("all at once", lambda f, n: bound(f, n, lambda n, s: 1, [n]), [TWO, MORE, TIGHT], "at once"),
    ("no C(n, l)", partial(bound, weight=lambda n, s: 1 / s), [TWO, MORE, TIGHT], "share their weight"),
    ("no l", partial(bound, weight=lambda n, s: 1 / math.comb(n, s)), [TWO, MORE, TIGHT], "Where is the 1/l"),
    ("all ways alike", partial(bound, weight=lambda n, s: 1 / (2**n - 1)), [TWO, MORE, TIGHT], "weights"),
    ("no minus", partial(bound, sign=1), [ONE, TWO, MORE, TIGHT], "*minus*"),
    ("from left to right", one_order, [TWO, MORE]),
    ("a shown token", lambda f, n: -f(frozenset(range(1, n)), 0), [ONE, TWO, MORE, TIGHT], "masked in ["),
]
AT_ONCE_MISTAKES = [
    ("two letters", ["ab", "ba"], [WRONG], "50%"),
    ("independent", ["aa", "ab", "ba", "bb"], [WRONG], "0% of what"),
    ("one text", ["abc"], [QUESTION, WRONG], "known from the start"),
    ("nearly", ["aaa", "bbb"], [WRONG], "75% of what is filled in"),
    ("a common letter", ["abcdx", "bcdax", "cdabx", "dabcx"], [QUESTION]),
    ("not as long", ["a", "bb"], [TEXTS, QUESTION, WRONG], "lengths are"),
]
REMASK_MISTAKES = [
    ("the surest", partial(taken_back, sign=-1), [LEAST, TIES], "a less sure one stays"),
    ("others at 1", partial(by_filled, others=1.0), [TIES], ""),
    ("float16", lambda m, g, c, *a: taken_back(m, g, c.half().float(), *a), [LEAST]),
    ("topk", by_topk, ALL, "again = 9 and due = "),
    ("none is all", from_the_end, [LEAST, TIES, FILL], "again = 0 and due"),
    ("of all texts", partial(taken_back, batch=True), [LEAST, TIES, FILL], "in each text"),
    ("all that are equal", partial(taken_back, ties=True), [TIES], "the number of letters"),
    ("holes are filled", partial(taken_back, stay=False), [STAY], "should stay a hole"),
    ("the prompt too", lambda m, g, *rest: taken_back(m, 0 * g > 0, *rest), ALL, "letter of the prompt"),
    ("due only", partial(taken_back, fill=lambda n, h, a, d: h.clamp(max=d)), [FILL]),
    ("as many as asked", partial(taken_back, fill=lambda n, h, a, d: h.clamp(max=d + a)), [FILL], "fewer"),
    ("more than holes", partial(taken_back, fill=lambda n, h, a, d: n + d), [FILL], "holes than it has"),
]
MUTANTS = [
    *(Mutant(NELBO, *mistake) for mistake in NELBO_MISTAKES),
    *(Mutant(AT_ONCE, *mistake) for mistake in AT_ONCE_MISTAKES),
    *(Mutant(REMASK, *mistake) for mistake in REMASK_MISTAKES),
]
