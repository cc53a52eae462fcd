"""Mistakes in the exercises of notebook 11, and right answers, which fail nothing."""

import math
import random
from functools import partial
from itertools import product
from statistics import fmean, median, pstdev

import numpy as np
import torch
from torch.nn.functional import pad

from babygpt_course.exercises.lesson_11 import INDUCTION, POSITIONS, STANDS_OUT, TURNING
from tests.course.exercises.harness import Mutant, requirements

TWICE, OFTEN, BESIDE = TEXTS = requirements(INDUCTION)
NEEDED, USUAL, OTHERS = BOXES = requirements(STANDS_OUT)
WHOLE, LATER, PARTS, EMPTY = CACHES = requirements(POSITIONS)
ONCE, SHARE, ENDS = PAIRS = requirements(TURNING)


def induction(weights, idx, to=1, first=0, least=2, present=False, mean=np.mean, over="found"):
    """Find heads token by token; `first` and `least` choose among earlier occurrences, and who counts."""
    means = []
    for m in range(len(idx)):
        earlier = [n for n in range(m + present - (to == 1)) if idx[n] == idx[m] and n < m][first:]
        shares = [weights[..., m, n + to] for n in earlier if n + to >= 0]
        if earlier or over == "all" or (over == "recurs" and idx[m] in idx[:m]):
            means.append(mean([each.numpy() for each in shares] or [np.zeros(weights.shape[:2])], axis=0))
    return np.mean(means, axis=0)


added = partial(induction, mean=np.sum)


def of_pairs(weights, idx):
    follower = pad((idx[:, None] == idx)[:, :-1], (1, 0)).tril(-1)
    return (weights * follower).sum(dim=(-2, -1)) / follower.sum()


def period(weights, idx):
    """Look half a text back, as in a text that is repeated once."""
    T = len(idx) // 2
    return weights.diagonal(1 - T, -2, -1)[..., 1:].mean(dim=-1)


def stands_out(
    loss, n_layer, n_head, head, draws=30, own=False, layer=False, usual=median, ratio=5, least=0.1
):
    """Compare with the usual cost of drawn controls."""
    heads = [(head[0], i) for i in range(n_head)] if layer else list(product(range(n_layer), range(n_head)))
    controls = [pair for pair in heads if own or pair != head]
    whole = loss([])
    costs = [loss([pair]) - whole for pair in random.sample(controls, min(draws, len(controls)))]
    return loss([head]) - whole > max(ratio * usual(costs), least)


def all_others(loss, n_layer, n_head, head):
    costs = np.array([[loss({(a, b)}) for b in range(n_head)] for a in range(n_layer)]) - loss([])
    return np.bool_(costs[head] > max(4 * np.median(np.delete(costs, head[0] * n_head + head[1])), 0.06))


def ratio_of_losses(loss, n_layer, n_head, head):
    others = [pair for pair in product(range(n_layer), range(n_head)) if pair != head]
    return loss([head]) > 1.3 * median(loss([pair]) for pair in others)


def sample(loss, n_layer, n_head, head):
    """Draw more controls than there are in a small model."""
    random.sample([pair for pair in product(range(n_layer), range(n_head)) if pair != head], 20)


def some_layers(*layers, first=None):
    """Draw controls among some layers only, or among the first heads."""

    def answer(loss, n_layer, n_head, head):
        heads = [h for h in product(range(n_layer), range(n_head)) if h != head]
        controls = [h for h in heads if h[0] in {n % n_layer for n in layers}][:first] or heads[:first]
        whole = loss([])
        usual = median(loss([h]) - whole for h in random.sample(controls, min(20, len(controls))))
        return loss([head]) - whole > max(5 * usual, 0.1)

    return answer


def far_from_mean(costs):
    return (fmean(costs) + 3 * pstdev(costs)) / 5


def turning(D, theta, length, share, off=1, power=-2.0, circle=2 * math.pi, channels=1):
    angles = (length - off) * theta ** (power * np.arange(D // 2) / D)
    return channels * int((angles >= share * circle).sum())


def solved_for_i(D, theta, length, share, clamp=True):
    last = math.floor(D / 2 * math.log((length - 1) / (2 * math.pi * share)) / math.log(theta))
    return min(max(last + 1, 0), D // 2) if clamp else last + 1


INDUCTION_MISTAKES = [
    ("the equal token", partial(added, to=0), TEXTS, "the equal token itself"),
    ("one before it", partial(added, to=-1), TEXTS, "the token before the equal one"),
    ("the last one only", partial(added, first=-1), [OFTEN, BESIDE], "not only the last one"),
    ("a mean over occurrences", induction, [OFTEN, BESIDE], "do not take their mean"),
    ("over all tokens", partial(added, over="all"), TEXTS, "not over all tokens"),
    ("over pairs", of_pairs, [OFTEN, BESIDE], "not over pairs"),
    ("transposed", lambda w, idx: added(w.mT, idx), TEXTS, "above the diagonal"),
    ("the present token", partial(added, present=True), [BESIDE], "The present token is no follower"),
    ("neighbours count", partial(added, over="recurs"), [BESIDE], "Leave a token out"),
    ("a period", period, TEXTS, "The followers for token"),
    ("one number", lambda *inputs: float(added(*inputs).mean()), TEXTS, "should be shape (1, 1)"),
    ("neighbours' ids", lambda w, idx: added(w, idx // 2), TEXTS),
    ("ids in float16", lambda w, idx: added(w, idx.half()), TEXTS),
    ("ids in a byte", lambda w, idx: added(w, idx.to(torch.uint8)), TEXTS),
    ("ids in int16", lambda w, idx: added(w, idx % 256), TEXTS),
    ("right, in loops", added, []),
]
STANDS_OUT_MISTAKES = [
    ("no control", partial(stands_out, usual=lambda _: 0), [USUAL, OTHERS], "with the whole model alone"),
    ("a high limit", partial(stands_out, usual=lambda _: 0, least=3), [NEEDED, OTHERS], "Is your limit too"),
    ("one control", partial(stands_out, draws=1), [OTHERS], "take the median"),
    ("the mean", partial(stands_out, usual=fmean), [OTHERS], "take the median"),
    ("the costliest control", partial(stands_out, usual=max), [OTHERS], "take the median"),
    ("three deviations", partial(stands_out, usual=far_from_mean), [USUAL, OTHERS], "take the median"),
    ("more than others", partial(stands_out, ratio=1, least=0), [USUAL, OTHERS], "That is noise"),
    ("noise", partial(stands_out, least=0), [USUAL, OTHERS], "That is noise"),
    ("itself a control", partial(stands_out, own=True), [NEEDED], "among its own controls"),
    ("its own layer", partial(stands_out, layer=True), [OTHERS], "from all layers"),
    ("losses", ratio_of_losses, [NEEDED, OTHERS], "Compare costs, not losses"),
    ("a large loss", lambda loss, a, b, head: loss([head]) > 5, BOXES, "Compare costs, not losses"),
    ("too many", sample, BOXES, "ValueError"),
    ("always needed", lambda *_: True, [USUAL, OTHERS]),
    ("never needed", lambda *_: False, [NEEDED, OTHERS]),
    ("a head for a list", lambda loss, a, b, head: loss(head) > 5, BOXES, "a list of heads of this model"),
    ("the first layer", some_layers(0), [OTHERS], "from all layers"),
    ("the last layer", some_layers(-1), [OTHERS], "from all layers"),
    ("the first six heads", some_layers(*range(30), first=6), [OTHERS], "from all layers"),
    ("at least 0.6", partial(stands_out, least=0.6), [OTHERS], "promises 0.3"),
    ("1.5 times", partial(stands_out, ratio=1.5), [OTHERS], "twice the median"),
    ("at least 0.01", partial(stands_out, least=0.01), [USUAL, OTHERS], "That is noise"),
    ("right, 30 controls", stands_out, []),
    ("right, all others", all_others, []),
]
POSITIONS_MISTAKES = [
    ("a count", lambda h, n: len(h) + torch.arange(n), [LATER, PARTS], "You counted the tokens"),
    ("from 0", lambda h, n: torch.arange(n), [WHOLE, LATER, PARTS], "at 0 again"),
    (
        "off by one",
        lambda h, n: [*h, 0][-1 - (len(h) > 0)] + torch.arange(n),
        [WHOLE, LATER, PARTS],
        "is taken",
    ),
    ("too late", lambda h, n: max([*h, 0]) + 1 + torch.arange(n), [EMPTY], "left one position out"),
    (
        "first and count",
        lambda h, n: min([*h, 10**9]) % 10**9 + len(h) + torch.arange(n),
        [PARTS],
        "no distance",
    ),
    ("not empty", lambda h, n: h[-1] + 1 + torch.arange(n), [EMPTY], "IndexError"),
    ("all at one", lambda h, n: torch.full((n,), max([*h, -1]) + 1), CACHES, "of its own"),
    ("float16", lambda h, n: POSITIONS.answer(h, n).half(), CACHES, "type torch.float16; should be float32"),
    ("the last gap", lambda h, n: h[-1] + (h[-1] - h[-2]) * torch.arange(1, n + 1), CACHES),
    ("in float32", lambda h, n: POSITIONS.answer(h, n).float(), CACHES, "whole numbers"),
    ("2048 at most", lambda h, n: POSITIONS.answer(h, n) % 2048, [LATER, PARTS]),
    ("right, in int32", lambda h, n: POSITIONS.answer(h, n).numpy().astype(np.int32), []),
    ("right, in a list", lambda h, n: [max(h.tolist(), default=-1) + i for i in range(1, n + 1)], []),
]
TURNING_MISTAKES = [
    ("radians", partial(turning, circle=1), PAIRS, "2π radians"),
    ("one step too many", partial(turning, off=0), [SHARE], "length − 1 steps"),
    ("−i/D", partial(turning, power=-1), [ONCE, SHARE], "not −i/D"),
    ("−4i/D", partial(turning, power=-4), PAIRS, "not of pairs"),
    ("theta inverted", partial(turning, power=2), PAIRS, "is negative"),
    ("channels", partial(turning, channels=2), PAIRS, "You counted channels"),
    ("one step", lambda D, theta, length, share: turning(D, theta, 2, share), PAIRS, "turn of one step"),
    ("those that turn less", lambda D, *a: D // 2 - turning(D, *a), PAIRS, "In circles, pair"),
    ("more pairs than there are", partial(solved_for_i, clamp=False), [ENDS]),
    ("right, solved for i", solved_for_i, []),
]
MUTANTS = [
    *(Mutant(INDUCTION, *mistake) for mistake in INDUCTION_MISTAKES),
    *(Mutant(STANDS_OUT, *mistake) for mistake in STANDS_OUT_MISTAKES),
    *(Mutant(POSITIONS, *mistake) for mistake in POSITIONS_MISTAKES),
    *(Mutant(TURNING, *mistake) for mistake in TURNING_MISTAKES),
]
