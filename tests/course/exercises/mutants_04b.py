"""Mistakes in the exercises of notebook 04b, and right answers that must pass."""

import random
from functools import partial

import numpy as np

from babygpt import metrics
from babygpt_course.exercises.lesson_04b import ABLATION
from tests.course.exercises.harness import Mutant, requirements

ITSELF, LAYER, DRAWN = EFFECTS = requirements(ABLATION)


def fewer(missing):
    """Return a draw that never takes the last controls, if more than one are left."""
    return lambda n: random.randrange(1, max(2, n - missing))


def effect(model, score, layer, head, shift=lambda n: random.randrange(1, n), sign=1, mean=False, down=0):
    n, without = model.config.n_head, metrics.ablate_heads(model, score)
    others = without[layer - down]
    control = np.delete(others, head).mean() if mean else others[(head + shift(n)) % n]
    return sign * float(control - without[layer, head])


def alone(model, score, layer, head):
    return metrics.ablate_heads(model, score)[layer, head]


RIGHT = ((ABLATION, effect, partial(effect, mean=True), lambda *a: np.float64(effect(*a))),)
MUTANTS = [
    *(
        Mutant(exercise, f"no mistake {i}", right, [])
        for exercise, *answers in RIGHT
        for i, right in enumerate(answers)
    ),
    Mutant(ABLATION, "all but the last", lambda *a: effect(*a, shift=fewer(1)), [DRAWN], "drew 2 of 3"),
    Mutant(
        ABLATION, "no control", lambda m, s, *head: s(m) - alone(m, s, *head), EFFECTS, "control is missing"
    ),
    Mutant(ABLATION, "one score", alone, EFFECTS, "no difference"),
    Mutant(ABLATION, "sign", partial(effect, sign=-1), EFFECTS, "sign is wrong"),
    Mutant(ABLATION, "any head", partial(effect, shift=random.randrange), EFFECTS, "the head itself"),
    Mutant(ABLATION, "other layer", partial(effect, down=1), [LAYER], "of another layer"),
    Mutant(ABLATION, "next head", partial(effect, shift=lambda n: 1), [DRAWN], "drew 1 of 3"),
]
