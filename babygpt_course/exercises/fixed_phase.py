"""An exercise of notebook 07b: quadrature gates whose keys stand 45 degrees ahead, and alpha on keys."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt_course.exercises.base import Check, Exercise, Wrong, ask
from babygpt_course.exercises.compare import difference, shown, wrong_shape
from babygpt_course.exercises.picture import Picture


def fixed_phase_stub(
    q: Tensor, k: Tensor, positions: Tensor, omega: Tensor, masked: Tensor, alpha: float
) -> tuple[Tensor, Tensor]:
    """Quadrature gates with the keys' waves 45° ahead: q and k (B, H, T, D) -> (B, H, T, 2D) each."""
    wave = positions[:, None] * omega
    gates = torch.cat([wave.cos(), wave.sin()], dim=-1)
    return torch.cat([q, q], dim=-1) * gates, torch.cat([k, k], dim=-1) * gates


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


SHAPES = ((1, 1, 2, 1), (1, 2, 3, 2), (2, 3, 6, 4))  # (B, H, T, D)


def phased(attempt: Any, draw: Generator, hidden: bool) -> list[tuple[Tensor, dict[str, Tensor], str]]:
    """For each shape the learner's scores (B, H, T, T), those of right and wrong gates, and what was asked.

    hidden  whether some tokens are MASK
    """
    found = []
    for B, H, T, D in SHAPES:
        q, k = torch.randn(2, B, H, T, D, generator=draw)
        places = torch.randint(0, 40, (T,), generator=draw)
        omega, alpha = torch.rand(D, generator=draw) + 0.1, float(torch.rand((), generator=draw)) * 0.5 + 0.1
        masked = (torch.rand(B, T, generator=draw) < 0.5) & torch.tensor(hidden)
        masked[:, 0] = hidden
        what = f"q and k of shape {(B, H, T, D)} at {shown(places)}, alpha {alpha:.2f}"
        what += f", masked {masked.int().tolist()}" if hidden else ", nothing masked"
        got = ask(attempt, q, k, places, omega, masked, alpha, what=what)
        found.append(
            (scores_of(got, (B, H, T, 2 * D), what), gated(q, k, places, omega, masked, alpha), what)
        )
    return found


def scores_of(got: Any, shape: tuple[int, ...], what: str) -> Tensor:
    """Scores of the learner's queries and keys. Raises Wrong if they are none."""
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise Wrong(f"for {what} came out: {shown(got)}; should be two tensors: queries and keys")
    for name, part in zip(("queries", "keys"), got, strict=True):
        if text := wrong_shape(part, shape):
            raise Wrong(f"for {what} the {name}: {text}")
    queries, keys = (torch.as_tensor(part).detach().double() for part in got)
    return queries @ keys.mT


def gated(
    q: Tensor, k: Tensor, places: Tensor, omega: Tensor, masked: Tensor, alpha: float
) -> dict[str, Tensor]:
    """Scores by their formula, under "", and those of somebody who makes a mistake, under what to say."""
    angle = (places[:, None] - places)[..., None] * omega  # (Tq, Tk, D)
    products = q[..., :, None, :] * k[..., None, :, :]  # (B, H, Tq, Tk, D)
    size = torch.where(masked, alpha, 1.0)[:, None, :]  # (B, 1, T)

    def score(phase: float) -> Tensor:
        return (products * (angle - phase).cos()).sum(dim=-1).double()

    right = score(math.pi / 4)
    return {
        "": right * size[..., None, :],
        "The phases are missing: queries and keys have one wave": score(0.0) * size[..., None, :],
        "The key's wave is ahead: its angle is *larger*": score(-math.pi / 4) * size[..., None, :],
        "45 degrees are π/4: `cos` and `sin` take radians": score(45.0) * size[..., None, :],
        "Where is α?": right,
        "α belongs to the keys. On queries it flattens the attention of those that must be filled in": (
            right * size[..., :, None]
        ),
        "α is there twice: on queries as well as on keys": right * size[..., None, :] * size[..., :, None],
    }


def compare_scores(attempt: Any, draw: Generator, hidden: bool) -> None:
    for got, formulas, what in phased(attempt, draw, hidden):
        if text := difference(got, formulas[""]):
            told = [f". {said}" for said, wrong in formulas.items() if said and not difference(got, wrong)]
            raise Wrong(f"for {what} the scores {text}{told[0] if told else ''}")


def phase_is_fixed(attempt: Any, draw: Generator) -> None:
    compare_scores(attempt, draw, hidden=False)


def masks_are_gated(attempt: Any, draw: Generator) -> None:
    compare_scores(attempt, draw, hidden=True)


def scores_drawn(attempt: Any) -> Tensor:
    """Scores of equal queries and keys at 24 places, every sixth of them MASK: (T, T)."""
    x, omega = torch.ones(1, 1, 24, 4), torch.tensor([0.6, 0.3, 0.2, 0.1])
    masked = (torch.arange(24) % 6 == 5)[None]
    queries, keys = attempt(x, x, torch.arange(24), omega, masked, 0.3)
    return (queries @ keys.mT)[0, 0]


FIXED_PHASE = Exercise(
    name="45 degrees ahead",
    task=(
        "The stub has quadrature gates: a query at i is multiplied by cos(iω) and sin(iω), a key at j by "
        "cos(jω) and sin(jω); `positions` (T,) holds the places, `omega` (D,) a frequency for each channel. "
        "Give them a *fixed* phase: the wave of every key stands 45 degrees ahead of a query's at the same "
        "place, so that a score is Σ q k cos(dω − π/4) with d = i − j. And give MASK tokens their gate: "
        "where `masked` (B, T) is True, a **key** is multiplied by `alpha`; queries are not."
    ),
    level="core",
    minutes=12,
    checks=(
        Check("the phase", phase_is_fixed),
        Check("and α on the keys of MASK tokens", masks_are_gated),
    ),
    hints=(
        "Only the keys' wave changes: an angle is added to it. cos a cos b + sin a sin b = cos(a − b).",
        "`torch.where(masked, alpha, 1.0)` is (B, T); keys are (B, H, T, 2D).",
    ),
    stub=fixed_phase_stub,
    answer=fixed_phase_answer,
    picture=Picture(scores_drawn, "place of the key", "place of the query"),
)
