"""Mistakes in the exercises of notebook 07a."""

import math
from functools import partial
from itertools import combinations

import torch

from babygpt_course.exercises.lesson_07a import AT_ONCE, LEFTMOST, NELBO
from tests.course.exercises.harness import Mutant, requirements

ONE, TWO, MORE, TIGHT = requirements(NELBO)
TEXTS, QUESTION, WRONG = requirements(AT_ONCE)
FIRST, MOST, UNSURE, ENDS = requirements(LEFTMOST)


def bound(log_prob, n, weight=lambda n, size: 1 / (size * math.comb(n, size)), sizes=None, sign=-1):
    total = 0.0
    for size in sizes or range(1, n + 1):
        for some in combinations(range(n), size):
            total += sign * weight(n, size) * sum(log_prob(frozenset(some), i) for i in some)
    return total


def one_order(log_prob, n):
    """From left to right only: the chain rule, which is exact for a model that knows the truth."""
    return -sum(log_prob(frozenset(range(i, n)), i) for i in range(n))


def appear(masked, confidence, most, first=True, stop=True, limit=True, over_all=False):
    number = masked.flatten().cumsum(0).view(masked.shape) if over_all else masked.cumsum(1)
    unsure = masked & (confidence < 0.9) & (number > (1 if first else 0))
    now = masked & ~((unsure.cumsum(1) > 0) if stop else unsure)
    return now & (number <= most) if limit else now


def first_column(masked, confidence, most):
    number = torch.arange(masked.shape[1]).expand_as(masked)
    return masked & (number < most) | (number == masked.int().argmax(1, keepdim=True))


NELBO_MISTAKES = [
    ("all at once", lambda f, n: bound(f, n, lambda n, s: 1, [n]), [TWO, MORE, TIGHT], "at once"),
    ("no C(n, l)", partial(bound, weight=lambda n, s: 1 / s), [TWO, MORE, TIGHT], "share their weight"),
    ("no l", partial(bound, weight=lambda n, s: 1 / math.comb(n, s)), [TWO, MORE, TIGHT], "Where is the 1/l"),
    ("all ways alike", partial(bound, weight=lambda n, s: 1 / (2**n - 1)), [TWO, MORE, TIGHT], "weights"),
    ("no minus", partial(bound, sign=1), [ONE, TWO, MORE, TIGHT], "*minus*"),
    ("from left to right", one_order, [TWO, MORE]),
]
AT_ONCE_MISTAKES = [
    ("two letters", ["ab", "ba"], [WRONG], "50%"),
    ("independent", ["aa", "ab", "ba", "bb"], [WRONG], "0% of what"),
    ("one text", ["abc"], [QUESTION, WRONG], "known from the start"),
    ("nearly", ["aaa", "bbb"], [WRONG], "75% of what is filled in"),
    ("a common letter", ["abcdx", "bcdax", "cdabx", "dabcx"], [QUESTION]),
    ("not as long", ["a", "bb"], [TEXTS, QUESTION, WRONG], "lengths are"),
]
LEFTMOST_MISTAKES = [
    ("none if unsure", partial(appear, first=False), [FIRST, UNSURE, ENDS], "never ends"),
    ("the unsure skipped", partial(appear, stop=False), [UNSURE], "must wait"),
    ("no limit", partial(appear, limit=False), [MOST, UNSURE], "More than"),
    ("more than 0.9", lambda m, c, n: appear(m, c - 1e-9, n), [UNSURE], "at least 0.9 sure"),
    ("0.89 is enough", lambda m, c, n: appear(m, c + 0.02, n), [UNSURE, ENDS], "must wait"),
    ("six at most", lambda m, c, n: appear(m, c, min(n, 6)), [MOST], "appear too"),
    ("columns", first_column, [FIRST, MOST, UNSURE, ENDS], "no hole"),
]
MUTANTS = [
    *(Mutant(NELBO, *mistake) for mistake in NELBO_MISTAKES),
    *(Mutant(AT_ONCE, *mistake) for mistake in AT_ONCE_MISTAKES),
    *(Mutant(LEFTMOST, *mistake) for mistake in LEFTMOST_MISTAKES),
]
