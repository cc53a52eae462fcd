"""Mistakes in the exercises of notebook 03b."""

import torch

from babygpt_course.exercises.look_back import look_back_answer
from babygpt_course.exercises.sinusoidal import FEWEST_PAIRS, LIKENESS, LOOK_BACK
from tests.course.exercises.harness import Mutant

SAME, ONE_WAY, EITHER = (check.asked for check in LIKENESS.checks)
ITSELF, BACK, ANYWHERE, SHARP = (check.asked for check in LOOK_BACK.checks)
FEW, SURE = (check.asked for check in FEWEST_PAIRS.checks)


def likeness(d, n_embd, theta, exponent=2.0, wave=torch.cos, reduce=torch.mean):
    omega = theta ** (-exponent * torch.arange(n_embd // 2, dtype=torch.float64) / n_embd)
    return reduce(wave(d * omega)).item()


def head(n, n_embd, sign=1, scale=1.0, transposed=False, keys=False):
    to_q, to_k = look_back_answer(sign * n, n_embd)
    return (to_k, to_q * scale) if keys else (to_q * scale, to_k)


def one_pair(n, n_embd):
    to_q, to_k = look_back_answer(n, n_embd)
    only = torch.zeros(n_embd)
    only[:2] = 1
    return to_q * only, to_k


def always_one(n, n_embd):
    return look_back_answer(1, n_embd)


MUTANTS = [
    Mutant(
        LIKENESS, "dot product", lambda *a: likeness(*a, reduce=torch.sum), [SAME, ONE_WAY, EITHER], "length"
    ),
    Mutant(LIKENESS, "exponent −i/n", lambda *a: likeness(*a, exponent=1.0), [ONE_WAY, EITHER], "with a 2"),
    Mutant(LIKENESS, "by n_embd", lambda *a: likeness(*a) / 2, [SAME, ONE_WAY, EITHER], "n_embd/2 pairs"),
    Mutant(LIKENESS, "sines", lambda *a: likeness(*a, wave=torch.sin), [SAME, ONE_WAY, EITHER]),
    Mutant(LIKENESS, "theta forgotten", lambda d, n, t: likeness(d, n, 1e4), [ONE_WAY, EITHER]),
    Mutant(LIKENESS, "never behind", lambda d, n, t: likeness(max(d, 0), n, t), [EITHER]),
    Mutant(LOOK_BACK, "ahead", lambda n, c: head(n, c, sign=-1), [BACK, ANYWHERE, SHARP], "*ahead*"),
    Mutant(LOOK_BACK, "soft", lambda n, c: head(n, c, scale=0.01), [SHARP], "make them larger"),
    Mutant(LOOK_BACK, "the keys turn", lambda n, c: head(n, c, keys=True), [BACK, ANYWHERE, SHARP]),
    Mutant(LOOK_BACK, "always one", always_one, [ITSELF, BACK, ANYWHERE, SHARP], "tokens back, should be"),
    Mutant(LOOK_BACK, "one pair", one_pair, [SHARP]),
    Mutant(FEWEST_PAIRS, "all", list(range(48)), [FEW], "48 pairs"),
    Mutant(FEWEST_PAIRS, "the quickest", [0], [SURE], "back where they were"),
    Mutant(FEWEST_PAIRS, "quick and slowest", [0, 47], [SURE]),
    Mutant(FEWEST_PAIRS, "slow ones", [30, 40], [SURE], "too slowly"),
    Mutant(FEWEST_PAIRS, "from 1", [1, 48], [FEW, SURE], "from 0 to 47"),
]
