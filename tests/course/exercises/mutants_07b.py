"""Mistakes in the exercises of notebook 07b."""

import math

import torch

from babygpt_course.exercises.lesson_07b import FIXED_PHASE, LOOK_RIGHT, PARTS
from tests.course.exercises.harness import Mutant, requirements

SUM, DISTANCE, PLACES = requirements(PARTS)
PHASE, ALPHA = requirements(FIXED_PHASE)
FOUR, MIRROR, PEAK = requirements(LOOK_RIGHT)


def gates(q, k, positions, omega, masked, alpha, ahead=45, both=False, on="k", turn=False):
    wave = positions[:, None] * omega
    phase = math.radians(ahead)
    size = torch.where(masked, alpha, 1.0)[:, None, :, None]

    def waves(x, angle):
        return torch.cat([x * angle.cos(), x * angle.sin()], dim=-1)

    q, k = waves(q, wave + (phase if both else 0)), waves(k, wave + phase)
    return (q * size if "q" in on else q), (k * size if "k" in on else k)


def with_(**how):
    return lambda *given: gates(*given, **how)


def stacked(q, k, positions, omega, masked, alpha):
    """Queries have their halves side by side, keys have them in turns."""
    q, k = gates(q, k, positions, omega, masked, alpha)
    return q, k.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)


MUTANTS = [
    Mutant(
        PARTS, "not halved", lambda i, j, w: (math.cos((i - j) * w), math.cos((i + j) * w)), [SUM], "Half"
    ),
    Mutant(
        PARTS,
        "exchanged",
        lambda i, j, w: (math.cos((i + j) * w) / 2, math.cos((i - j) * w) / 2),
        [DISTANCE, PLACES],
    ),
    Mutant(
        PARTS,
        "sines",
        lambda i, j, w: (
            math.cos(i * w) * math.cos(j * w) + math.sin(i * w) * math.sin(j * w),
            -math.sin(i * w) * math.sin(j * w),
        ),
        [PLACES],
    ),
    Mutant(PARTS, "all in the second", lambda i, j, w: (0.0, math.cos(i * w) * math.cos(j * w)), [PLACES]),
    Mutant(PARTS, "minus", lambda i, j, w: (math.cos((i - j) * w) / 2, -math.cos((i + j) * w) / 2), [SUM]),
    Mutant(FIXED_PHASE, "behind", with_(ahead=-45), [PHASE, ALPHA], "*larger*"),
    Mutant(FIXED_PHASE, "both ahead", with_(both=True), [PHASE, ALPHA], "phases are missing"),
    Mutant(FIXED_PHASE, "no α", with_(on=""), [ALPHA], "Where is α"),
    Mutant(FIXED_PHASE, "α on queries", with_(on="q"), [ALPHA], "flattens"),
    Mutant(FIXED_PHASE, "α on both", with_(on="qk"), [ALPHA], "twice"),
    Mutant(FIXED_PHASE, "90 degrees", with_(ahead=90), [PHASE, ALPHA]),
    Mutant(FIXED_PHASE, "45 radians", with_(ahead=math.degrees(45)), [PHASE, ALPHA], "radians"),
    Mutant(FIXED_PHASE, "channels in another order", stacked, [PHASE, ALPHA]),
    Mutant(LOOK_RIGHT, "to the left", [2.0, 1.0, 0.5, 0.25], [MIRROR, PEAK], "Mind the sign"),
    Mutant(LOOK_RIGHT, "one phase", [-2.0] * 4, [PEAK], "highest score"),
    Mutant(LOOK_RIGHT, "45 degrees", [math.pi / 4] * 4, [MIRROR, PEAK]),
    Mutant(LOOK_RIGHT, "times θ", [-2.0, -4.0, -8.0, -16.0], [PEAK]),
    Mutant(LOOK_RIGHT, "one too few", [-2.0, -1.0, -0.5], [FOUR, MIRROR, PEAK], "4 finite"),
]
