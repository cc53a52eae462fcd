"""Exercises of notebook 07b: control arms, a fixed phase, and a head that looks to the right."""

import math
import random
import string
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt_course.exercises.agreement import Agrees, Case
from babygpt_course.exercises.checks import Unusable, ask, read_tensors, require
from babygpt_course.exercises.compare import as_numbers, came_out, describe, format_beyond, members
from babygpt_course.exercises.exercise import Exercise, dice, each, read_tasks

TASKS = read_tasks("lesson_07b")

Arms = dict[str, dict[str, Any]]
SETTINGS = {"norm": ("before", "after"), "alpha": (0.3, 1.0, 3.0), "phase": ("none", "fixed", "trained")}
SETTINGS |= {"sine": (False, True), "alpha on": ("queries and keys", "keys")}


def controls_answer(arms: Arms, one: str, other: str) -> list[str]:
    """Return the names of the arms that change one setting of `one` to that of `other`, and no more."""
    first, second = arms[one], arms[other]
    changed_arms = [{**first, s: second[s]} for s in first if first[s] != second[s]]
    return [name for name, settings in arms.items() if settings in changed_arms]


def draw_arms(toss: random.Random, number: int) -> tuple[Arms, str, str]:
    """Draw arms, among them two that differ in `number` settings, and return these two names as well."""
    first = {s: toss.choice(values) for s, values in SETTINGS.items()}
    moved = {s: toss.choice([v for v in values if v != first[s]]) for s, values in SETTINGS.items()}
    second = {**first, **{s: moved[s] for s in toss.sample(sorted(SETTINGS), number)}}
    near = [{**first, s: value} for s in SETTINGS for value in SETTINGS[s] if toss.random() < 0.6]
    far = [{**second, s: first[s]} for s in SETTINGS]
    for count in (number - 1, 1, 2):  # so many settings differ from `second`, also by a third value
        changed = toss.sample(sorted(SETTINGS), max(0, count))
        far.append(
            {**second, **{s: toss.choice([v for v in SETTINGS[s] if v != second[s]]) for s in changed}}
        )
    arms = dict(zip(toss.sample(string.ascii_uppercase, 26), [first, second, *near, *far], strict=False))
    first_name, second_name, *_ = arms
    return dict(sorted(arms.items())), first_name, second_name


def find_controls(attempt: Any, draw: Generator, *numbers: int) -> None:
    """Ask for the controls of two arms that differ in 0 to 5 settings, nine times each."""
    for number in 9 * numbers:
        arms, first_name, second_name = draw_arms(dice(draw), number)
        first, second = arms[first_name], arms[second_name]
        what = f"one = {first_name!r} {first}, other = {second_name!r} {second}"
        got = ask(attempt, arms, first_name, second_name, what=what)
        names = members(got)
        right = names is not None and all(isinstance(name, str) and name in arms for name in names)
        require(right, f"for {what} {came_out(got, 'should be a list of names of arms')}")
        want = controls_answer(arms, first_name, second_name)
        for name in sorted({*(names or [])} ^ {*want}):
            new = {s: value for s, value in arms[name].items() if value != first[s]}
            wrong = f"you name {name!r}, which changes {new or 'nothing'}"
            require(name not in want, f"for {what} you leave out {name!r}, which changes {new} and no more")
            require(
                name in want, f"for {what} {wrong}; should be one setting, to the value in {second_name!r}"
            )


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


def phased_gates(*arguments: Any, ahead: float = math.pi / 4, on: str = "keys") -> tuple[Tensor, Tensor]:
    """Answer with the keys' waves ahead by this angle, and α on these ("keys", "queries", "both" or "")."""
    q, k, positions, omega, masked, alpha = arguments
    size = torch.where(masked, alpha, 1.0)[:, None, :, None]
    sizes = [size if on in (name, "both") else 1.0 for name in ("queries", "keys")]
    waves = [positions[:, None] * omega + phase for phase in (0.0, ahead)]
    parts = zip((q, k), sizes, waves, strict=True)
    queries, keys = (torch.cat([x * wave.cos(), x * wave.sin()], -1) * by for x, by, wave in parts)
    return queries, keys


PHASE_MISTAKES = {
    "The phases are missing: queries and keys have one wave": partial(phased_gates, ahead=0.0),
    "The key's wave is ahead: its angle is *larger*": partial(phased_gates, ahead=-math.pi / 4),
    "45 degrees are π/4: `cos` and `sin` take radians": partial(phased_gates, ahead=45.0),
    "Where is α?": partial(phased_gates, on=""),
    "α belongs to the keys. On queries it flattens the attention of those that must be filled in": (
        partial(phased_gates, on="queries")
    ),
    "α is there twice: on queries as well as on keys": partial(phased_gates, on="both"),
}


def exact_phase(*arguments: Any) -> tuple[Tensor, Tensor]:
    """Return the solution's queries and keys, computed in float64."""
    q, k, positions, omega, masked, alpha = arguments
    return fixed_phase_answer(q.double(), k.double(), positions, omega.double(), masked, alpha)


def gated_scores(result: Any, q: Tensor, *_: Any) -> Tensor:
    """Return the scores (B, H, T, T) of the queries and keys that an answer returned."""
    shapes = dict.fromkeys(("queries", "keys"), (*q.shape[:-1], 2 * q.shape[-1]))
    queries, keys = read_tensors(result, "", shapes)
    return queries.double() @ keys.double().mT


def draw_waves(draw: Generator, hidden: bool) -> Iterator[Case]:
    """Draw queries and keys, from two tokens of one channel to long texts; MASK hides some, or none."""
    steady = torch.rand(4, generator=draw) + 0.1
    kinds = (  # (B, H, T, D), the largest position, and α; the first one can be checked by hand
        ((1, 1, 2, 1), 1, 0.5),
        ((1, 1, 2, 1), 2051, 2.0),  # float16 has even numbers only there
        ((1, 2, 3, 2), 9, -0.9),
        ((2, 3, 6, 4), 300, 1.5),  # twice with one shape and the same frequencies: waves belong to positions
        ((2, 3, 6, 4), 300, 0.0),
        ((1, 2, 12, 40), 9, 0.25),  # so many channels that the errors of float16 add up
        ((2, 1, 150, 2), 300, 0.4),
    )
    for (B, H, T, D), most, alpha in kinds:
        q, k = torch.rand(2, B, H, T, D, generator=draw) + 0.5
        signs = torch.randint(2, (2, B, H, T, D), generator=draw) * 2 - 1
        times = torch.arange(2) if most == 1 else torch.randint(-most, most + 1, (T,), generator=draw)
        times[0] = most
        omega = steady if D == 4 else torch.rand(D, generator=draw) * 0.8 + 0.1
        masked = (torch.rand(B, T, generator=draw) < 0.5) & torch.tensor(hidden)
        masked[:, 0] = hidden
        what = f"q and k of shape {(B, H, T, D)} at {describe(times)}, alpha {alpha:g}"
        what += f", masked {describe(masked.int())}" if hidden else ", nothing masked"
        yield Case(what, (q * signs[0], k * signs[1], times, omega, masked, alpha))


FIXED_PHASE = Exercise(
    TASKS["45 degrees ahead"],
    [
        Agrees(partial(draw_waves, hidden=hidden), exact_phase, PHASE_MISTAKES, view=gated_scores, atol=1e-3)
        for hidden in (False, True)
    ],
    fixed_phase_answer,
)

OMEGA = (1.0, 0.5, 0.25, 0.125)
RIGHT = 2
FAR = 8
LEAD = 0.5


def phases(answer: Any, _: Any = None) -> Tensor:
    """Return the learner's phases (4,). Raises Unusable if they are not four finite numbers."""
    numbers = as_numbers(answer)
    if numbers is None or numbers.shape != (len(OMEGA),) or not numbers.isfinite().all():
        raise Unusable(f"this should be {len(OMEGA)} finite phases, and is {describe(answer)}")
    return numbers.double()


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
    require(lead >= 0.1, f"{RIGHT} to the right is only {format_beyond(lead, 0.1)} {least}")


LOOK_RIGHT = Exercise(
    TASKS["A head that looks two to the right"],
    [phases, breaks_the_mirror, looks_right],
    [-2.0, -1.0, -0.5, -0.25],
)

EXERCISES = (CONTROLS, FIXED_PHASE, LOOK_RIGHT)
