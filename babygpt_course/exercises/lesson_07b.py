"""Exercises of notebook 07b: control arms, a fixed phase, and a head that looks to the right."""

import math
import random
import string
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt_course.exercises.checks import Unusable, ask, ask_tensors, require, require_equal
from babygpt_course.exercises.compare import as_numbers, beyond, came_out, describe, members
from babygpt_course.exercises.exercise import Exercise, dice, each, read_tasks

TASKS = read_tasks("lesson_07b")

Arms = dict[str, dict[str, Any]]
SETTINGS = {"norm": ("before", "after"), "alpha": (0.3, 1.0, 3.0), "phase": ("none", "fixed", "trained")}
SETTINGS |= {"sine": (False, True), "alpha on": ("queries and keys", "keys")}


def controls_answer(arms: Arms, one: str, other: str) -> list[str]:
    """Return the names of the arms that change one setting of `one` to that of `other`, and no more."""
    first, second = arms[one], arms[other]
    wanted = [{**first, s: second[s]} for s in first if first[s] != second[s]]
    return [name for name, settings in arms.items() if settings in wanted]


def draw_arms(toss: random.Random, number: int) -> tuple[Arms, str, str]:
    """Draw arms, among them two that differ in so many settings, and return these two names as well."""
    first = {s: toss.choice(values) for s, values in SETTINGS.items()}
    moved = {s: toss.choice([v for v in values if v != first[s]]) for s, values in SETTINGS.items()}
    second = {**first, **{s: moved[s] for s in toss.sample(sorted(SETTINGS), number)}}
    near = [{**first, s: value} for s in SETTINGS for value in SETTINGS[s] if toss.random() < 0.6]
    far = [{**second, s: first[s]} for s in SETTINGS]
    for count in (number - 1, 1, 2):  # so many settings differ from `second`, also by a third value
        some = toss.sample(sorted(SETTINGS), max(0, count))
        far.append({**second, **{s: toss.choice([v for v in SETTINGS[s] if v != second[s]]) for s in some}})
    arms = dict(zip(toss.sample(string.ascii_uppercase, 26), [first, second, *near, *far], strict=False))
    one, other, *_ = arms
    return dict(sorted(arms.items())), one, other


def find_controls(attempt: Any, draw: Generator, *numbers: int) -> None:
    """Ask for the controls of two arms that differ in so many settings, nine times each."""
    for number in 9 * numbers:
        arms, one, other = draw_arms(dice(draw), number)
        first, second = arms[one], arms[other]
        what = f"one = {one!r} {first}, other = {other!r} {second}"
        got = ask(attempt, arms, one, other, what=what)
        names = members(got)
        right = names is not None and all(isinstance(name, str) and name in arms for name in names)
        require(right, f"for {what} {came_out(got, 'should be a list of names of arms')}")
        want = controls_answer(arms, one, other)
        for name in sorted({*(names or [])} ^ {*want}):
            new = {s: value for s, value in arms[name].items() if value != first[s]}
            wrong = f"you name {name!r}, which changes {new or 'nothing'}"
            require(name not in want, f"for {what} you leave out {name!r}, which changes {new} and no more")
            require(name in want, f"for {what} {wrong}; should be one setting, to the value in {other!r}")


CONTROLS = Exercise(TASKS["Find the control arms"], each(find_controls, 1, 2, (0, 3, 4, 5)), controls_answer)


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
    steady = torch.rand(4, generator=draw) + 0.1
    large = (2, 3, 6, 4)  # asked twice with the same frequencies: waves belong to positions, not to a shape
    for (B, H, T, D), least in (((1, 1, 2, 1), 0.1), ((1, 2, 3, 2), -0.9), (large, 1.1), (large, 0.2)):
        q, k = torch.randn(2, B, H, T, D, generator=draw)
        times = torch.randint(-300, 300, (T,), generator=draw)
        times[0] = 2051 if T == 6 else times[0]  # float16 has even numbers only there
        omega = steady if T == 6 else torch.rand(D, generator=draw) + 0.1
        alpha = float(torch.rand((), generator=draw)) * 0.5 + least
        masked = (torch.rand(B, T, generator=draw) < 0.5) & torch.tensor(hidden)
        masked[:, 0] = hidden
        what = f"q and k of shape {(B, H, T, D)} at {describe(times)}, alpha {alpha:.2f}"
        what += f", masked {masked.int().tolist()}" if hidden else ", nothing masked"
        given = q, k, times, omega, masked, alpha
        shapes = dict.fromkeys(("queries", "keys"), (B, H, T, 2 * D))
        queries, keys = (part.double() for part in ask_tensors(attempt, *given, what=what, shapes=shapes))
        angle = (times[:, None] - times)[..., None] * omega.double()  # (T, T, D)
        right, none, behind, radians = (
            torch.einsum("bhid,bhjd,ijd->bhij", q.double(), k.double(), (angle - phase).cos())
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
        atol = 1e-3 if T < 6 else 5e-3  # a float32 of 2051 radians is that far off
        require_equal(queries @ keys.mT, right * on_keys, f"{what} the scores", mistakes, atol=atol)


FIXED_PHASE = Exercise(TASKS["45 degrees ahead"], each(compare_scores, False, True), fixed_phase_answer)

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

EXERCISES = (CONTROLS, FIXED_PHASE, LOOK_RIGHT)
