"""Exercises of notebook 04: RoPE in another layout, distances only, heads ranked, whole names."""

from __future__ import annotations

from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.encodings.rotary import rotate
from babygpt_course.exercises.base import Check, Exercise, Wrong, ask
from babygpt_course.exercises.compare import difference, shown, wrong_shape
from babygpt_course.exercises.picture import Picture
from babygpt_course.exercises.ranking import RANKING
from babygpt_course.exercises.relative import RELATIVE
from babygpt_course.exercises.whole_names import WHOLE_NAMES

SHAPES = ((1, 1, 1, 2), (1, 1, 2, 4), (2, 3, 5, 8), (1, 2, 4, 6))  # (B, H, T, D), the smallest first


def half_split_stub(x: Tensor, positions: Tensor, theta: float = 10_000.0) -> Tensor:
    """Rotate channel i with channel i + D/2 by positions · theta^(−2i/D): (B, H, T, D) -> the same."""
    return x


def half_split_answer(x: Tensor, positions: Tensor, theta: float = 10_000.0) -> Tensor:
    """Rotate channel i with channel i + D/2 by positions · theta^(−2i/D): (B, H, T, D) -> the same."""
    D = x.shape[-1]
    angle = positions[:, None] * theta ** (-2 * torch.arange(D // 2) / D)  # (T, D/2)
    first, second = x[..., : D // 2], x[..., D // 2 :]
    turned = first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()
    return torch.cat(turned, dim=-1)


def cases(draw: Generator) -> list[tuple[Tensor, Tensor, float, str]]:
    """Inputs of growing size, at positions and with a theta that the text never names, and their words."""
    found = []
    for shape in SHAPES:
        x = torch.randn(shape, generator=draw)
        positions = torch.randint(0, 40, (shape[2],), generator=draw)
        theta = float(torch.randint(50, 5000, (), generator=draw))
        what = f"x of shape {shape}, positions {shown(positions)}, theta {theta:.0f}"
        found.append((x, positions, theta, what))
    return found


def keeps_lengths(attempt: Any, draw: Generator) -> None:
    for x, positions, theta, what in cases(draw):
        got = ask(attempt, x, positions, theta, what=what)
        if text := wrong_shape(got, tuple(x.shape)):
            raise Wrong(f"for {what} {text}")
        if text := difference(torch.as_tensor(got).norm(dim=-1), x.norm(dim=-1)):
            raise Wrong(f"for {what} lengths of the vectors: {text}. A rotation keeps them")


def stays_at_zero(attempt: Any, draw: Generator) -> None:
    for x, positions, theta, what in cases(draw):
        got = ask(attempt, x, 0 * positions, theta, what=what + " times 0")
        if text := difference(got, x):
            raise Wrong(f"at position 0 nothing turns; for {what} times 0 {text}")


def turns_as_asked(attempt: Any, draw: Generator) -> None:
    for x, positions, theta, what in cases(draw):
        got = ask(attempt, x, positions, theta, what=what)
        halves = torch.arange(x.shape[-1]).view(2, -1).T.flatten()  # 0, D/2, 1, D/2 + 1, ...
        want = rotate(x[..., halves], positions, theta)[..., halves.argsort()]
        if text := difference(got, want):
            raise Wrong(f"for {what} {text}")


def turned_drawn(attempt: Any) -> Tensor:
    """A vector whose first half is 1 and whose second is 0, rotated at 32 places: (T, D)."""
    x = torch.cat([torch.ones(8), torch.zeros(8)]).expand(1, 1, 32, 16)
    return attempt(x, torch.arange(32), 100.0)[0, 0]


HALF_SPLIT = Exercise(
    name="Half-split RoPE",
    task=(
        "Most large models pair channel $i$ with channel $i + D/2$, not with its neighbour. Write "
        "`half_split(x, positions, theta)` for `x` of shape (B, H, T, D) and `positions` (T,), any whole "
        "numbers: pair $i$ turns by `positions` · $\\theta^{-2i/D}$, in the direction of this notebook's "
        "`rotate_real`. The checker knows that both layouts are one up to the order of channels, and "
        "compares yours with the package's on shuffled channels."
    ),
    level="core",
    minutes=10,
    checks=(
        Check("keeps every vector's length", keeps_lengths),
        Check("leaves position 0 alone", stays_at_zero),
        Check("turns each pair by its own angle", turns_as_asked),
    ),
    hints=(
        "Cut x into two halves of D/2 channels: the first components of all pairs, and the second ones.",
        "A pair (a, b) turned by φ is (a cos φ − b sin φ, a sin φ + b cos φ).",
        "The angles have shape (T, D/2): `positions[:, None] * theta ** (-2 * torch.arange(D // 2) / D)`.",
    ),
    stub=half_split_stub,
    answer=half_split_answer,
    picture=Picture(turned_drawn, "channel", "position (tokens)"),
)

EXERCISES = (HALF_SPLIT, RELATIVE, RANKING, WHOLE_NAMES)
