"""Mistakes in the exercises of notebook 04."""

import torch

from babygpt.exercises.rope import HALF_SPLIT
from tests.exercises.harness import Mutant

LENGTHS, ZERO, TURNS = (check.asked for check in HALF_SPLIT.checks)


def split(x, positions, theta, sign=1, pairs=False, exponent=2.0, mixed=False):
    D = x.shape[-1]
    angle = positions[:, None] * theta ** (-exponent * torch.arange(D // 2) / D)
    a, b = (x[..., ::2], x[..., 1::2]) if pairs else (x[..., : D // 2], x[..., D // 2 :])
    cos, sin = angle.cos(), sign * angle.sin()
    both = a * cos - b * sin, a * sin + b * cos
    return torch.stack(both, -1).flatten(-2) if pairs or mixed else torch.cat(both, -1)


def note_001(x, positions, theta=10_000.0):
    """Neighbours are swapped, halves share an angle: two layouts at once."""
    D = x.shape[-1]
    angle = positions[:, None] * theta ** (-2 * torch.arange(D // 2) / D)
    angle = torch.cat([angle, angle], -1)
    partner = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    return x * angle.cos() + partner * angle.sin()


MUTANTS = [
    Mutant(HALF_SPLIT, "neighbours", lambda x, p, t=1e4: split(x, p, t, pairs=True), [TURNS]),
    Mutant(HALF_SPLIT, "the other way round", lambda x, p, t=1e4: split(x, p, t, sign=-1), [TURNS]),
    Mutant(HALF_SPLIT, "exponent −i/D", lambda x, p, t=1e4: split(x, p, t, exponent=1.0), [TURNS]),
    Mutant(HALF_SPLIT, "theta forgotten", lambda x, p, t=1e4: split(x, p, 1e4), [TURNS]),
    Mutant(
        HALF_SPLIT,
        "put back in the other layout",
        lambda x, p, t=1e4: split(x, p, t, mixed=True),
        [ZERO, TURNS],
    ),
    Mutant(HALF_SPLIT, "two layouts mixed", note_001, [LENGTHS, TURNS], "A rotation keeps them"),
    Mutant(
        HALF_SPLIT,
        "places counted, not read",
        lambda x, p, t=1e4: split(x, torch.arange(len(p)), t),
        [ZERO, TURNS],
    ),
]
