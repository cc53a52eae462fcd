"""Mistakes in the exercises of notebook 07b."""

import math
from functools import partial

import torch

from babygpt_course.exercises.lesson_07b import FIXED_PHASE, LOOK_RIGHT, PARTS
from tests.course.exercises.harness import Mutant, requirements

SUM, DISTANCE, PLACES = requirements(PARTS)
PHASE, ALPHA = requirements(FIXED_PHASE)
FOUR, MIRROR, PEAK = requirements(LOOK_RIGHT)


def gates(q, k, positions, omega, masked, alpha, ahead=45, both=False, on="k"):
    wave = positions[:, None] * omega
    phase = math.radians(ahead)
    size = torch.where(masked, alpha, 1.0)[:, None, :, None]

    def waves(x, angle):
        return torch.cat([x * angle.cos(), x * angle.sin()], dim=-1)

    q, k = waves(q, wave + (phase if both else 0)), waves(k, wave + phase)
    return (q * size if "q" in on else q), (k * size if "k" in on else k)


PARTS_MISTAKES = [
    ("not halved", lambda i, j, w: (math.cos((i - j) * w), math.cos((i + j) * w)), [SUM], "Half"),
    ("exchanged", lambda i, j, w: (math.cos((i + j) * w) / 2, math.cos((i - j) * w) / 2), [DISTANCE, PLACES]),
    ("all in the second", lambda i, j, w: (0.0, math.cos(i * w) * math.cos(j * w)), [PLACES]),
]
FIXED_PHASE_MISTAKES = [
    ("behind", partial(gates, ahead=-45), [PHASE, ALPHA], "*larger*"),
    ("both ahead", partial(gates, both=True), [PHASE, ALPHA], "phases are missing"),
    ("no α", partial(gates, on=""), [ALPHA], "Where is α"),
    ("α on queries", partial(gates, on="q"), [ALPHA], "flattens"),
    ("α on both", partial(gates, on="qk"), [ALPHA], "twice"),
    ("45 radians", partial(gates, ahead=math.degrees(45)), [PHASE, ALPHA], "radians"),
    ("never below 0", lambda q, k, p, *rest: gates(q, k, p.abs(), *rest), [PHASE, ALPHA]),
    ("α up to 1", lambda *a: gates(*a[:5], min(a[5], 1.0)), [ALPHA], "Where is α"),
    ("α from 0 on", lambda *a: gates(*a[:5], max(a[5], 0.0)), [ALPHA]),
]
LOOK_RIGHT_MISTAKES = [
    ("to the left", [2.0, 1.0, 0.5, 0.25], [MIRROR, PEAK], "Mind the sign"),
    ("one phase", [-2.0] * 4, [PEAK], "highest score"),
    ("45 degrees", [math.pi / 4] * 4, [MIRROR, PEAK]),
    ("one too few", [-2.0, -1.0, -0.5], [FOUR, MIRROR, PEAK], "4 finite"),
]
MUTANTS = [
    *(Mutant(PARTS, *mistake) for mistake in PARTS_MISTAKES),
    *(Mutant(FIXED_PHASE, *mistake) for mistake in FIXED_PHASE_MISTAKES),
    *(Mutant(LOOK_RIGHT, *mistake) for mistake in LOOK_RIGHT_MISTAKES),
]
