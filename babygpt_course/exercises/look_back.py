"""An exercise of notebook 03b: a head, set by hand, that looks n tokens back."""

from __future__ import annotations

from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt_course.exercises.base import Check, Exercise, Wrong, ask
from babygpt_course.exercises.compare import shown, wrong_shape
from babygpt_course.exercises.draws import integer
from babygpt_course.exercises.picture import Picture


def look_back_stub(n: int, n_embd: int) -> tuple[Tensor, Tensor]:
    """Matrices (n_embd, n_embd) of the queries and of the keys of a head that looks n tokens back."""
    return torch.eye(n_embd), torch.eye(n_embd)


def look_back_answer(n: int, n_embd: int) -> tuple[Tensor, Tensor]:
    """Matrices (n_embd, n_embd) of the queries and of the keys of a head that looks n tokens back."""
    back = torch.zeros(n_embd, n_embd)
    for i, omega in enumerate(frequencies(n_embd).tolist()):
        turn = torch.tensor(-n * omega)  # the code of m, turned into the code of m - n
        pair = slice(2 * i, 2 * i + 2)
        back[pair, pair] = torch.tensor([[turn.cos(), turn.sin()], [-turn.sin(), turn.cos()]])
    return 100.0 * back, torch.eye(n_embd)


def head_weights(attempt: Any, n: int, n_embd: int, start: int, length: int) -> tuple[Tensor, Tensor, str]:
    """The weights and the unmasked scores (T, T) of the learner's head, and what was asked."""
    what = f"n = {n}, n_embd = {n_embd}"
    got = ask(attempt, n, n_embd, what=what)
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise Wrong(f"for {what} came out: {shown(got)}; should be two matrices: of the queries, of the keys")
    for name, part in zip(("queries", "keys"), got, strict=True):
        if text := wrong_shape(part, (n_embd, n_embd)):
            raise Wrong(f"for {what} the matrix of the {name}: {text}")
    to_q, to_k = (torch.as_tensor(part).detach().double() for part in got)
    codes = sinusoid(torch.arange(start, start + length), n_embd).double()
    scores = (codes @ to_q.T) @ (codes @ to_k.T).T / n_embd**0.5
    if not scores.isfinite().all():
        raise Wrong(f"for {what} some scores are not finite: {shown(scores[~scores.isfinite()])}")
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -torch.inf).softmax(dim=-1), scores, what


def cases(draw: Generator) -> list[tuple[int, int]]:
    """Steps back and channels, the smallest first."""
    return [(1, 8), (integer(draw, 2, 5), 16), (integer(draw, 5, 12), 2 * integer(draw, 9, 20))]


def looks(attempt: Any, given: list[tuple[int, int]], start: int, least: float) -> None:
    """Whether each token gives the one n steps before it more weight than any other, and at least so much."""
    for n, n_embd in given:
        weights, scores, what = head_weights(attempt, n, n_embd, start, n + 64)
        for m in range(n, len(weights)):
            at, share = int(weights[m].argmax()), float(weights[m, m - n])
            place = f"for {what} the token at {start + m}"
            if at != m - n:
                ahead = m + n < len(scores) and int(scores[m].argmax()) == m + n
                told = f". Without the mask it looks {n} *ahead*: turn the other way round" if ahead else ""
                raise Wrong(f"{place} looks {m - at} tokens back, should be {n}{told}")
            if share < least:
                told = "the scores lie too close together: make them larger, and the softmax gets sharper"
                raise Wrong(f"{place} gives the right one only {share:.0%} of its weight; {told}")


def looks_at_itself(attempt: Any, draw: Generator) -> None:
    looks(attempt, [(0, 2 * integer(draw, 4, 10))], 0, 0.0)


def looks_back(attempt: Any, draw: Generator) -> None:
    looks(attempt, cases(draw), 0, 0.0)


def looks_anywhere(attempt: Any, draw: Generator) -> None:
    looks(attempt, cases(draw), integer(draw, 200, 3000), 0.0)


def looks_sharply(attempt: Any, draw: Generator) -> None:
    looks(attempt, cases(draw), integer(draw, 0, 50), 0.9)


def weights_drawn(attempt: Any) -> Tensor:
    """The weights (T, T) of a head of 32 channels that looks five tokens back."""
    return head_weights(attempt, 5, 32, 0, 24)[0]


LOOK_BACK = Exercise(
    name="A head that looks n tokens back",
    task=(
        "Token m of a text has the code `sinusoid(torch.tensor(m), n_embd)`, and nothing else. Write "
        "`look_back(n, n_embd)`, which returns two matrices (n_embd, n_embd): `to_q` and `to_k`. With "
        "`q = code @ to_q.T` and `k = code @ to_k.T`, causal attention (scores divided by √n_embd) must give "
        "each token's weight to the one n before it, at least 90% of it, at any place of the text. No "
        "training: "
        "you know enough to write them down. `frequencies(n_embd)` are the angular frequencies."
    ),
    level="stretch",
    minutes=20,
    checks=(
        Check("n = 0: each token looks at itself", looks_at_itself),
        Check("each token looks n back", looks_back),
        Check("also far along the text", looks_anywhere),
        Check("and with 90% of its weight", looks_sharply),
    ),
    hints=(
        "The code of m − n is the code of m, turned. Whose dot product with it is largest?",
        "Keys: the identity. Queries: a matrix that turns each pair (sin, cos) back by n times its "
        "frequency.",
        "One pair: `[[cos φ, sin φ], [−sin φ, cos φ]]` with φ = −n·ω takes (sin, cos) of m to those of m − "
        "n. "
        "Then multiply the whole matrix until the softmax is sharp.",
    ),
    stub=look_back_stub,
    answer=look_back_answer,
    picture=Picture(weights_drawn, "token looked at", "token that looks"),
)
