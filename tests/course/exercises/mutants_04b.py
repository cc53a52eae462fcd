"""Mistakes in the exercises of notebook 04b, and right answers that must pass."""

import random
from functools import partial
from itertools import combinations

import numpy as np

from babygpt import metrics
from babygpt_course.exercises.lesson_04b import ABLATION, READER, STAND_INS
from tests.course.exercises.harness import Mutant, requirements

ITSELF, LAYER, DRAWN = EFFECTS = requirements(ABLATION)
ONE, LAYERS, LETTERS = READS = requirements(READER)
FREE, COSTLY, NEEDED = PAIRS = requirements(STAND_INS)


def reader(weights, names, over=np.sum, questions=np.mean, best=np.argmax):
    """Find the head question by question."""
    on_names = [over(weights[:, :, q, names[q]].numpy(), axis=-1) for q in range(len(names))]
    means = questions(np.array(on_names), axis=0)  # (L, H)
    return np.unravel_index(best(means), means.shape)


def stand_ins(right, without, subtract=(0, 1), best=max):
    """Find the pair by a loop; `subtract` says which of the two costs alone are taken away."""
    cost = (right - without).numpy()
    excess = {
        pair: cost[pair] - sum(cost[pair[i], pair[i]] for i in subtract)
        for pair in combinations(range(len(cost)), 2)
    }
    return best(excess, key=excess.get)


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


RIGHT = (
    (READER, reader, partial(reader, questions=np.sum)),
    (STAND_INS, stand_ins, lambda *a: stand_ins(*a)[::-1]),
    (ABLATION, effect, partial(effect, mean=True), lambda *a: np.float64(effect(*a))),
)
MUTANTS = [
    *(
        Mutant(exercise, f"no mistake {i}", right, [])
        for exercise, *answers in RIGHT
        for i, right in enumerate(answers)
    ),
    Mutant(READER, "mean of letters", partial(reader, over=np.mean), [LETTERS], "in place of their mean"),
    Mutant(READER, "one letter", partial(reader, over=np.max), [LETTERS], "largest weight on one letter"),
    Mutant(READER, "one question", partial(reader, questions=np.max), READS, "best in one question"),
    Mutant(READER, "least", partial(reader, best=np.argmin), READS, "the least weight"),
    Mutant(READER, "head first", lambda *a: reader(*a)[::-1], READS, "The layer comes first"),
    Mutant(READER, "from 1", lambda *a: [n + 1 for n in reader(*a)], READS, "counted from 0"),
    Mutant(READER, "last layer", lambda w, n: (len(w) - 1, reader(w[-1:], n)[1]), [LAYERS, LETTERS]),
    Mutant(READER, "the head alone", lambda *a: reader(*a)[1], READS, "two whole numbers"),
    Mutant(STAND_INS, "together", partial(stand_ins, subtract=()), [COSTLY, NEEDED], "Subtract what each"),
    Mutant(STAND_INS, "one of them", partial(stand_ins, subtract=(0,)), [COSTLY, NEEDED]),
    Mutant(STAND_INS, "least", partial(stand_ins, best=min), PAIRS, "least beyond the sum"),
    Mutant(STAND_INS, "from 1", lambda *a: [n + 1 for n in stand_ins(*a)], PAIRS),
    Mutant(STAND_INS, "stub", lambda *a: (0, 1), PAIRS),
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
