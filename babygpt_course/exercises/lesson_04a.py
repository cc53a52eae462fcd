"""Exercises of notebook 04a: half-split RoPE, weights for another layout."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.encodings.rotary import rotate
from babygpt.encodings.sinusoidal import frequencies
from babygpt_course.exercises.checks import ask_tensor, expect, require_equal
from babygpt_course.exercises.compare import describe, difference
from babygpt_course.exercises.exercise import Exercise, each, integer, read_tasks

TASKS = read_tasks("lesson_04a")


def half_split_answer(x: Tensor, positions: Tensor, theta: float = 10_000.0) -> Tensor:
    """Rotate channel i with channel i + D/2 by positions · theta^(−2i/D): (B, H, T, D) -> the same."""
    D = x.shape[-1]
    angle = positions[:, None] * theta ** (-2 * torch.arange(D // 2) / D)  # (T, D/2)
    first, second = x[..., : D // 2], x[..., D // 2 :]
    turned = first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()
    return torch.cat(turned, dim=-1)


def other_layouts(x: Tensor, positions: Tensor, theta: float) -> dict[str, Tensor]:
    """Rotate with each mistake: sentence for the learner -> (B, H, T, D)."""
    angle = positions[:, None] * frequencies(x.shape[-1], theta).to(x)  # (T, D/2)
    first, second = x.chunk(2, dim=-1)
    halves = torch.cat((-second, first), dim=-1)
    neighbours = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
    split, adjacent = angle.repeat(1, 2), angle.repeat_interleave(2, dim=-1)  # (T, D) each
    by_split = x * split.cos() + neighbours * split.sin()
    by_adjacent = x * adjacent.cos() + halves * adjacent.sin()
    return {
        "The angles are those of halves, but you took the partners of the other layout": by_split,
        "The partners are those of halves, but you took the angles of the other layout": by_adjacent,
        "You rotated neighbours. Channel i belongs with channel i + D/2": rotate(x, positions, theta),
        "That is the opposite direction": half_split_answer(x, -positions, theta),
        "Negative positions turn in the other direction": half_split_answer(x, positions.abs(), theta),
    }


def rotates(attempt: Any, draw: Generator, aspect: str) -> None:
    """Ask for rotations of growing size, at positions and with a theta that the text never names."""
    theta, again = 0.0, (1, 2, 9, 6)  # asked twice with one theta: angles belong to positions, not to a shape
    long = ((1, 1, 70, 12), 300)
    sizes = (((1, 1, 2, 2), 9), ((1, 1, 2, 4), 40), ((2, 3, 5, 8), 40), (again, 3001), (again, 1001), long)
    for shape, most in sizes:  # (B, H, T, D), and the positions' limit, which is odd where float16 is even
        x = torch.randn(shape, generator=draw)
        positions = torch.randint(-most, most, (shape[2],), generator=draw)
        positions[0], positions[-1] = -most, most  # both ends, so that no draw leaves out a large position
        theta = theta if most == 1001 else float(integer(draw, 50, 5000))
        what = f"x of shape {shape}, positions {describe(positions)}, theta {theta:.0f}"
        mistakes = other_layouts(x, positions, theta)
        if aspect == "lengths":
            turned = ask_tensor(attempt, x, positions, theta, what=what, shape=shape)
            hints = [f". {text}" for text, wrong in mistakes.items() if not difference(turned, wrong, 1e-3)]
            hint = [*hints, ". A rotation keeps them: is each pair turned by one angle?"][0]
            require_equal(turned.norm(dim=-1), x.norm(dim=-1), f"{what} lengths:", {}, hint, 1e-3)
        elif aspect == "position 0":
            expect(attempt, x, 0 * positions, theta, want=x, what=f"{what}, but all positions 0,")
        else:
            order = pairs_side_by_side(shape[-1])
            want = rotate(x[..., order], positions, theta)[..., order.argsort()]
            expect(
                attempt,
                x,
                positions,
                theta,
                want=want,
                what=what,
                mistakes=mistakes,
                atol=1e-4 if most < 99 else 1e-3,
            )


def pairs_side_by_side(D: int) -> Tensor:
    """Return the channels in the order 0, D/2, 1, D/2 + 1, ...: (D,)."""
    return torch.arange(D).view(2, -1).T.flatten()


def rotation_matrix(attempt: Any) -> Tensor:
    """Rotate a vector whose first half is 1 and whose second is 0, at positions -8 to 23: (T, D)."""
    x = torch.cat([torch.ones(8), torch.zeros(8)]).expand(1, 1, 32, 16)
    return attempt(x, torch.arange(-8, 24), 100.0)[0, 0]


HALF_SPLIT = Exercise(
    TASKS["Half-split RoPE"],
    each(rotates, "lengths", "position 0", "turns"),
    half_split_answer,
    picture=(rotation_matrix, "channel", "row, of position −8 at the top to 23"),
)


def interleave_rows_answer(weight: Tensor, head_dim: int) -> Tensor:
    """Order the rows of W_q or W_k, (heads · head_dim, C), so that half-split pairs become neighbours."""
    halves = weight.view(-1, 2, head_dim // 2, weight.shape[1])  # (H, 2, D/2, C)
    return halves.transpose(1, 2).reshape(weight.shape)


def misorder(weight: Tensor, head_dim: int) -> dict[str, Tensor]:
    """Order a weight with each mistake: sentence for the learner -> (H · D, C)."""
    heads, order = weight.unflatten(0, (-1, head_dim)), pairs_side_by_side(head_dim)  # (H, D, C)
    back = "That is the way from neighbours to halves: row 1 of a head comes from its row D/2, not row 2"
    return {
        "You left the rows as they were": weight,
        back: heads[:, order.argsort()].flatten(0, 1),
        "Each head has D rows of its own: order these, not all rows": weight[pairs_side_by_side(len(weight))],
        "Only the first head is converted": torch.cat((heads[0, order], weight[head_dim:])),
        "You ordered columns, which belong to the stream. The rows make q and k": (
            interleave_rows_answer(weight.T.contiguous(), head_dim).T
        ),
    }


def rope_scores(matrices: Sequence[Tensor], x: Tensor, positions: Tensor, D: int, split: bool) -> Tensor:
    """Return the scores that W_q and W_k give in half-split or in interleaved layout: (H, T, T)."""
    q, k = ((x @ W.T).unflatten(-1, (-1, D)).transpose(0, 1)[None] for W in matrices)  # 2 of (1, H, T, D)
    if split:
        q, k = (each[..., pairs_side_by_side(D)] for each in (q, k))
    k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
    return (rotate(q, positions) @ rotate(k, positions).mT)[0]


def converts(attempt: Any, draw: Generator, sizes: Sequence[tuple[int, int, int]]) -> None:
    """Convert W_q and W_k, and compare all scores of a text with those of the half-split model.

    sizes  heads of queries, heads of keys, channels of a head
    """
    for n_query, n_key, D in sizes:
        positions = torch.randint(2000, (4,), generator=draw)
        x = torch.randn(4, n_query * D, generator=draw, dtype=torch.float64) / (n_query * D) ** 0.5
        weights = [torch.randn(n * D, n_query * D, generator=draw) for n in (n_query, n_key)]
        got, hints = list[Tensor](), list[set[str]]()
        for name, W in zip(("W_q", "W_k"), weights, strict=True):
            what = f"{name} of shape {tuple(W.shape)} and head_dim {D}"
            got.append(ask_tensor(attempt, W, D, what=what, shape=tuple(W.shape)).double())
            hints.append({text for text, wrong in misorder(W, D).items() if not difference(got[-1], wrong)})
        want = rope_scores([W.double() for W in weights], x, positions, D, split=True)
        what = f"{n_query} query and {n_key} key heads of {D} channels, scores [head, query, key]"
        hint = "".join(f". {text}" for text in sorted(set.intersection(*hints))[:1])
        require_equal(rope_scores(got, x, positions, D, split=False), want, what, {}, hint)
        for name, W, ours in zip(("W_q", "W_k"), weights, got, strict=True):
            what = f"{name} of shape {tuple(W.shape)} and head_dim {D}"
            changed = ". The scores are right, but only the order of the rows may change, not their numbers"
            require_equal(ours, interleave_rows_answer(W, D), what, hint=changed, atol=0)


LAYOUTS = Exercise(
    TASKS["Weights for the other layout"],
    each(
        converts,
        [(1, 1, 4), (1, 1, 6), (1, 1, 64)],
        [(2, 2, 4), (3, 3, 8), (9, 9, 4)],
        [(4, 2, 8), (6, 1, 4)],
    ),
    interleave_rows_answer,
)


EXERCISES = (HALF_SPLIT, LAYOUTS)
