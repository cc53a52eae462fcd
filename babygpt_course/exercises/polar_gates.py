"""Exercises of notebook 07b: what a product of gates knows, a fixed phase, a head that looks to the right."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt_course.exercises.base import Check, Exercise, Unusable, Wrong, ask
from babygpt_course.exercises.compare import difference, shown, wrong_shape
from babygpt_course.exercises.draws import integer
from babygpt_course.exercises.fixed_phase import FIXED_PHASE


def parts_stub(i: int, j: int, omega: float) -> tuple[float, float]:
    """cos(iω) · cos(jω) in two parts: one that knows i − j only, and one that knows i + j only."""
    return math.cos(i * omega) * math.cos(j * omega), 0.0


def parts_answer(i: int, j: int, omega: float) -> tuple[float, float]:
    """cos(iω) · cos(jω) in two parts: one that knows i − j only, and one that knows i + j only."""
    return math.cos((i - j) * omega) / 2, math.cos((i + j) * omega) / 2


def two_parts(attempt: Any, i: int, j: int, omega: float) -> tuple[float, float]:
    """The learner's two numbers. Raises Wrong if they are none."""
    what = f"i = {i}, j = {j}, ω = {omega:.3f}"
    got = ask(attempt, i, j, omega, what=what)
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise Wrong(f"for {what} came out: {shown(got)}; should be two numbers")
    for part in got:
        if text := wrong_shape(part, ()):
            raise Wrong(f"for {what} {text}")
    return float(got[0]), float(got[1])


def drawn_gates(draw: Generator) -> list[tuple[int, int, float]]:
    """Two places and a frequency, five times."""
    pairs = [(integer(draw, 0, 20), integer(draw, 20, 90)) for _ in range(5)]
    return [(i, j, float(torch.rand((), generator=draw)) + 0.1) for i, j in pairs]


def add_up(attempt: Any, draw: Generator) -> None:
    for i, j, omega in drawn_gates(draw):
        total, want = sum(two_parts(attempt, i, j, omega)), math.cos(i * omega) * math.cos(j * omega)
        if text := difference(total, want):
            told = ". Half of each, together" if not difference(total, 2 * want) else ""
            raise Wrong(f"for i = {i}, j = {j}, ω = {omega:.3f} the sum of both parts {text}{told}")


def first_knows_distance(attempt: Any, draw: Generator) -> None:
    for i, j, omega in drawn_gates(draw):
        step = integer(draw, 1, 30)
        one, other = (two_parts(attempt, i + s, j + s, omega)[0] for s in (0, step))
        if text := difference(other, one):
            raise Wrong(f"i = {i}, j = {j}, ω = {omega:.3f}, both moved by {step}: the first part {text}")


def second_knows_sum(attempt: Any, draw: Generator) -> None:
    for i, j, omega in drawn_gates(draw):
        step = integer(draw, 1, 30)
        one, other = (two_parts(attempt, i + s, j - s, omega)[1] for s in (0, step))
        if text := difference(other, one):
            raise Wrong(
                f"i = {i} + {step}, j = {j} − {step}, ω = {omega:.3f}, an equal sum: the second part {text}"
            )


PARTS = Exercise(
    name="What a product of gates knows",
    task=(
        "The note's gates give a score the factor cos(iω) · cos(jω), for a query at i and a key at j. Write "
        "`parts(i, j, omega)`: this factor in two parts whose sum it is, the first a function of i − j only, "
        "the second of i + j only. (`math` is Python's.)"
    ),
    level="warm-up",
    minutes=5,
    checks=(
        Check("the parts add up to the product", add_up),
        Check("the first knows the distance only", first_knows_distance),
        Check("the second knows the sum only", second_knows_sum),
    ),
    hints=(
        "cos(a − b) = cos a cos b + sin a sin b. And cos(a + b)?",
        "Add the two formulas: the sines cancel, and 2 cos a cos b is left.",
    ),
    stub=parts_stub,
    answer=parts_answer,
)


OMEGA, RIGHT, FAR, LEAD = (1.0, 0.5, 0.25, 0.125), 2, 8, 0.5


def phases(answer: Any) -> Tensor:
    """The learner's phases (4,). Raises Unusable if they are none."""
    try:
        found = torch.as_tensor(answer, dtype=torch.float64).detach()
    except Exception:
        raise Unusable(f"this should be {len(OMEGA)} phases, and is {shown(answer)}") from None
    if found.shape != (len(OMEGA),) or not found.isfinite().all():
        raise Unusable(f"this should be {len(OMEGA)} finite phases, and is {shown(answer)}")
    return found


def score_at(delta: Tensor, right: int) -> float:
    """The score of a key so many tokens to the right of the query."""
    return float((-right * torch.tensor(OMEGA, dtype=torch.float64) - delta).cos().sum())


def are_phases(answer: Any, _: Generator) -> None:
    phases(answer)


def breaks_the_mirror(answer: Any, _: Generator) -> None:
    delta = phases(answer)
    left, right = score_at(delta, -RIGHT), score_at(delta, RIGHT)
    if right - left < LEAD:
        told = ". Mind the sign: a key to the right has d = i − j below 0" if right < left - LEAD else ""
        raise Wrong(f"{RIGHT} to the left scores {left:.2f}, {RIGHT} to the right {right:.2f}{told}")


def looks_right(answer: Any, _: Generator) -> None:
    delta = phases(answer)
    scores = {at: score_at(delta, at) for at in range(-FAR, FAR + 1)}
    best = max(scores, key=lambda at: scores[at])
    if best != RIGHT:
        where = "at itself" if not best else f"{abs(best)} to the {'right' if best > 0 else 'left'}"
        raise Wrong(f"the highest score ({scores[best]:.2f}) is {where}; should be {RIGHT} to the right")
    lead = scores[best] - max(score for at, score in scores.items() if at != best)
    if lead < 0.1:
        raise Wrong(f"{RIGHT} to the right is only {lead:.3f} ahead of the next best; should be 0.1 or more")


LOOK_RIGHT = Exercise(
    name="A head that looks two to the right",
    task=(
        "Quadrature gates are blind to left and right: every score is even in the distance. With a phase δ "
        "for each channel a score is Σ cos(d·ω − δ), d = i − j (i the query, j the key; all contents are 1). "
        f"Take four channels with ω = {OMEGA}. Design the four phases so that of all keys from {FAR} to the "
        f"left to {FAR} to the right, the one *two to the right* has the highest score, by 0.1 or more. Your "
        "answer is a list of four numbers."
    ),
    level="core",
    minutes=10,
    checks=(
        Check("four phases", are_phases),
        Check("left is not right", breaks_the_mirror),
        Check("the key two to the right is highest", looks_right),
    ),
    hints=(
        "A cosine is highest where its angle is 0. At which d should all four angles be 0?",
        "Two to the right means j = i + 2, so d = −2. Then d·ω − δ = 0 for each channel.",
    ),
    stub=[0.0, 0.0, 0.0, 0.0],
    answer=[-2.0, -1.0, -0.5, -0.25],
)

EXERCISES = (PARTS, FIXED_PHASE, LOOK_RIGHT)
