"""Exercises of notebook 03b: how alike places are, a head that looks back, and pairs it can do without."""

from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt_course.exercises.checks import Unusable, ask_tensors, expect, require
from babygpt_course.exercises.compare import beyond, describe, things, whole
from babygpt_course.exercises.exercise import Exercise, each, integer, read_tasks

TASKS = read_tasks("lesson_03b")


def likeness_answer(distance: int, n_embd: int, theta: float) -> float:
    """Cosine between the sinusoid codes of two places `distance` tokens apart, without making a code."""
    omega = theta ** (-torch.arange(0, n_embd, 2, dtype=torch.float64) / n_embd)
    return (distance * omega).cos().mean().item()


LIKENESS_MISTAKES = {
    "Divide by the length of both codes: each is √(n_embd/2) long": (
        lambda d, n, t: likeness_answer(d, n, t) * n / 2
    ),
    "There are n_embd/2 pairs, not n_embd": lambda *given: likeness_answer(*given) / 2,
    "The frequency of pair i is θ^(−2i/n_embd), with a 2": lambda d, n, t: likeness_answer(d, n, t**0.5),
}


def is_likeness(attempt: Any, draw: Generator, sign: int) -> None:
    """Compare with the cosine of two codes at places that are `sign` times a drawn distance apart."""
    cases = [(1, 2, 100.0), (3, 2, 100.0), (1000, 8, 100.0), (integer(draw, 2, 9), 8, 10_000.0)]
    cases.append((integer(draw, 10, 90), 2 * integer(draw, 5, 40), float(integer(draw, 20, 5000))))
    for distance, n_embd, theta in cases:
        given = sign * distance, n_embd, theta
        codes = sinusoid(torch.tensor([700, 700 + given[0]]), n_embd, theta).double()
        want = torch.cosine_similarity(codes[0], codes[1], dim=0).item()
        what = f"distance {given[0]}, n_embd {n_embd} and theta {theta:g}"
        expect(attempt, *given, want=want, what=what, mistakes=LIKENESS_MISTAKES)


def likeness_matrix(attempt: Any) -> Tensor:
    """Return the likeness at 64 distances, for five widths: (5, 64)."""
    widths = (2, 8, 24, 48, 96)
    return torch.tensor([[attempt(d, n_embd, 10_000.0) for d in range(64)] for n_embd in widths])


LIKENESS = Exercise(
    TASKS["How alike are two places?"],
    each(is_likeness, 0, 1, -1),
    likeness_answer,
    mistakes=LIKENESS_MISTAKES,
    picture=(likeness_matrix, "distance (tokens)", "n_embd 2, 8, 24, 48, 96"),
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
    cases = [(1, 8), (integer(draw, 2, 5), 16), (integer(draw, 5, 12), 2 * integer(draw, 9, 20))]
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
    given = things(list(answer) if isinstance(answer, set) else answer) or []
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
    """Require that the head that asks for the place before its own finds it, with these pairs alone."""
    pairs, start = kept_pairs(answer), integer(draw, 1, 500)
    codes = sinusoid(torch.arange(start - 1, start + WINDOW), 2 * PAIRS).unflatten(-1, (PAIRS, 2))[:, pairs]
    codes = codes.flatten(1).double()
    weights = causal_softmax(SHARPNESS * codes[:-1] @ codes[1:].T)  # the query of place m: code of m - 1
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

EXERCISES = (LIKENESS, LOOK_BACK, FEWEST_PAIRS)
