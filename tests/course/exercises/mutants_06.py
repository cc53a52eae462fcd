"""Mistakes in the exercises of notebook 06."""

import torch

from babygpt_course.exercises.lesson_06 import SEES, SPLIT_GAP, STRIDE_MATTERS, TARGETS, targets_answer
from tests.course.exercises.harness import Mutant, requirements

WITHIN, OPEN, ISOLATED = requirements(SEES)
SINGLE, TOGETHER, APART = requirements(TARGETS)
TAGS, COMPANY, BOTH = requirements(SPLIT_GAP)
LIKE, MIND, DO_NOT = requirements(STRIDE_MATTERS)


def same_moment(q, k, isolated):
    return k[0] <= q[0] and (not isolated or q[1] == k[1])


def never_itself(q, k, isolated):
    return k[0] < q[0] and (not isolated or q[1] == k[1])


def always_alone(q, k, isolated):
    return k[0] <= q[0] and q[1] == k[1]


def never_alone(q, k, isolated):
    return k[0] < q[0] or q == k


def exchanged(q, k, isolated):
    return never_alone(k, q, isolated) and (not isolated or q[1] == k[1])


def earlier_branches(q, k, isolated):
    """A row is read from left to right: what stands further left is seen."""
    return k <= q and (not isolated or q[1] == k[1])


def by_number(time, branch):
    n = int(branch.max()) + 1
    target = torch.arange(len(time)) + n
    return torch.where(target < len(time), target, -1)


def next_in_row(time, branch):
    target = torch.arange(len(time)) + 1
    return torch.where(target < len(time), target, -1)


def next_time(time, branch):
    later = (time[:, None] < time).int()
    return torch.where(later.any(1), later.argmax(1), -1)


def previous(time, branch):
    flipped = targets_answer(time.flip(0), branch.flip(0)).flip(0)
    return torch.where(flipped < 0, -1, len(time) - 1 - flipped)


def itself(time, branch):
    target = targets_answer(time, branch)
    return torch.where(target < 0, torch.arange(len(time)), target)


def tensors_as_keys(time, branch):
    target, latest = torch.full_like(time, -1), {}
    for i, b in enumerate(branch):
        if b in latest:
            target[latest[b]] = i
        latest[b] = i
    return target


def alone(loss, n):
    return sum(loss((tag,)) for tag in range(n)) / n


def against_0(loss, n):
    return alone(loss, n) - loss((0,)), loss(tuple(range(n))) - loss((0,))


def last_tag(loss, n):
    return loss((n - 1,)) - loss((0,)), loss(tuple(range(n))) - loss((n - 1,))


def other_order(loss, n):
    return loss(tuple(range(n))) - alone(loss, n), alone(loss, n) - loss((0,))


def total(loss, n):
    return n * alone(loss, n) - n * loss((0,)), loss(tuple(range(n))) - n * alone(loss, n)


def added_up(loss, n):
    tags = n * alone(loss, n) - loss((0,))
    return tags, loss(tuple(range(n))) - loss((0,)) - tags


def same_tags(loss, n):
    return 0.0, loss((0,) * n) - loss((0,))


def paired(train, seeds, steps=400):
    return [train(1, seed, steps) - train(128, seed, steps) for seed in seeds]


def one_seed(train):
    return paired(train, [0])[0] > 0.03


def three_seeds(train):
    return sum(paired(train, range(3))) / 3 > 0.03


def same_seed_again(train):
    return sum(paired(train, [7] * 20)) / 20 > 0.03


def other_seeds(train):
    near, far = (sum(train(s, seed + s, 400) for seed in range(20)) / 20 for s in (1, 128))
    return near - far > 0.03


def other_steps(train):
    more = [train(1, seed, 200) - train(128, seed, 800) for seed in range(20)]
    return sum(more) / 20 > 0.03


def any_seed(train):
    return any(more > 0 for more in paired(train, range(20)))


def the_other_way(train):
    return sum(paired(train, range(20))) / 20 < -0.03


def two_large_strides(train):
    return sum(train(128, seed, 400) - train(4096, seed, 400) for seed in range(20)) / 20 > 0.03


def not_paid(train):
    return sum(paired(train, range(50))) / 50 > 0.03


MUTANTS = [
    Mutant(SEES, "the same moment", same_moment, [OPEN], "was not there"),
    Mutant(SEES, "not itself", never_itself, [WITHIN], "sees itself"),
    Mutant(SEES, "always isolated", always_alone, [OPEN], "the past of every branch"),
    Mutant(SEES, "never isolated", never_alone, [ISOLATED], "nothing of other branches"),
    Mutant(SEES, "query and key exchanged", exchanged, [WITHIN, OPEN], "later"),
    Mutant(SEES, "left in the row", earlier_branches, [OPEN], "was not there"),
    Mutant(TARGETS, "next in the row", next_in_row, [TOGETHER, APART], "next token of the row"),
    Mutant(TARGETS, "n further", by_number, [APART]),
    Mutant(TARGETS, "next time", next_time, [TOGETHER, APART], "next time"),
    Mutant(TARGETS, "the one before", previous, [SINGLE, TOGETHER, APART]),
    Mutant(TARGETS, "itself at the end", itself, [SINGLE, TOGETHER, APART]),
    Mutant(TARGETS, "tensors as keys", tensors_as_keys, [SINGLE, TOGETHER, APART], "tolist"),
    Mutant(SPLIT_GAP, "against tag 0", against_0, [TAGS, BOTH], "against the same tags"),
    Mutant(SPLIT_GAP, "the last tag", last_tag, [TAGS, BOTH], "not only the last"),
    Mutant(SPLIT_GAP, "exchanged", other_order, [TAGS, COMPANY, BOTH], "First the tags"),
    Mutant(SPLIT_GAP, "sums", total, [TAGS, COMPANY, BOTH], "Average"),
    Mutant(SPLIT_GAP, "added up", added_up, [TAGS, COMPANY, BOTH], "do not add"),
    Mutant(SPLIT_GAP, "tag 0 for all", same_tags, [TAGS, COMPANY, BOTH], "different numbers"),
    Mutant(STRIDE_MATTERS, "one seed", one_seed, [MIND, DO_NOT], "train more seeds"),
    Mutant(STRIDE_MATTERS, "three seeds", three_seeds, [MIND], "3 pairs"),
    Mutant(STRIDE_MATTERS, "one seed, again and again", same_seed_again, [MIND, DO_NOT], "1 pair of runs"),
    Mutant(STRIDE_MATTERS, "other seeds", other_seeds, [LIKE, MIND, DO_NOT], "luckier"),
    Mutant(STRIDE_MATTERS, "other steps", other_steps, [LIKE, DO_NOT], "which of the two"),
    Mutant(STRIDE_MATTERS, "in any seed", any_seed, [DO_NOT], "mean over all pairs"),
    Mutant(STRIDE_MATTERS, "the other way round", the_other_way, [MIND], "0.06 nats more"),
    Mutant(STRIDE_MATTERS, "other strides", two_large_strides, [LIKE, MIND], "at 1 and at 128"),
    Mutant(STRIDE_MATTERS, "too many runs", not_paid, [LIKE, MIND, DO_NOT], "used up"),
]
