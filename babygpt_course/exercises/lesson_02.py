"""Exercises of notebook 02: who voted for what, and what no sum can say."""

from itertools import product
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from babygpt_course.exercises.checks import ask_bool, ask_tensors, equal_texts, require
from babygpt_course.exercises.compare import describe, format_beyond
from babygpt_course.exercises.exercise import Exercise, each, integer, read_tasks

TASKS = read_tasks("lesson_02")


def votes_answer(E: Tensor, P: Tensor, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Votes of each token (V, V) and of each position (T, V), the latter 0 on average over positions."""
    of_token, of_position = E @ W.T + b, P @ W.T
    mean = of_position.mean(dim=0)
    return of_token + mean, of_position - mean


def splits_votes(attempt: Any, draw: Generator, aspect: str) -> None:
    """Ask for the votes of v2 in several sizes; look at their sum, or at the positions' mean or steps."""
    for V, T, C in ((2, 3, 1), (4, 2, 3), (5, 7, 4), (5, 7, 4), (3, 1, 2), (9, 300, 4)):
        E, P, W, b = (torch.randn(shape, generator=draw) + 0.5 for shape in ((V, C), (T, C), (V, C), (V,)))
        what = f"V = {V} tokens, T = {T} positions and C = {C} channels"
        shapes = {"votes of the tokens": (V, V), "votes of the positions": (T, V)}
        of_token, of_position = ask_tensors(attempt, E, P, W, b, what=what, shapes=shapes)
        off = of_token + of_position[:, None] - (E + P[:, None]) @ W.T - b  # (T, V, V)
        mistakes = {
            ". The positions' mean, taken from them, must go to the tokens": -(P @ W.T).mean(dim=0),
            ". The bias is missing": -b,
            ". The bias is there twice": b,
        }
        explanation = next((sentence for sentence, x in mistakes.items() if (off - x).abs().max() < 1e-4), "")
        worst, mean = describe(off.flatten()[off.abs().argmax()]), of_position.mean(dim=0)
        steps, want = of_position - of_position[0], (P - P[0]) @ W.T
        last = f"position {T - 1} differ from those of position 0 by {describe(steps[-1])}"
        excess, wrong = {
            "sum": (off, f"token + position is not v2's logits: off by {worst}{explanation}"),
            "mean": (mean, f"the positions vote {describe(mean)} on average; should be 0 for each character"),
            "step": (steps - want, f"the votes of {last}; should be {describe(want[-1])}"),
        }[aspect]
        require(excess.abs().max() < 2e-4, f"for {what} {wrong}")


def votes_matrix(attempt: Any) -> Tensor:
    """Return the votes of the positions in a v2 of twelve positions and eight characters: (T, V)."""
    draw = Generator().manual_seed(0)
    E, P, W, b = (torch.randn(shape, generator=draw) for shape in ((8, 3), (12, 3), (8, 3), (8,)))
    return attempt(E, P, W, b)[1]


VOTES = Exercise(
    TASKS["Who voted for what"],
    each(splits_votes, "sum", "mean", "step"),
    votes_answer,
    picture=(votes_matrix, "character voted for", "position"),
)


def v2_can_answer(table: Tensor) -> bool:
    """Whether some v2 gives these probabilities (T, V, V), of position, token and next token."""
    logits = table.log()
    logits = logits - logits.mean(dim=2, keepdim=True)  # a softmax does not see what a whole row shares
    of_position, of_token = logits.mean(dim=1, keepdim=True), logits.mean(dim=0, keepdim=True)
    rest = logits - of_position - of_token + logits.mean(dim=(0, 1))
    return bool(rest.abs().max() < 1e-3)


def cube_exceptions(votes: Tensor, draw: Generator) -> dict[str, Tensor]:
    """Add 0.4 or −0.4 to the 8 corners of a drawn cube of the votes, so that each mean stays as it is."""
    if min(votes.shape) < 2:
        return {}
    edges = [torch.randperm(n, generator=draw)[:2].sort().values for n in votes.shape]
    corners = torch.cartesian_prod(*[torch.arange(2)] * 3)  # (8, 3)
    indices = tuple(end[corner] for end, corner in zip(edges, corners.T, strict=True))
    changed = votes.index_put(indices, 0.4 * (-1.0) ** corners.sum(dim=1), accumulate=True)
    where = ", ".join(f"{a} and {b}" for a, b in (end.tolist() for end in edges))
    return {f"a sum, with opposite exceptions at positions, tokens and candidates {where}": changed}


def classifies(attempt: Any, draw: Generator, kind: str) -> None:
    """Ask whether v2 can have tables (T, V, V) of probabilities, the smallest first."""
    many = integer(draw, 9, 12), integer(draw, 7, 10)  # one exception among so many hardly moves a mean
    for T, V in [(2, 2), (3, 4), (integer(draw, 4, 9), integer(draw, 4, 7)), many]:
        position, token = torch.randn(T, 1, V, generator=draw), torch.randn(1, V, V, generator=draw)
        want, votes = kind in ("sums", "one alone"), position + token
        mean = (3 * position).softmax(-1) + (3 * token).softmax(-1)
        centred = mean.log() - mean.log().mean(dim=-1, keepdim=True)
        steps = centred - centred[:1]
        mixed = (steps - steps[:, :1]).abs().max() > 0.1  # few draws give nearly a sum: these are left out
        cell = [integer(draw, 0, size) for size in votes.shape]
        spot = torch.tensor(cell[:1] * 2), torch.tensor(cell[1:2] * 2), torch.tensor([V - 2, V - 1])
        late, small = [T - 1, max(1, T - 2)], 0.02 if many == (T, V) else 0.05
        tokens = [V - 1, max(1, V - 2)]  # neither position 0 nor token 0 takes part in opposite exceptions
        opposite = {f"positions {late} after token {V - 1}": (late, [V - 1] * 2)} if T > 2 else {}
        opposite |= {f"position {T - 1} after tokens {tokens}": ([T - 1] * 2, tokens)} if V > 2 else {}
        tables = {
            "sums": {
                "the softmax of a position's and a token's votes": votes,
                "the softmax of twice as many votes": 2 * votes,
            },
            "one alone": {
                "a bigram table, the same at every position": token + 0 * position,
                "a table that does not care for the token": position + 0 * token,
            },
            "mean": {"the mean of a position's and a token's probabilities": mean.log()} if mixed else {},
            "exception": {
                f"a sum, with an exception at position {cell[0]} that leaves the row's mean as it is": (
                    votes.index_put(spot, torch.tensor([0.4, -0.4]), accumulate=True)
                )
            }
            | {
                f"a sum, with opposite exceptions at {where}": votes.index_put(
                    (torch.tensor(t), torch.tensor(a), torch.tensor(cell[2:] * 2)),
                    torch.tensor([0.4, -0.4]),
                    accumulate=True,
                )
                for where, (t, a) in opposite.items()
            }
            | cube_exceptions(votes, draw)
            | {
                f"a sum, with an exception of {size} nats at position {t} after token {a}": votes.index_put(
                    tuple(map(torch.tensor, (t, a, b))), torch.tensor(size), accumulate=True
                )
                for size, (t, a, b) in product((small, -small, 1.0, -3.0), (cell, (T - 1, V - 1, V - 1)))
            },
        }[kind]
        for name, table in ((name, of_it.softmax(-1).double()) for name, of_it in tables.items()):
            what, row = f"T = {T}, V = {V}: {name},", f"Row by row it begins {describe(table.flatten())}"
            hint = ". What all of a row of ln p shares does not count" * want
            got = ask_bool(attempt, table, what=what)
            require(got == want, f"for {what} came out: {got}; should be: {want}. {row}{hint}")


ADDITIVE = Exercise(
    TASKS["What can v2 say?"], each(classifies, "sums", "one alone", "mean", "exception"), v2_can_answer
)


MOST, GAP = 16, 0.3


def few_texts(answer: Any, _: Any = None) -> tuple[str, ...]:
    return equal_texts(answer, MOST, 2, MOST)


def v2_fails(answer: Any, _: Generator) -> None:
    """Find the lowest loss of any v2 on the texts: a convex problem, solved by L-BFGS."""
    texts = few_texts(answer)
    letters = sorted(set("".join(texts)))
    ids = torch.tensor([[letters.index(letter) for letter in text] for text in texts])
    N, T, V = len(texts), ids.shape[1] - 1, len(letters)
    position, token, following = torch.arange(T).repeat(N), ids[:, :-1].flatten(), ids[:, 1:].flatten()
    votes = torch.zeros(T + V, V, dtype=torch.float64, requires_grad=True)  # of positions, then of tokens
    solver = torch.optim.LBFGS([votes], max_iter=300, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        solver.zero_grad()
        mean_loss = F.cross_entropy(votes[position] + votes[T + token], following)
        mean_loss.backward()
        return mean_loss

    solver.step(loss)
    lowest = loss().item()
    loses = f"the best v2 loses {format_beyond(lowest, GAP)} nats per prediction on it"
    require(lowest >= GAP, f"{loses}; should be {GAP} or more")


def leaves_no_doubt(answer: Any, _: Generator) -> None:
    texts = few_texts(answer)
    for position, token in ((p, text[p]) for text in texts for p in range(len(text) - 1)):
        after = sorted({text[position + 1] for text in texts if text[position] == token})
        listed = " and ".join(map(repr, after))
        require(len(after) == 1, f"at position {position}, after {token!r}, come {listed}")


BEYOND_V2 = Exercise(
    TASKS["A text that v2 cannot learn"], [few_texts, leaves_no_doubt, v2_fails], ["aab", "bba"], seconds=20.0
)

EXERCISES = (VOTES, ADDITIVE, BEYOND_V2)
