"""Mistakes in the exercises of notebook 06."""

from statistics import fmean

import torch

from babygpt_course.exercises.lesson_06 import SEES, SPLIT_GAP, STRIDE_MATTERS, TARGETS, targets_answer
from tests.course.exercises.harness import Mutant, requirements

WITHIN, OPEN, ISOLATED = requirements(SEES)
SINGLE, TOGETHER, APART = requirements(TARGETS)
TAGS, COMPANY, BOTH = requirements(SPLIT_GAP)
LIKE, MIND, DO_NOT = requirements(STRIDE_MATTERS)


def masked(rule):
    """Return the answer that isolates branches rightly, and else follows a rule for query and key."""
    return lambda q, k, isolated: rule(q, k) and (not isolated or q[1] == k[1])


def further(time, step):
    target = torch.arange(len(time)) + step
    return torch.where(target < len(time), target, -1)


def next_time(time, branch):
    later = (time[:, None] < time).int()
    return torch.where(later.any(1), later.argmax(1), -1)


def tensors_as_keys(time, branch):
    target, latest = torch.full_like(time, -1), {}
    for i, b in enumerate(branch):
        if b in latest:
            target[latest[b]] = i
        latest[b] = i
    return target


def gap(split):
    """Return the answer that splits the gap by the losses alone, together, under tag 0 and the last one."""

    def answer(loss, n):
        alone = fmean(loss((tag,)) for tag in range(n))
        return split(n, alone, loss(tuple(range(n))), loss((0,)), loss((n - 1,)))

    return answer


def trained(decide, seeds=range(20), steps=(400, 400), strides=(1, 128), other=0):
    """Return the answer that trains pairs of runs and decides by their differences."""

    def answer(train):
        runs = [[(strides[i], seed + i * other, steps[i]) for i in (0, 1)] for seed in seeds]
        return decide([train(*one) - train(*two) for one, two in runs])

    return answer


def above(more):
    return fmean(more) > 0.03


SEES_MISTAKES = [
    ("the same moment", masked(lambda q, k: k[0] <= q[0]), [OPEN], "was not there"),
    ("not itself", masked(lambda q, k: k[0] < q[0]), [WITHIN], "sees itself"),
    ("always isolated", lambda q, k, _: k[0] <= q[0] and q[1] == k[1], [OPEN], "the past of every branch"),
    ("never isolated", lambda q, k, _: k[0] < q[0] or q == k, [ISOLATED], "nothing of other branches"),
    ("query and key exchanged", masked(lambda q, k: q[0] < k[0] or q == k), [WITHIN, OPEN], "later"),
    ("64 back at most", masked(lambda q, k: SEES.answer(q, k, False) and q[0] - k[0] < 64), [WITHIN, OPEN]),
    ("ten branches", masked(lambda q, k: k[0] * 10 + k[1] < q[0] * 10 + q[1] or k == q), [OPEN]),
]
TARGETS_MISTAKES = [
    ("next in the row", lambda t, _: further(t, 1), [TOGETHER, APART], "next token of the row"),
    ("next time", next_time, [TOGETHER, APART], "next time"),
    ("ten branches", lambda t, b: targets_answer(t, b % 10), [TOGETHER, APART]),
    ("from 1", lambda t, b: targets_answer(t, b) + 1, [SINGLE, TOGETHER, APART]),
    ("tensors as keys", tensors_as_keys, [SINGLE, TOGETHER, APART], "tolist"),
]
split = SPLIT_GAP.answer
SPLIT_GAP_MISTAKES = [
    ("against tag 0", gap(lambda n, a, t, z, _: (a - z, t - z)), [TAGS, BOTH], "against the same tags"),
    ("the last tag", gap(lambda n, a, t, z, last: (last - z, t - last)), [TAGS, BOTH], "not only the last"),
    ("exchanged", gap(lambda n, a, t, z, _: (t - a, a - z)), [TAGS, COMPANY, BOTH], "First the tags"),
    ("sums", gap(lambda n, a, t, z, _: (n * a - n * z, t - n * a)), [TAGS, COMPANY, BOTH], "Average"),
    ("pairs", lambda f, n: (split(f, n)[0], (n - 1) * split(f, 2)[1]), [COMPANY, BOTH]),
    ("added up", gap(lambda n, a, t, z, _: (n * a - z, t - n * a)), [TAGS, COMPANY, BOTH], "do not add"),
    ("tag 0 for all", lambda loss, n: (0.0, loss((0,) * n)), [TAGS, COMPANY, BOTH], "different numbers"),
]
STRIDE_MATTERS_MISTAKES = [
    ("one seed", trained(above, [0]), [MIND, DO_NOT], "train more seeds"),
    ("three seeds", trained(above, range(3)), [MIND], "3 pairs"),
    ("one seed, again and again", trained(above, [7] * 20), [MIND, DO_NOT], "1 pair of runs"),
    ("other seeds", trained(above, other=127), [LIKE, MIND, DO_NOT], "luckier"),
    ("other steps", trained(above, steps=(200, 800)), [LIKE, DO_NOT], "which of the two"),
    ("in any seed", trained(lambda more: max(more) > 0), [DO_NOT], "mean over all pairs"),
    ("the other way round", trained(lambda more: fmean(more) < -0.03), [MIND], "0.06 nats more"),
    ("one by one", lambda t: all(trained(min, [s])(t) > 0 for s in range(15)), [MIND], "It stopped after"),
    ("other strides", trained(above, strides=(128, 4096)), [LIKE, MIND], "at 1 and at 128"),
    ("too many runs", trained(above, range(50)), [LIKE, MIND, DO_NOT], "used up"),
]
MUTANTS = [
    *(Mutant(SEES, *mistake) for mistake in SEES_MISTAKES),
    *(Mutant(TARGETS, *mistake) for mistake in TARGETS_MISTAKES),
    *(Mutant(SPLIT_GAP, *mistake) for mistake in SPLIT_GAP_MISTAKES),
    *(Mutant(STRIDE_MATTERS, *mistake) for mistake in STRIDE_MATTERS_MISTAKES),
]
