"""Mistakes in the exercises of notebook 06."""

from statistics import fmean

import torch

from babygpt_course.exercises.lesson_06 import SEES, SPLIT_GAP, TARGETS, targets_answer
from tests.course.exercises.harness import Mutant, requirements

WITHIN, OPEN, ISOLATED = requirements(SEES)
SINGLE, TOGETHER, APART = requirements(TARGETS)
OWN, OTHERS, BOTH = requirements(SPLIT_GAP)


KEPT = {}  # shape -> the targets of the first call


def masked(rule):
    """Return the answer that isolates branches rightly, and else follows a rule for query and key."""
    return lambda q, k, isolated: rule(q, k) and (not isolated or q[1] == k[1])


def first(right):
    return torch.where(right.any(1), right.int().argmax(1), -1)


def table(time, branch):
    """Keep the latest token of each branch in a list, in which −1 is the last."""
    latest, previous = [-1] * (int(branch.max()) + 1), [-1] * len(time)
    for i, b in enumerate(branch.tolist()):
        previous[latest[b]] = i if latest[b] >= 0 else previous[latest[b]]
        latest[b] = i
    return torch.tensor(previous)


def gap(split):
    """Return the answer that splits the gap by the losses alone, together, under 0 and the last."""

    def answer(loss, n):
        alone = fmean(loss((b,)) for b in range(n))
        return split(n, alone, loss(tuple(range(n))), loss((0,)), loss((n - 1,)))

    return answer


SEES_MISTAKES = [
    ("the same moment", masked(lambda q, k: k[0] <= q[0]), [OPEN], "written together"),
    ("not itself", masked(lambda q, k: k[0] < q[0]), [WITHIN], "sees itself"),
    ("always isolated", lambda q, k, _: k[0] <= q[0] and q[1] == k[1], [OPEN], "the past of every branch"),
    ("never isolated", lambda q, k, _: k[0] < q[0] or q == k, [ISOLATED], "no token of another"),
    ("query and key exchanged", masked(lambda q, k: q[0] < k[0] or q == k), [WITHIN, OPEN], "later"),
    (
        "is, not equals",
        lambda q, k, _: q is k or (k[0] < q[0] and q[1] == k[1]),
        [WITHIN, OPEN],
        "sees itself",
    ),
    ("64 back at most", masked(lambda q, k: SEES.answer(q, k, False) and q[0] - k[0] < 64), [WITHIN, OPEN]),
    ("ten branches", masked(lambda q, k: k[0] * 10 + k[1] < q[0] * 10 + q[1] or k == q), [OPEN]),
]
TARGETS_MISTAKES = [
    (
        "next in the row",
        lambda t, _: torch.tensor([*range(1, len(t)), -1]),
        [TOGETHER, APART],
        "next token of the sequence",
    ),
    ("next time", lambda t, _: first(t[:, None] < t), [TOGETHER, APART], "next time"),
    ("ten branches", lambda t, b: targets_answer(t, b % 10), [TOGETHER, APART]),
    ("float16", lambda t, b: targets_answer(t, b).half(), [SINGLE, TOGETHER, APART], "float16"),
    ("in float32", lambda t, b: targets_answer(t, b).float(), [SINGLE, TOGETHER, APART], "whole numbers"),
    ("indices of float16", lambda t, b: targets_answer(t, b).half().long(), [APART]),
    ("indices of a byte", lambda t, b: targets_answer(t, b).to(torch.int8), [SINGLE, APART]),
    ("branches in int16", lambda t, b: targets_answer(t, b.short()), [APART]),
    ("kept by shape", lambda t, b: KEPT.setdefault(t.shape, targets_answer(t, b)), [TOGETHER, APART]),
    ("as an index", table, [APART]),
    ("not below 0", lambda t, b: targets_answer(t, b.abs()), [APART]),
    ("from 1", lambda t, b: targets_answer(t, b) + 1, [SINGLE, TOGETHER, APART]),
    ("tensors as keys", lambda t, _: torch.full_like(t, -1), [SINGLE, TOGETHER, APART], "tolist"),
]
split = SPLIT_GAP.answer
SPLIT_GAP_MISTAKES = [
    ("against 0", gap(lambda n, a, t, z, _: (a - z, t - z)), [OWN, BOTH], "the same numbers"),
    ("the last number", gap(lambda n, a, t, z, last: (last - z, t - last)), [OWN, BOTH], "not only the last"),
    ("exchanged", gap(lambda n, a, t, z, _: (t - a, a - z)), [OWN, OTHERS, BOTH], "First the numbers"),
    ("sums", gap(lambda n, a, t, z, _: (n * a - n * z, t - n * a)), [OWN, OTHERS, BOTH], "Average"),
    ("pairs", lambda f, n: (split(f, n)[0], (n - 1) * split(f, 2)[1]), [OTHERS, BOTH]),
    ("second", gap(lambda n, a, t, z, _: (0.0, t - z)), [OWN, BOTH], "stands second"),
    ("without 0", gap(lambda n, a, t, z, _: (n / (n - 1) * (a - z), t - a)), [OWN, OTHERS, BOTH]),
    ("added up", gap(lambda n, a, t, z, _: (n * a - z, t - n * a)), [OWN, OTHERS, BOTH], "do not add"),
    ("never below 0", lambda *a: [max(cost, 0.0) for cost in split(*a)], [OWN, OTHERS, BOTH]),
    ("0 for all", lambda loss, n: (0.0, loss((0,) * n)), [OWN, OTHERS, BOTH], "different numbers"),
]
RIGHT = [
    (SEES, masked(lambda q, k: q == k or k[0] < q[0])),
    (SEES, lambda q, k, isolated: k[0] < q[0] + (k[1] == q[1]) and (k[1] == q[1] or not isolated)),
    (SEES, lambda q, k, isolated: q == k or (q[0] > k[0] and (k[1] == q[1]) >= isolated)),
    (TARGETS, lambda t, b: list(targets_answer(t.double(), b.float()).int())),
    (TARGETS, lambda t, b: first((b[:, None] == b) & (t[:, None] < t))),
    (TARGETS, lambda t, b: first((b[:, None] == b) & (t[:, None] + 1 == t)).tolist()),
    (SPLIT_GAP, gap(lambda n, a, t, z, _: (a - z, (t - z) - (a - z)))),
    (SPLIT_GAP, gap(lambda n, a, t, z, _: torch.tensor([a - z, t - a], dtype=torch.float64))),
    (SPLIT_GAP, lambda f, n: [x := fmean(f([b]) - f((0,)) for b in range(n)), f(range(n)) - f((0,)) - x]),
]
MISTAKES = (SEES_MISTAKES, TARGETS_MISTAKES, SPLIT_GAP_MISTAKES)
ALL = zip((SEES, TARGETS, SPLIT_GAP), MISTAKES, strict=True)
MUTANTS = [Mutant(exercise, *mistake) for exercise, mistakes in ALL for mistake in mistakes]
MUTANTS += [Mutant(exercise, f"right {i}", answer, []) for i, (exercise, answer) in enumerate(RIGHT)]
