"""Mistakes in the exercises of notebook 04a, and right answers that must pass."""

from functools import partial

import numpy as np
import torch

from babygpt_course.exercises.lesson_04a import HALF_SPLIT, LAYOUTS
from tests.course.exercises.harness import Mutant, requirements

LENGTHS, ZERO, TURNS = requirements(HALF_SPLIT)
ONE, SEVERAL, FEWER = ROWS = requirements(LAYOUTS)


def split(x, positions, theta, sign=1, pairs=False, exponent=2.0):
    D = x.shape[-1]
    angle = positions[:, None] * theta ** (-exponent * torch.arange(D // 2) / D)
    a, b = (x[..., ::2], x[..., 1::2]) if pairs else (x[..., : D // 2], x[..., D // 2 :])
    cos, sin = angle.cos(), sign * angle.sin()
    both = a * cos - b * sin, a * sin + b * cos
    return torch.stack(both, -1).flatten(-2) if pairs else torch.cat(both, -1)


def mixed(x, positions, theta, halves=False):
    """Mix two layouts: neighbours with the angles of halves, as in note 001, or the other way round."""
    D = x.shape[-1]
    angle = positions[:, None] * theta ** (-2 * torch.arange(D // 2) / D)
    angle = angle.repeat_interleave(2, dim=1) if halves else angle.repeat(1, 2)
    neighbours = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    partner = torch.cat((-x[..., D // 2 :], x[..., : D // 2]), -1) if halves else neighbours
    return x * angle.cos() + partner * angle.sin()


def with_numpy(x, positions, theta):
    angle = positions.numpy()[:, None] * theta ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    pairs = torch.complex(*x.double().chunk(2, -1)).numpy() * np.exp(1j * angle)
    return np.concatenate([pairs.real, pairs.imag], axis=-1)


def reorder(weight, D, order, heads=slice(None)):
    """Put the rows of some heads into another order."""
    blocks = weight.clone().unflatten(0, (-1, D))
    blocks[heads] = blocks[heads][:, order(torch.arange(D))]
    return blocks.flatten(0, 1)


def interleave(channels):
    return channels.view(2, -1).T.flatten()


def permuted(weight, D):
    return reorder(torch.eye(len(weight)), D, interleave)


def loop(weight, D):
    rows = [h + i + half for h in range(0, len(weight), D) for i in range(D // 2) for half in (0, D // 2)]
    return [weight[row] for row in rows]


KEPT = {}  # shape and theta -> the positions of the first call
RIGHT = (
    (HALF_SPLIT, split, with_numpy, lambda x, p, t: split(x.double(), p.double(), t).tolist()),
    (LAYOUTS, partial(reorder, order=interleave), loop, lambda w, D: torch.stack(loop(w, D)).numpy()),
)
MUTANTS = [
    *(
        Mutant(exercise, f"no mistake {i}", right, [])
        for exercise, *answers in RIGHT
        for i, right in enumerate(answers)
    ),
    Mutant(LAYOUTS, "right, a permutation", lambda w, D: permuted(w, D) @ w, []),
    Mutant(LAYOUTS, "complex", lambda w, D: reorder(w, D, interleave) + 1j, ROWS, "complex"),
    Mutant(LAYOUTS, "kept by shape", lambda w, D: reorder(KEPT.setdefault(w.shape, w), D, interleave), ROWS),
    Mutant(HALF_SPLIT, "x in float16", lambda x, *a: split(x.half().float(), *a), [LENGTHS, ZERO, TURNS]),
    Mutant(LAYOUTS, "negated", lambda w, D: -reorder(w, D, interleave), ROWS, "not their numbers"),
    Mutant(
        HALF_SPLIT,
        "64 rows",
        lambda x, p, t: torch.cat((split(x, p, t)[:, :, :64], x[:, :, 64:]), 2),
        [TURNS],
    ),
    Mutant(LAYOUTS, "as it was", lambda w, D: w.clone(), ROWS, "as they were"),
    Mutant(LAYOUTS, "back", partial(reorder, order=lambda d: interleave(d).argsort()), ROWS, "to halves"),
    Mutant(LAYOUTS, "all rows", lambda w, D: w[interleave(torch.arange(len(w)))], [SEVERAL, FEWER], "own"),
    Mutant(LAYOUTS, "one head", partial(reorder, order=interleave, heads=[0]), [SEVERAL, FEWER], "Only"),
    Mutant(LAYOUTS, "columns", lambda w, D: torch.stack(loop(w.T, D)).T, ROWS, "You ordered columns"),
    Mutant(LAYOUTS, "reversed", partial(reorder, order=lambda d: d.flip(0)), ROWS),
    Mutant(HALF_SPLIT, "neighbours", partial(split, pairs=True), [TURNS], "rotated neighbours"),
    Mutant(HALF_SPLIT, "never below 0", lambda x, p, t: split(x, p.abs(), t), [TURNS], "Negative positions"),
    Mutant(HALF_SPLIT, "a table of 1000", lambda x, p, t: split(x, p.clamp(-1000, 1000), t), [TURNS]),
    Mutant(HALF_SPLIT, "float16", lambda x, p, t: split(x, p.half().float(), t), [TURNS], "-3001"),
    Mutant(HALF_SPLIT, "angles kept", lambda x, p, t: split(x, KEPT.setdefault((x.shape, t), p), t), [TURNS]),
    Mutant(HALF_SPLIT, "exponent −i/D", partial(split, exponent=1.0), [TURNS]),
    Mutant(HALF_SPLIT, "the other way", partial(split, sign=-1), [TURNS], "opposite direction"),
    Mutant(HALF_SPLIT, "as in note 001", mixed, [LENGTHS, TURNS], "took the partners of the other layout"),
    Mutant(
        HALF_SPLIT, "mixed", partial(mixed, halves=True), [LENGTHS, TURNS], "took the angles of the other"
    ),
]
