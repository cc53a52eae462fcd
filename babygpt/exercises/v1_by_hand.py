"""An exercise of notebook 01: a v1 whose weights are set by hand."""

from __future__ import annotations

from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.exercises.base import Check, Exercise, Wrong, ask
from babygpt.exercises.compare import difference, shown, wrong_shape
from babygpt.exercises.draws import integer


def by_hand_stub(table: Tensor, bias: Tensor, n_embd: int) -> tuple[Tensor, Tensor]:
    """Embedding (V, n_embd) and head (V, n_embd) of a v1 with this bias that has this bigram table."""
    return torch.zeros(len(table), n_embd), torch.zeros(len(table), n_embd)


def by_hand_answer(table: Tensor, bias: Tensor, n_embd: int) -> tuple[Tensor, Tensor]:
    """Embedding (V, n_embd) and head (V, n_embd) of a v1 with this bias that has this bigram table."""
    V = len(table)
    logits = table.clamp(min=1e-30).log() - bias  # (V, V), without what the bias adds
    embedding, head = torch.zeros(V, n_embd), torch.zeros(V, n_embd)
    embedding[:, :V] = torch.eye(V)
    head[:, :V] = logits.T
    return embedding, head


def tables(draw: Generator, zeros: bool) -> list[tuple[Tensor, Tensor, int]]:
    """Bigram tables (V, V), a bias (V,) each, and a number of channels, at least V."""
    found = []
    for V in (2, 3, 7):
        table = torch.rand(V, V, generator=draw) + 0.1
        if zeros:
            table[torch.arange(V), torch.randperm(V, generator=draw)] = 0.0
        bias = torch.randn(V, generator=draw)
        found.append((table / table.sum(dim=1, keepdim=True), bias, V + integer(draw, 0, 4)))
    return found


def v1_table(attempt: Any, table: Tensor, bias: Tensor, n_embd: int, what: str) -> Tensor:
    """The bigram table of a v1 with the weights that the learner gives it."""
    V = len(table)
    got = ask(attempt, table, bias, n_embd, what=what)
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise Wrong(f"for {what} came out: {shown(got)}; should be two tensors: embedding and head")
    for name, part in zip(("embedding", "head"), got, strict=True):
        if text := wrong_shape(part, (V, n_embd)):
            raise Wrong(f"for {what} the {name}: {text}")
    embedding, head = (torch.as_tensor(part).detach().float() for part in got)
    logits = embedding @ head.T + bias
    if logits.isnan().any():
        raise Wrong(f"for {what} logits are nan. ln 0 is −∞, and 0 times −∞ is no number: use a very small p")
    return logits.softmax(dim=-1)


def gives_tables(attempt: Any, draw: Generator, zeros: bool) -> None:
    for table, bias, n_embd in tables(draw, zeros):
        what = f"a table of {len(table)} characters, bias {shown(bias)} and n_embd {n_embd}"
        got = v1_table(attempt, table, bias, n_embd, what)
        if text := difference(got, table):
            mistakes = {
                "The bias comes on top of your logits: take it off": (table.log() + bias).softmax(dim=-1),
                "That is the table of the character *before*: exchange rows and columns": (
                    (table.log() - bias).T + bias
                ).softmax(dim=-1),
                "Those are the probabilities as logits; where is the logarithm?": (table + bias).softmax(-1),
            }
            told = [f". {said}" for said, wrong in mistakes.items() if not difference(got, wrong)]
            raise Wrong(f"for {what} your v1's table {text}{told[0] if told else ''}")


def all_possible(attempt: Any, draw: Generator) -> None:
    gives_tables(attempt, draw, zeros=False)


def some_impossible(attempt: Any, draw: Generator) -> None:
    gives_tables(attempt, draw, zeros=True)


BY_HAND = Exercise(
    name="A v1 by hand",
    task=(
        "Write `by_hand(table, bias, n_embd)`, which returns the embedding and the head's weight, both "
        "(V, n_embd), of a v1 whose table is `table`: row a, column b is the probability of b after a. "
        "The head's bias (V,) is given and is *not* zero, n_embd may be larger than V, and some pairs never "
        "come (probability 0)."
    ),
    level="core",
    minutes=10,
    checks=(
        Check("tables in which all pairs are possible", all_possible),
        Check("tables with pairs that never come", some_impossible),
    ),
    hints=(
        "v1's logits are `embedding @ head.T + bias`, and their softmax should be the table. Work backwards.",
        "One channel for each character (an identity matrix), and zeros in the channels that are too many.",
        "The head then holds ln p − bias, transposed; `table.clamp(min=1e-30)` keeps ln 0 out.",
    ),
    stub=by_hand_stub,
    answer=by_hand_answer,
)
