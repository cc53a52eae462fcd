"""Exercises of notebook 07b: a product of gates, a fixed phase, and a head that looks to the right."""

import math
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt_course.exercises.checks import Unusable, ask_tensors, require, require_equal
from babygpt_course.exercises.compare import as_numbers, beyond, describe, difference
from babygpt_course.exercises.exercise import Exercise, each, integer, read_tasks

TASKS = read_tasks("lesson_07b")


def parts_answer(i: int, j: int, omega: float) -> tuple[float, float]:
    """cos(iω) · cos(jω) in two parts: one that knows i − j only, and one that knows i + j only."""
    return math.cos((i - j) * omega) / 2, math.cos((i + j) * omega) / 2


def two_parts(attempt: Any, i: int, j: int, omega: float) -> list[float]:
    """Return the learner's two numbers. Raises Wrong if they are none."""
    what = f"i = {i}, j = {j}, ω = {omega:.3f}"
    shapes: dict[str, tuple[int, ...]] = {"first": (), "second": ()}
    return [float(part) for part in ask_tensors(attempt, i, j, omega, what=what, shapes=shapes)]


def splits(attempt: Any, draw: Generator, part: int | None = None) -> None:
    """Add both parts up; or move i by a step, and j by the same one or its opposite: one part must stay."""
    pairs = [(integer(draw, 0, 20), integer(draw, 20, 90)) for _ in range(5)]
    for i, j, omega in [(i, j, float(torch.rand((), generator=draw)) + 0.1) for i, j in pairs]:
        what = f"i = {i}, j = {j}, ω = {omega:.3f}"
        if part is None:
            want = math.cos(i * omega) * math.cos(j * omega)
            both = sum(two_parts(attempt, i, j, omega))
            require_equal(both, want, f"{what} the sum of both parts", {"Half of each, together": 2 * want})
            continue
        step, sign = integer(draw, 1, 30), (1, -1)[part]
        one, other = (two_parts(attempt, i + s, j + sign * s, omega)[part] for s in (0, step))
        moved = f"{what}, both moved by {step}: the first part"
        if part:
            moved = f"i = {i} + {step}, j = {j} − {step}, ω = {omega:.3f}, an equal sum: the second part"
        require(not (text := difference(other, one)), f"{moved} {text}")


PARTS = Exercise(TASKS["What a product of gates knows"], each(splits, None, 0, 1), parts_answer)


def fixed_phase_answer(
    q: Tensor, k: Tensor, positions: Tensor, omega: Tensor, masked: Tensor, alpha: float
) -> tuple[Tensor, Tensor]:
    """Quadrature gates with the keys' waves 45° ahead: q and k (B, H, T, D) -> (B, H, T, 2D) each."""
    wave = positions[:, None] * omega  # (T, D)
    ahead = wave + math.pi / 4
    size = torch.where(masked, alpha, 1.0)[:, None, :, None]  # (B, 1, T, 1)
    queries = torch.cat([q * wave.cos(), q * wave.sin()], dim=-1)
    keys = torch.cat([k * ahead.cos(), k * ahead.sin()], dim=-1) * size
    return queries, keys


def compare_scores(attempt: Any, draw: Generator, hidden: bool) -> None:
    """Compare scores (B, H, T, T) with their formula, if some tokens are MASK, or if none are hidden."""
    for B, H, T, D, least in ((1, 1, 2, 1, 0.1), (1, 2, 3, 2, -0.9), (2, 3, 6, 4, 1.1)):
        q, k = torch.randn(2, B, H, T, D, generator=draw)
        times = torch.randint(-300, 300, (T,), generator=draw)
        omega = torch.rand(D, generator=draw) + 0.1
        alpha = float(torch.rand((), generator=draw)) * 0.5 + least
        masked = (torch.rand(B, T, generator=draw) < 0.5) & torch.tensor(hidden)
        masked[:, 0] = hidden
        what = f"q and k of shape {(B, H, T, D)} at {describe(times)}, alpha {alpha:.2f}"
        what += f", masked {masked.int().tolist()}" if hidden else ", nothing masked"
        given = q, k, times, omega, masked, alpha
        shapes = dict.fromkeys(("queries", "keys"), (B, H, T, 2 * D))
        queries, keys = (part.double() for part in ask_tensors(attempt, *given, what=what, shapes=shapes))
        angle = (times[:, None] - times)[..., None] * omega  # (T, T, D)
        right, none, behind, radians = (
            torch.einsum("bhid,bhjd,ijd->bhij", q, k, (angle - phase).cos()).double()
            for phase in (math.pi / 4, 0.0, -math.pi / 4, 45.0)
        )
        size = torch.where(masked, alpha, 1.0)[:, None, :]  # (B, 1, T)
        on_keys, on_queries = size[..., None, :], size[..., :, None]
        flat = "α belongs to the keys. On queries it flattens the attention of those that must be filled in"
        mistakes = {
            "The phases are missing: queries and keys have one wave": none * on_keys,
            "The key's wave is ahead: its angle is *larger*": behind * on_keys,
            "45 degrees are π/4: `cos` and `sin` take radians": radians * on_keys,
            "Where is α?": right,
            flat: right * on_queries,
            "α is there twice: on queries as well as on keys": right * on_keys * on_queries,
        }
        require_equal(queries @ keys.mT, right * on_keys, f"{what} the scores", mistakes, atol=1e-3)


def scores_drawn(attempt: Any) -> Tensor:
    """Return scores of equal queries and keys at 24 positions, every sixth of them MASK: (T, T)."""
    x, omega = torch.ones(1, 1, 24, 4), torch.tensor([0.6, 0.3, 0.2, 0.1])
    masked = (torch.arange(24) % 6 == 5)[None]
    queries, keys = attempt(x, x, torch.arange(24), omega, masked, 0.3)
    return (queries @ keys.mT)[0, 0]


FIXED_PHASE = Exercise(
    TASKS["45 degrees ahead"],
    each(compare_scores, False, True),
    fixed_phase_answer,
    picture=(scores_drawn, "place of the key", "place of the query"),
)

OMEGA, RIGHT, FAR, LEAD = (1.0, 0.5, 0.25, 0.125), 2, 8, 0.5


def phases(answer: Any, _: Any = None) -> Tensor:
    """Return the learner's phases (4,). Raises Unusable if they are not four finite numbers."""
    found = as_numbers(answer)
    if found is None or found.shape != (len(OMEGA),) or not found.isfinite().all():
        raise Unusable(f"this should be {len(OMEGA)} finite phases, and is {describe(answer)}")
    return found.double()


def scores_around(answer: Any) -> dict[int, float]:
    """Return the score of each key, by how many tokens it stands to the right of the query."""
    delta, omega = phases(answer), torch.tensor(OMEGA, dtype=torch.float64)
    return {right: float((-right * omega - delta).cos().sum()) for right in range(-FAR, FAR + 1)}


def breaks_the_mirror(answer: Any, _: Generator) -> None:
    scores = scores_around(answer)
    left, right = scores[-RIGHT], scores[RIGHT]
    hint = ". Mind the sign: a key to the right has d = i − j below 0" if right < left - LEAD else ""
    scored = f"{RIGHT} to the left scores {left:.2f}, {RIGHT} to the right {right:.2f}"
    require(right - left >= LEAD, f"{scored}; should be {LEAD} more, or above that{hint}")


def looks_right(answer: Any, _: Generator) -> None:
    scores = scores_around(answer)
    second, best = sorted(scores, key=lambda right: scores[right])[-2:]
    where = "at itself" if not best else f"{abs(best)} to the {'right' if best > 0 else 'left'}"
    highest = f"the highest score ({scores[best]:.2f}) is {where}; should be {RIGHT} to the right"
    require(best == RIGHT, highest)
    lead, least = scores[best] - scores[second], "ahead of the next best; should be 0.1 or more"
    require(lead >= 0.1, f"{RIGHT} to the right is only {beyond(lead, 0.1)} {least}")


LOOK_RIGHT = Exercise(
    TASKS["A head that looks two to the right"],
    [phases, breaks_the_mirror, looks_right],
    [-2.0, -1.0, -0.5, -0.25],
)

EXERCISES = (PARTS, FIXED_PHASE, LOOK_RIGHT)
