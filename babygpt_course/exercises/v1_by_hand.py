"""An exercise of notebook 01: a v1 whose weights are set by hand."""

from __future__ import annotations

from typing import Any

import torch
from torch import Generator, Tensor

from babygpt_course.exercises.base import Check, Exercise, Wrong, ask
from babygpt_course.exercises.compare import difference, shown, wrong_shape
from babygpt_course.exercises.draws import integer


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


def squeezed_stub(table: Tensor, n_embd: int) -> tuple[Tensor, Tensor, Tensor]:
    """Embedding (V, n_embd), head (V, n_embd) and bias (V,) of a v1 with this table and few channels."""
    V = len(table)
    return torch.eye(V)[:, :n_embd], table.log().T[:, :n_embd], torch.zeros(V)


def squeezed_answer(table: Tensor, n_embd: int) -> tuple[Tensor, Tensor, Tensor]:
    """Embedding (V, n_embd), head (V, n_embd) and bias (V,) of a v1 with this table and few channels."""
    logits = table.log()
    logits = logits - logits.mean(dim=1, keepdim=True)  # a softmax does not see what a row shares
    bias = logits.mean(dim=0)  # what all rows share
    U, S, Vh = torch.linalg.svd(logits - bias)
    root = S[:n_embd].sqrt()
    return U[:, :n_embd] * root, Vh[:n_embd].T * root, bias


def narrow_tables(draw: Generator, with_bias: bool) -> list[tuple[Tensor, int]]:
    """Tables (V, V) that fewer channels than V can give, and that number of channels."""
    found = []
    for V, n_embd in ((3, 1), (5, 2), (9, 4)):
        E, W = torch.randn(2, V, n_embd, generator=draw, dtype=torch.float64)
        bias = torch.randn(V, generator=draw, dtype=torch.float64) if with_bias else 0.0
        found.append(((E @ W.T + bias).softmax(dim=-1), n_embd))
    return found


def squeezes(attempt: Any, draw: Generator, with_bias: bool) -> None:
    for table, n_embd in narrow_tables(draw, with_bias):
        V = len(table)
        what = f"a table of {V} characters and n_embd {n_embd}"
        got = ask(attempt, table, n_embd, what=what)
        if not isinstance(got, tuple | list) or len(got) != 3:
            raise Wrong(f"for {what} came out: {shown(got)}; should be three tensors: embedding, head, bias")
        shapes = {"embedding": (V, n_embd), "head": (V, n_embd), "bias": (V,)}
        for (name, shape), part in zip(shapes.items(), got, strict=True):
            if text := wrong_shape(part, shape):
                raise Wrong(f"for {what} the {name}: {text}")
        embedding, head, bias = (torch.as_tensor(part).detach().double() for part in got)
        if text := difference((embedding @ head.T + bias).softmax(dim=-1), table):
            rest = torch.linalg.matrix_rank(table.log()).item()
            why = f"ln p itself has rank {rest}: what a row shares, and what all rows share, need no channel"
            raise Wrong(f"for {what} your v1's table {text}. {why}")


def squeezes_rows(attempt: Any, draw: Generator) -> None:
    squeezes(attempt, draw, with_bias=False)


def squeezes_all(attempt: Any, draw: Generator) -> None:
    squeezes(attempt, draw, with_bias=True)


SQUEEZED = Exercise(
    name="A v1 with few channels",
    task=(
        "With fewer channels than characters most tables are out of reach, and some are not. You are given "
        "a `table` (V, V) that *some* v1 with `n_embd` channels has, n_embd below V, all probabilities above "
        "0. Write `squeezed(table, n_embd)`: embedding (V, n_embd), the head's weight (V, n_embd) and its "
        "bias (V,) of such a v1, found without training."
    ),
    level="stretch",
    minutes=20,
    checks=(
        Check("tables without a bias", squeezes_rows),
        Check("tables with a bias", squeezes_all),
    ),
    hints=(
        "`embedding @ head.T` has rank n_embd at most. Which logits of the table have so low a rank?",
        "To each row of ln p you may add a number (the softmax cancels it), and to each column (the bias).",
        "Make all rows average 0, put the columns' means into the bias, and cut what remains in two with "
        "`torch.linalg.svd`.",
    ),
    stub=squeezed_stub,
    answer=squeezed_answer,
)
