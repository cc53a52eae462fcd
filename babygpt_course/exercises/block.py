"""An exercise of notebook 03a: one block of the Transformer, from its parts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.config import ModelConfig
from babygpt.encodings.base import Encoding, norm
from babygpt.models.transformer import Block, Context
from babygpt.positions import Positions
from babygpt_course.exercises.base import Check, Exercise, Wrong, ask
from babygpt_course.exercises.compare import difference, wrong_shape
from babygpt_course.exercises.draws import shaken


def block_stub(x: Tensor, weights: dict[str, Tensor], n_head: int) -> Tensor:
    """One causal block without position code: the stream (B, T, C) -> the stream (B, T, C)."""
    return x


def block_answer(x: Tensor, weights: dict[str, Tensor], n_head: int) -> Tensor:
    """One causal block without position code: the stream (B, T, C) -> the stream (B, T, C)."""
    B, T, C = x.shape
    D = C // n_head
    q, k, v = (
        (norm(x) @ weights[name].T).view(B, T, n_head, D).transpose(1, 2)  # (B, H, T, D)
        for name in ("to_q", "to_k", "to_v")
    )
    scores = 2 * norm(q) @ norm(k).transpose(-2, -1) / D**0.5
    later = torch.ones(T, T, dtype=torch.bool).triu(1)
    mix = scores.masked_fill(later, -torch.inf).softmax(dim=-1) @ v
    x = x + mix.transpose(1, 2).reshape(B, T, C) @ weights["out"].T
    hidden = (norm(x) @ weights["up"].T).relu() ** 2
    return x + hidden @ weights["down"].T


NAMES = {
    "to_q": "attention.to_q",
    "to_k": "attention.to_k",
    "to_v": "attention.to_v",
    "out": "attention.out",
    "up": "mlp.up",
    "down": "mlp.out",
}
SHAPES = ((1, 1, 2, 1), (1, 3, 4, 2), (2, 6, 12, 3))  # (B, T, C, n_head), the smallest first


def compare(attempt: Any, draw: Generator, *silent: str) -> None:
    """Compare with the package's block, some matrices being zero, so that what they read is not heard."""
    for shape in SHAPES:
        block, weights = drawn_block(shape, draw)
        for name in silent:
            weights[name].zero_()
        x = 2 * torch.randn(shape[:3], generator=draw)
        with torch.inference_mode():
            want = block(x, Context(Encoding(), Positions.arange(shape[1]), None, True, None))
        zero = f", {' and '.join(silent)} zero" if silent else ""
        what = f"x of shape {shape[:3]}, {shape[3]} heads{zero}"
        got = ask(attempt, x, weights, shape[3], what=what)
        if text := difference(got, want):
            raise Wrong(f"for {what} {text}{told(got, want, x, weights, shape[3])}")


def told(got: Any, want: Tensor, x: Tensor, weights: dict[str, Tensor], n_head: int) -> str:
    """What to tell somebody who made a well-known mistake."""
    mistakes = {
        "A block *adds* to the stream: where is x?": want - x,
        "The norm is for what attention and MLP read; the stream itself is not normalised": norm(want),
        "ReLU squared: square what the ReLU lets through": linear_relu(x, weights, n_head),
    }
    found = [said for said, wrong in mistakes.items() if not difference(got, wrong)]
    return f". {found[0]}" if found else ""


def linear_relu(x: Tensor, weights: dict[str, Tensor], n_head: int) -> Tensor:
    """The block with a plain ReLU in its MLP."""
    after = block_answer(x, weights | {"down": 0 * weights["down"]}, n_head)
    return after + (norm(after) @ weights["up"].T).relu() @ weights["down"].T


def leaves_the_stream(attempt: Any, draw: Generator) -> None:
    compare(attempt, draw, "out", "down")


def mlp_alone(attempt: Any, draw: Generator) -> None:
    compare(attempt, draw, "out")


def attention_alone(attempt: Any, draw: Generator) -> None:
    compare(attempt, draw, "down")


def drawn_block(shape: tuple[int, int, int, int], draw: Generator) -> tuple[Block, dict[str, Tensor]]:
    """A block with random weights, and its weights under the names of the task."""
    _, T, C, n_head = shape
    block = Block(ModelConfig(2, block_size=T, n_head=n_head, n_embd=C))
    shaken(block, draw)
    return block, {name: block.get_parameter(f"{long}.weight").detach() for name, long in NAMES.items()}


def no_later_token(attempt: Any, draw: Generator) -> None:
    for shape in SHAPES[1:]:
        _, weights = drawn_block(shape, draw)
        x = torch.randn(shape[:3], generator=draw)
        other = torch.cat([x[:, :-1], -x[:, -1:]], dim=1)
        what = f"x of shape {shape[:3]}, {shape[3]} heads"
        one, two = (ask(attempt, y, weights, shape[3], what=what) for y in (x, other))
        if text := wrong_shape(one, shape[:3]) or wrong_shape(two, shape[:3]):
            raise Wrong(f"for {what} {text}")
        moved = float((torch.as_tensor(one) - torch.as_tensor(two))[:, :-1].abs().max())
        if not moved < 1e-4:
            raise Wrong(f"for {what} the last token, changed, moves what comes out before it by {moved:.2g}")


def whole_block(attempt: Any, draw: Generator) -> None:
    compare(attempt, draw)


BLOCK = Exercise(
    name="A block from its parts",
    task=(
        "Write `block(x, weights, n_head)`, one causal block of this course's Transformer without any "
        "position "
        "code: `x` (B, T, C) is the stream, `weights` a dict of six matrices as `nn.Linear` has them (use "
        "`y @ w.T`): `to_q`, `to_k`, `to_v`, `out` (C, C), `up` (4C, C), `down` (C, 4C). Attention reads a "
        "normalised copy of the stream and adds to it; then the MLP does the same, with ReLU² between "
        "its two matrices. Queries and keys are normalised in each head, and scores are "
        "2 q·k / √D with D = C / n_head. As the norm take `my_norm` of this page, or "
        "`babygpt.encodings.base.norm`."
    ),
    level="stretch",
    minutes=20,
    checks=(
        Check("with nothing to add, the stream stays", leaves_the_stream),
        Check("the MLP's half", mlp_alone),
        Check("attention's half", attention_alone),
        Check("no token hears a later one", no_later_token),
        Check("the whole block", whole_block),
    ),
    hints=(
        "Two lines, each `x = x + something(norm(x))`. The MLP is the shorter one: begin there.",
        "Heads: (B, T, C) → `.view(B, T, n_head, D).transpose(1, 2)` → (B, H, T, D), and back after the mix.",
        "`norm(q)` after the cut into heads, not before; then scores, mask, weights, mix as in the other "
        "exercise, and `out` at the end.",
    ),
    stub=block_stub,
    answer=block_answer,
)
