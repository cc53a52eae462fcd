"""Exercises of notebook 03b: how alike places are, a head that looks back, and pairs it can do without."""

from __future__ import annotations

from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.encodings.sinusoidal import sinusoid
from babygpt_course.exercises.base import Check, Exercise, Unusable, Wrong, expect
from babygpt_course.exercises.compare import shown
from babygpt_course.exercises.draws import integer
from babygpt_course.exercises.look_back import LOOK_BACK
from babygpt_course.exercises.picture import Picture


def likeness_stub(distance: int, n_embd: int, theta: float) -> float:
    """Cosine between the sinusoid codes of two places `distance` tokens apart, without making a code."""
    return 1.0


def likeness_answer(distance: int, n_embd: int, theta: float) -> float:
    """Cosine between the sinusoid codes of two places `distance` tokens apart, without making a code."""
    omega = theta ** (-torch.arange(0, n_embd, 2, dtype=torch.float64) / n_embd)
    return (distance * omega).cos().mean().item()


def likeness_cases(draw: Generator) -> list[tuple[int, int, float]]:
    """Distances, widths and bases."""
    return [
        (1, 2, 100.0),
        (integer(draw, 2, 9), 8, 10_000.0),
        (integer(draw, 10, 90), 2 * integer(draw, 5, 40), float(integer(draw, 20, 5000))),
    ]


def likeness_of(attempt: Any, distance: int, n_embd: int, theta: float) -> None:
    at = sinusoid(torch.tensor([700, 700 + distance]), n_embd, theta).double()
    want = torch.cosine_similarity(at[0], at[1], dim=0).item()
    omega = theta ** (-torch.arange(0, n_embd, 2, dtype=torch.float64) / n_embd)
    halves = theta ** (-torch.arange(n_embd // 2, dtype=torch.float64) / n_embd)
    total = (distance * omega).cos().sum().item()
    mistakes = {
        "Divide by the length of both codes: each is √(n_embd/2) long": total,
        "There are n_embd/2 pairs, not n_embd": total / n_embd,
        "The frequency of pair i is θ^(−2i/n_embd), with a 2": (distance * halves).cos().mean().item(),
    }
    what = f"distance {distance}, n_embd {n_embd} and theta {theta:g}"
    expect(attempt, distance, n_embd, theta, want=want, what=what, mistakes=mistakes)


def same_place(attempt: Any, draw: Generator) -> None:
    for _, n_embd, theta in likeness_cases(draw):
        likeness_of(attempt, 0, n_embd, theta)


def one_way(attempt: Any, draw: Generator) -> None:
    for distance, n_embd, theta in likeness_cases(draw):
        likeness_of(attempt, distance, n_embd, theta)


def either_way(attempt: Any, draw: Generator) -> None:
    for distance, n_embd, theta in likeness_cases(draw):
        likeness_of(attempt, -distance, n_embd, theta)


def likeness_drawn(attempt: Any) -> Tensor:
    """The likeness at 64 distances, for five widths: (5, 64)."""
    widths = (2, 8, 24, 48, 96)
    return torch.tensor([[attempt(d, n_embd, 10_000.0) for d in range(64)] for n_embd in widths])


LIKENESS = Exercise(
    name="How alike are two places?",
    task=(
        "Write `likeness(distance, n_embd, theta)`: the cosine between the sinusoid codes of two places that "
        "are `distance` tokens apart. The places themselves you are not told. Do you need them?"
    ),
    level="warm-up",
    minutes=6,
    checks=(
        Check("a place is like itself", same_place),
        Check("two places, one after the other", one_way),
        Check("and the other way round", either_way),
    ),
    hints=(
        "The dot product of two codes is a sum over the pairs, one cosine each. What is in the cosine?",
        "A code's length: each pair gives sin² + cos² = 1, so the dot product is divided by the number of "
        "pairs.",
    ),
    stub=likeness_stub,
    answer=likeness_answer,
    picture=Picture(likeness_drawn, "distance (tokens)", "n_embd 2, 8, 24, 48, 96"),
)


WINDOW, PAIRS, SHARPNESS, MOST, LEAST = 64, 48, 20.0, 2, 0.9


def kept_pairs(answer: Any) -> list[int]:
    """The pairs that the learner keeps. Raises Unusable if they are none."""
    if not isinstance(answer, list | tuple | set) or not answer or not all(type(i) is int for i in answer):
        raise Unusable(f"this should be a list of pairs, such as [0, 47], and is {shown(answer)}")
    pairs = sorted(answer)
    if len(set(pairs)) < len(pairs) or not 0 <= pairs[0] <= pairs[-1] < PAIRS:
        raise Unusable(f"pairs are different numbers from 0 to {PAIRS - 1}, and these are {shown(pairs)}")
    return pairs


def previous_token_head(pairs: list[int], start: int) -> Tensor:
    """Weights (T, T) of the head that asks, with these pairs alone, for the place before its own."""
    codes = sinusoid(torch.arange(start - 1, start + WINDOW), 2 * PAIRS).unflatten(-1, (PAIRS, 2))[:, pairs]
    codes = codes.flatten(1).double()
    scores = SHARPNESS * codes[:-1] @ codes[1:].T  # the query of place m is the code of m - 1
    later = torch.ones(WINDOW, WINDOW, dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -torch.inf).softmax(dim=-1)


def few_pairs(answer: Any, _: Generator) -> None:
    pairs = kept_pairs(answer)
    if len(pairs) > MOST:
        raise Wrong(f"you keep {len(pairs)} pairs; {MOST} are enough")


def finds_it_surely(answer: Any, draw: Generator) -> None:
    weights = previous_token_head(kept_pairs(answer), integer(draw, 1, 500))
    shares = weights.diagonal(-1)
    m = int(shares.argmin()) + 1
    share = float(shares.min())
    if share < LEAST:
        rest = weights[m].clone()
        rest[m - 1] = 0.0
        rival = int(rest.argmax())
        far = "the one right beside it: these pairs turn too slowly"
        if abs(rival - (m - 1)) > 1:
            away = abs(m - 1 - rival)
            far = f"token {rival}, {away} away from it, where these pairs are back where they were"
        raise Wrong(f"token {m} gives only {share:.0%} to the one before; its rival is {far}")


FEWEST_PAIRS = Exercise(
    name="Which pairs can it do without?",
    task=(
        "A previous-token head asks, at place m, with the code of m − 1, as on this page. The code has "
        f"{PAIRS} "
        f"pairs (n_embd = {2 * PAIRS}, θ = 10000), the scores are {SHARPNESS:g} · code · code, the window "
        "has "
        f"{WINDOW} tokens. Silence pairs, all but {MOST}, so that *every* token from the second on still "
        "gives at "
        f"least {LEAST:.0%} of its weight to the one before it. Your answer is a list of the pairs that you "
        "keep, "
        f"numbered from 0 (the quickest) to {PAIRS - 1}. Try first, then search."
    ),
    level="core",
    minutes=12,
    checks=(
        Check(f"at most {MOST} pairs", few_pairs),
        Check(f"each token gives {LEAST:.0%} of its weight to the one before", finds_it_surely),
    ),
    hints=(
        "A pair scores cos(d·ω) at d tokens from the right place. Where is that nearly 1, besides d = 0?",
        "A quick pair tells neighbours apart, and comes back after 2π/ω tokens. Who can tell *those* apart?",
        "There are 48 · 47 / 2 choices of two: let the computer try them all. `.check([a, b]).solved` is "
        "True or False.",
    ),
    stub=list(range(PAIRS)),
    answer=[0, 9],
)

EXERCISES = (LIKENESS, LOOK_BACK, FEWEST_PAIRS)
