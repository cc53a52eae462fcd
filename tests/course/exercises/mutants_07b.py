"""Mistakes in the exercises of notebook 07b, and right answers, which fail nothing."""

import math
from functools import partial

import torch

from babygpt_course.exercises.lesson_07b import CONTROLS, FIXED_PHASE, LOOK_RIGHT, controls_answer
from tests.course.exercises.harness import Mutant, requirements

SINGLE, TWO, MANY = ALL = requirements(CONTROLS)
PHASE, ALPHA = BOTH = requirements(FIXED_PHASE)
FOUR, MIRROR, PEAK = requirements(LOOK_RIGHT)


def gates(q, k, positions, omega, masked, alpha, ahead=45, queries=0, on="k"):
    wave = positions[:, None] * omega
    size = torch.where(masked, alpha, 1.0)[:, None, :, None]

    def waves(x, angle):
        return torch.cat([x * angle.cos(), x * angle.sin()], dim=-1)

    q, k = waves(q, wave + math.radians(queries)), waves(k, wave + math.radians(ahead))
    return (q * size if "q" in on else q), (k * size if "k" in on else k)


def changes(x, y):
    return {setting for setting in x if x[setting] != y[setting]}


def where(rule):
    """Return the answer that names the arms whose differences from `one` and `other` obey a rule."""
    return lambda arms, a, b: {n for n, x in arms.items() if rule(changes(x, arms[a]), changes(x, arms[b]))}


def one_less(arms, base, target):
    least = len(changes(arms[base], arms[target])) - 1
    return [name for name, settings in arms.items() if len(changes(settings, arms[target])) == least]


KEPT = {}  # shape and frequencies -> the positions of the first call


def remembered(q, k, positions, omega, *rest):
    return gates(q, k, KEPT.setdefault((q.shape, *omega.tolist()), positions), omega, *rest)


ANSWERS = [
    (CONTROLS, "no setting wrong", where(lambda new, rest: len(new) == 1 and not new & rest), []),
    (CONTROLS, "a set", lambda *inputs: set(controls_answer(*inputs)), []),
    (CONTROLS, "a dict's keys", lambda *inputs: dict.fromkeys(controls_answer(*inputs)).keys(), []),
    (CONTROLS, "d − 1 from `other`", one_less, [TWO, MANY], "should be one setting"),
    (CONTROLS, "twice", lambda *inputs: tuple(controls_answer(*inputs)[::-1] * 2), []),
    (CONTROLS, "any setting", where(lambda new, rest: len(new) == 1), ALL, "to the value in"),
    (CONTROLS, "several", where(lambda new, rest: new and not new & rest), [TWO, MANY], "one setting"),
    (CONTROLS, "unchanged", where(lambda new, rest: len(new) < 2 and not new & rest), ALL, "nothing"),
    (CONTROLS, "from `other`", where(lambda new, rest: len(rest) == 1 and not new & rest), [SINGLE, MANY]),
    (CONTROLS, "only `other`", lambda arms, base, target: [target], ALL, "you leave out"),
    (CONTROLS, "the first alone", lambda *inputs: controls_answer(*inputs)[:1], ALL, "no more"),
    (FIXED_PHASE, "behind", partial(gates, ahead=-45), BOTH, "*larger*"),
    (FIXED_PHASE, "both ahead", partial(gates, queries=45), BOTH, "phases are missing"),
    (FIXED_PHASE, "no α", partial(gates, on=""), [ALPHA], "Where is α"),
    (FIXED_PHASE, "α on queries", partial(gates, on="q"), [ALPHA], "flattens"),
    (FIXED_PHASE, "α on both", partial(gates, on="qk"), [ALPHA], "twice"),
    (FIXED_PHASE, "45 radians", partial(gates, ahead=math.degrees(45)), BOTH, "radians"),
    (FIXED_PHASE, "never below 0", lambda q, k, p, *rest: gates(q, k, p.abs(), *rest), BOTH),
    (FIXED_PHASE, "float16", lambda q, k, p, *rest: gates(q, k, p.half().float(), *rest), BOTH, "2051"),
    (FIXED_PHASE, "half", lambda q, k, *a: gates(q.half().float(), k.half().float(), *a), BOTH),
    (FIXED_PHASE, "complex", lambda *a: [x + 1j for x in gates(*a)], BOTH, "complex"),
    (FIXED_PHASE, "π is 3.14", partial(gates, ahead=math.degrees(0.785)), BOTH),
    (FIXED_PHASE, "the first text's α", lambda *a: gates(*a[:4], a[4][:1].expand_as(a[4]), a[5]), [ALPHA]),
    (FIXED_PHASE, "waves kept", remembered, BOTH),
    (FIXED_PHASE, "α up to 1", lambda *a: gates(*a[:5], min(a[5], 1.0)), [ALPHA], "Where is α"),
    (FIXED_PHASE, "α from 0 on", lambda *a: gates(*a[:5], max(a[5], 0.0)), [ALPHA]),
    (FIXED_PHASE, "queries behind", partial(gates, ahead=0, queries=-45), []),
    (FIXED_PHASE, "half of it each", partial(gates, ahead=22.5, queries=-22.5), []),
    (FIXED_PHASE, "backwards", lambda *a: [x.flip(-1) for x in gates(*a)], []),
    (LOOK_RIGHT, "to the left", [2.0, 1.0, 0.5, 0.25], [MIRROR, PEAK], "Mind the sign"),
    (LOOK_RIGHT, "one phase", [-2.0] * 4, [PEAK], "highest score"),
    (LOOK_RIGHT, "45 degrees", [math.pi / 4] * 4, [MIRROR, PEAK]),
    (LOOK_RIGHT, "nan", [-2.0, -1.0, -0.5, math.nan], [FOUR, MIRROR, PEAK], "4 finite"),
    (LOOK_RIGHT, "one too few", [-2.0, -1.0, -0.5], [FOUR, MIRROR, PEAK], "4 finite"),
    (LOOK_RIGHT, "whole turns", [-2.0 + 2 * math.pi, -1.0, -0.5 - 2 * math.pi, -0.25], []),
    (LOOK_RIGHT, "a bit beside", [-2.05, -0.95, -0.55, -0.2], []),
    (LOOK_RIGHT, "slow ones free", [-2.0, -1.0, -0.7, -0.4], []),
]
MUTANTS = [Mutant(*answer) for answer in ANSWERS]
