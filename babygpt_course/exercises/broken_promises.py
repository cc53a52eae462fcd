"""An exercise of notebook 05: an experiment that finds out which promises a kernel breaks."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from torch import Generator

from babygpt_course.exercises.base import Check, Exercise, Wrong, ask
from babygpt_course.exercises.compare import shown
from babygpt_course.exercises.draws import integer

LogKernel = Callable[[int, int], float]
NAMES = ("distance", "near", "finite")
LAST = 500  # the last place


def broken_stub(log_K: LogKernel) -> set[str]:
    """Which of the promises "distance", "near" and "finite" a kernel breaks, at places from 0 to 500."""
    return set()


def broken_answer(log_K: LogKernel) -> set[str]:
    """Which of the promises "distance", "near" and "finite" a kernel breaks, at places from 0 to 500."""
    found = set()
    rows = {m: [log_K(m, n) for n in range(m, -1, -1)] for m in (20, 97, 250, 500)}  # from near to far
    for row in rows.values():
        if not all(math.isfinite(value) for value in row):
            found.add("finite")
        if any(further > nearer + 1e-6 for nearer, further in pairwise(row)):
            found.add("near")
    for row in rows.values():
        for one, other in zip(row, rows[500], strict=False):
            if one != other and not abs(one - other) < 1e-6:
                found.add("distance")
    return found


def kernels(draw: Generator) -> dict[str, tuple[LogKernel, set[str]]]:
    """Kernels whose fault is easily seen, if they have one, with the promises that they break."""
    sigma = float(integer(draw, 30, 60))

    def bell(m: int) -> float:
        return -(m**2) / (2 * sigma**2)

    return {
        "a bell curve over the distance": (lambda m, n: bell(m - n), set()),
        "ALiBi": (lambda m, n: -abs(m - n) / sigma, set()),
        "nothing at all": (lambda m, n: 0.0, set()),
        "the note's K(m) · K(n)": (lambda m, n: bell(m) + bell(n), {"distance", "near"}),
        "a cosine of the distance": (lambda m, n: math.cos((m - n) / sigma), {"near"}),
        "a slope that is steeper for later queries": (
            lambda m, n: -(m - n) * (1 + m / 100) / sigma,
            {"distance"},
        ),
    }


def hidden_kernels(draw: Generator) -> dict[str, tuple[LogKernel, set[str]]]:
    """Kernels whose fault shows far away only, or at some places."""
    sigma, wall = float(integer(draw, 4, 9)), integer(draw, 130, 240)

    def bell(m: int) -> float:
        return -(m**2) / (2 * sigma**2)

    return {
        "log of a K that is too small for a float": (
            lambda m, n: math.log(math.exp(bell(m - n))) if bell(m - n) > -700 else -math.inf,
            {"finite"},
        ),
        f"a window of {wall} tokens": (lambda m, n: 0.0 if m - n < wall else -math.inf, {"finite"}),
        f"queries beyond {wall} taken for {wall}": (
            lambda m, n: bell(min(m, wall) - n),
            {"distance", "near"},
        ),
        f"the far past as loud as the present, from {wall} tokens on": (
            lambda m, n: bell(m - n) if m - n < wall else 0.0,
            {"near"},
        ),
        "a slope for each hundred of keys": (
            lambda m, n: -(m - n) / sigma - (m // 100 - n // 100),
            {"distance"},
        ),
    }


def examined(attempt: Any, given: dict[str, tuple[LogKernel, set[str]]]) -> None:
    for name, (log_kernel, want) in given.items():
        got = ask(attempt, log_kernel, what=name)
        if not isinstance(got, set | frozenset | list | tuple) or not all(type(one) is str for one in got):
            raise Wrong(f"for {name} came out: {shown(got)}; should be a set of names out of {NAMES}")
        for promise in NAMES:
            if promise in want and promise not in got:
                shows = evidence(promise, log_kernel)
                raise Wrong(f"for {name} you do not notice that {promise!r} is broken. {shows}")
            if promise in got and promise not in want:
                raise Wrong(f"for {name} you say that {promise!r} is broken, and it is kept")
        if set(got) - set(NAMES):
            raise Wrong(f"for {name} came out: {shown(got)}; the promises are called {NAMES}")


def evidence(promise: str, log_kernel: LogKernel) -> str:
    """Two numbers that show how a promise is broken."""
    for m in range(1, LAST + 1):
        for n in range(m):
            here, nearer = log_kernel(m, n), log_kernel(m, n + 1)
            if promise == "finite" and not math.isfinite(here):
                return f"log K({m}, {n}) is {here}"
            if promise == "near" and here > nearer + 1e-3:
                return (
                    f"For the query at {m} log K is {nearer:.3f} at {n + 1}, {here:.3f} at {n}, further back"
                )
            moved = log_kernel(LAST, LAST - m + n)
            if promise == "distance" and abs(here - moved) > 1e-3:
                return f"log K({m}, {n}) is {here:.3f}, log K({LAST}, {LAST - m + n}) is {moved:.3f}"
    return ""


def plain_kernels(attempt: Any, draw: Generator) -> None:
    examined(attempt, {name: case for name, case in kernels(draw).items() if not case[1]})


def faulty_kernels(attempt: Any, draw: Generator) -> None:
    examined(attempt, {name: case for name, case in kernels(draw).items() if case[1]})


def far_faults(attempt: Any, draw: Generator) -> None:
    examined(attempt, hidden_kernels(draw))


BROKEN = Exercise(
    name="Which promise does it break?",
    task=(
        "A kernel is handed to you as a black box: `log_K(m, n)` returns the number that is added to the "
        f"score of a query at m and a key at n, for whole places from 0 to {LAST}, n not after m. Design the "
        "experiment: `broken(log_K)` returns the *set* of the promises that this kernel breaks, by name. "
        '`"distance"`: it depends on m − n only. `"near"`: for one query it never rises as the key moves '
        'further back. `"finite"`: it is always a finite number. Differences below 0.000001 do not count, '
        "and two that are both −∞ are equal. A kernel that keeps all three gets an empty set."
    ),
    level="stretch",
    minutes=15,
    checks=(
        Check("kernels that keep all three", plain_kernels),
        Check("kernels that break one or two", faulty_kernels),
        Check("faults far away", far_faults),
    ),
    hints=(
        "One promise at a time. For `near`, take one query and walk from its own place back to 0.",
        "For `distance`, compare the walks of several queries, step by step. Late queries too.",
        f"Kernels may look alike for a hundred tokens: walk all the way, also from the query at {LAST}.",
    ),
    stub=broken_stub,
    answer=broken_answer,
    seconds=30.0,  # looking at every pair of places is slow, and right
)
