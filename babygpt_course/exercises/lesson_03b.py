"""Exercises of notebook 03b: positions in a cache, a head that looks back, and pairs it can do without."""

from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt_course.exercises.checks import Unusable, ask, ask_tensors, require, require_equal
from babygpt_course.exercises.compare import SHOWN, beyond, describe, members, whole
from babygpt_course.exercises.exercise import Exercise, each, integer, read_tasks

TASKS = read_tasks("lesson_03b")


def decode_answer(x: Tensor, keys: Tensor, values: Tensor, n_read: int) -> Tensor:
    """Mix (n, C) of n new tokens x (n, C) that follow `n_read` others; the cache holds the last (R, C)."""
    n, C = x.shape
    q = x + sinusoid(torch.arange(n_read, n_read + n), C)
    keys, values = torch.cat([keys, q]), torch.cat([values, x])
    later = torch.ones(n, len(keys), dtype=torch.bool).triu(len(keys) - n + 1)
    return (q @ keys.T / C**0.5).masked_fill(later, -torch.inf).softmax(dim=-1) @ values


def decoded(x: Tensor, keys: Tensor, values: Tensor, at: Tensor, wrong: str = "") -> Tensor:
    """Decode with these positions of the new tokens, and with one fault or none: known mistakes."""
    moved = x + sinusoid(at, x.shape[1])
    keys = torch.cat([keys, x if wrong == "bare keys" else moved])
    values = torch.cat([values, moved if wrong == "coded values" else x])
    query = x if wrong == "bare queries" else moved
    later = torch.ones(len(x), len(keys), dtype=torch.bool).triu(len(keys) - len(x) + 1)
    later &= wrong != "unmasked"
    scores = query @ keys.T / (1 if wrong == "unscaled" else x.shape[1] ** 0.5)
    return scores.masked_fill(later, -torch.inf).softmax(dim=-1) @ values


def decodes(attempt: Any, draw: Generator, new: int, dropped: bool) -> None:
    """Ask for the mix of new tokens after texts of growing length, with all of them in the cache or not."""
    sizes = (
        (0, 2, 1),
        (3, 2, 1),
        (integer(draw, 5, 12), 4, 0),
        (40, 16, 20),
        (integer(draw, 300, 3000), 8, 99),
    )
    for n_read, C, some in sizes:
        kept = min(some, n_read) if dropped else n_read
        size = 12.0 if C == 16 else 1.5  # scores of hundreds, whose exponential no float holds
        tokens = (100 * size * torch.randn(kept + new, C, generator=draw)).round() / 100
        x, values = tokens[kept:], tokens[:kept]
        keys, at = values + sinusoid(torch.arange(n_read - kept, n_read), C), torch.arange(new)
        what = f"{new} new after {n_read} tokens, {kept} of them in the cache, C = {C}:"
        wrong = {
            "You count positions from the start of the call; the text began earlier": at,
            "You count the rows of the cache; the tokens that it dropped count as well": at + kept,
            "Each of the new tokens has a position of its own": 0 * at + n_read,
            "The first new token follows tokens 0 to n_read − 1, so it stands at n_read": at + n_read - 1,
        }
        mistakes = {text: decoded(x, keys, values, positions) for text, positions in wrong.items()}
        faults = {
            "unmasked": "A new token reads those after it: where is the mask?",
            "coded values": "A value is the vector alone, without its code",
            "bare keys": "Each new key needs its code as well",
            "bare queries": "Each new query needs its code as well",
            "unscaled": "Where is the division by √C?",
        }
        mistakes |= {text: decoded(x, keys, values, at + n_read, fault) for fault, text in faults.items()}
        right = decode_answer(x, keys, values, n_read)
        got = ask(attempt, x, keys, values, n_read, what=what)
        q = x[:1] + sinusoid(at[:1] + n_read, C)
        shares = (q @ torch.cat([keys, q]).T / C**0.5).softmax(dim=-1)[0]
        rows = f"the {kept} rows of the cache and itself" if kept else "itself"
        hint = f". The first new token stands at {n_read}"
        hint += f" and gives {rows} the weights {describe(shares)}" * (kept < SHOWN)
        if C == 2:
            what = f"{what} x {describe(x)}, keys {describe(keys)} and values {describe(values)}"
        require_equal(got, right, what, mistakes, hint, 1e-4 * size)


CACHE = Exercise(
    TASKS["The position of a decoded token"], each(decodes, (1, False), (1, True), (4, True)), decode_answer
)


def look_back_answer(n: int, n_embd: int) -> tuple[Tensor, Tensor]:
    """Matrices (n_embd, n_embd) of the queries and of the keys of a head that looks n tokens back."""
    back = torch.zeros(n_embd, n_embd)
    for i, omega in enumerate(frequencies(n_embd).tolist()):
        turn = torch.tensor(-n * omega)  # the code of m, turned into the code of m - n
        pair = slice(2 * i, 2 * i + 2)
        back[pair, pair] = torch.tensor([[turn.cos(), turn.sin()], [-turn.sin(), turn.cos()]])
    return 100.0 * back, torch.eye(n_embd)


def causal_softmax(scores: Tensor) -> Tensor:
    later = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -torch.inf).softmax(dim=-1)


def head_scores(attempt: Any, n: int, n_embd: int, start: int, length: int) -> Tensor:
    """Return the unmasked scores (T, T) of the learner's head on a text that begins at `start`."""
    what = f"n = {n}, n_embd = {n_embd}"
    shapes = dict.fromkeys(("matrix of the queries", "matrix of the keys"), (n_embd, n_embd))
    to_q, to_k = (part.double() for part in ask_tensors(attempt, n, n_embd, what=what, shapes=shapes))
    codes = sinusoid(torch.arange(start, start + length), n_embd).double()
    scores = (codes @ to_q.T) @ (codes @ to_k.T).T / n_embd**0.5
    odd = scores[~scores.isfinite()]
    require(not len(odd), f"for {what} some scores are not finite: {describe(odd)}")
    return scores


def looks_back(attempt: Any, draw: Generator, back: int = 1, least: float = 0, at: Any = (0, 1)) -> None:
    """Require that each token gives the token n before it the most weight, and at least so much."""
    cases = [(1, 8), (integer(draw, 2, 5), 16), (integer(draw, 9, 20), 2 * integer(draw, 9, 20))]
    start = integer(draw, *at)
    for n, n_embd in ((back * n, n_embd) for n, n_embd in cases):
        scores = head_scores(attempt, n, n_embd, start, n + 64)
        weights = causal_softmax(scores)
        for m in range(n, len(weights)):
            found, share = int(weights[m].argmax()), float(weights[m, m - n])
            token = f"for n = {n}, n_embd = {n_embd} the token at {start + m}"
            ahead = m + n < len(scores) and int(scores[m].argmax()) == m + n
            hint = f". Without the mask it looks {n} *ahead*: turn the other way round" * ahead
            require(found == m - n, f"{token} looks {m - found} tokens back, should be {n}{hint}")
            why = "the scores lie too close together: make them larger, and the softmax gets sharper"
            require(share >= least, f"{token} gives the right one only {beyond(share, least, '%')}; {why}")


LOOK_BACK = Exercise(
    TASKS["A head that looks n tokens back"],
    each(looks_back, 0, 1, (1, 0, (200, 3000)), (1, 0.9, (0, 50))),
    look_back_answer,
    picture=(
        lambda attempt: causal_softmax(head_scores(attempt, 5, 32, 0, 24)),
        "token looked at",
        "token that looks",
    ),
)


WINDOW, PAIRS, SHARPNESS, MOST, LEAST = 64, 48, 20.0, 2, 0.9


def kept_pairs(answer: Any) -> list[int]:
    """Return the pairs that the learner keeps. Raises Unusable if they are none."""
    given = members(answer) or []
    pairs = sorted(number for part in given if (number := whole(part)) is not None)
    some = given and len(pairs) == len(given)
    require(some, f"this should be a list of pairs, such as [0, 47], and is {describe(answer)}", Unusable)
    numbers = f"pairs are different numbers from 0 to {PAIRS - 1}"
    different = len(set(pairs)) == len(pairs) and 0 <= pairs[0] <= pairs[-1] < PAIRS
    require(different, f"{numbers}, and these are {describe(pairs)}", Unusable)
    return pairs


def few_pairs(answer: Any, _: Generator) -> None:
    require((kept := len(kept_pairs(answer))) <= MOST, f"you keep {kept} pairs; {MOST} are enough")


def finds_previous(answer: Any, draw: Generator) -> None:
    """Require that the head that asks for the position before its own finds it, with these pairs alone."""
    pairs, start = kept_pairs(answer), integer(draw, 1, 500)
    codes = sinusoid(torch.arange(start - 1, start + WINDOW), 2 * PAIRS).unflatten(-1, (PAIRS, 2))[:, pairs]
    codes = codes.flatten(1).double()
    weights = causal_softmax(SHARPNESS * codes[:-1] @ codes[1:].T)  # the query of position m: code of m - 1
    shares = weights.diagonal(-1)
    m, share = int(shares.argmin()) + 1, float(shares.min())
    weights[m, m - 1] = 0.0
    rival = int(weights[m].argmax())
    far = "the one right beside it: these pairs turn too slowly"
    if (away := abs(m - 1 - rival)) > 1:
        far = f"token {rival}, {away} away from it, where these pairs are back where they were"
    gives = f"token {m} gives only {beyond(share, LEAST, '%')} to the one before"
    require(share >= LEAST, f"{gives}; its rival is {far}")


FEWEST_PAIRS = Exercise(TASKS["Which pairs can it do without?"], [few_pairs, finds_previous], [0, 9])

EXERCISES = (CACHE, LOOK_BACK, FEWEST_PAIRS)
