"""Exercises of notebook 03b: a head that looks back, pairs it can do without, and why a position is hard."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt.errors import BadInput
from babygpt_course.exercises.checks import Unusable, ask, ask_tensors, require
from babygpt_course.exercises.compare import (
    came_out,
    count,
    describe,
    format_beyond,
    members,
    to_python,
    whole,
)
from babygpt_course.exercises.exercise import Exercise, each, integer, read_tasks

TASKS = read_tasks("lesson_03b")


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


def looks_back(attempt: Any, draw: Generator, back: int = 1, least: float = 0, starts: Any = (0, 1)) -> None:
    """Require that each token gives the token n before it the most weight, and at least so much."""
    cases = [(1, 8), (integer(draw, 2, 5), 16), (integer(draw, 9, 20), 2 * integer(draw, 9, 20))]
    cases.append((integer(draw, 150, 300), 64))  # wrong frequencies show only far back
    start = integer(draw, *starts)
    for n, n_embd in ((back * n, n_embd) for n, n_embd in cases):
        scores = head_scores(attempt, n, n_embd, start, n + 64)
        weights = causal_softmax(scores)
        for m in range(n, len(weights)):
            target, share = int(weights[m].argmax()), float(weights[m, m - n])
            token = f"for n = {n}, n_embd = {n_embd} the token at {start + m}"
            ahead = m + n < len(scores) and int(scores[m].argmax()) == m + n
            hint = f". Without the mask it looks {n} *ahead*: turn the other way round" * ahead
            require(target == m - n, f"{token} looks {count(m - target, 'token')} back, should be {n}{hint}")
            why = "the scores lie too close together: make them larger, and the softmax gets sharper"
            require(
                share >= least, f"{token} gives the right one only {format_beyond(share, least, '%')}; {why}"
            )


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


WINDOW = 64
PAIRS = 48
SHARPNESS = 20.0
MOST = 2
LEAST = 0.9


def kept_pairs(answer: Any) -> list[int]:
    """Return the pairs that the learner keeps. Raises Unusable if they are none."""
    parts = members(answer) or []
    pairs = sorted(number for part in parts if (number := whole(part)) is not None)
    valid = parts and len(pairs) == len(parts)
    require(valid, f"this should be a list of pairs, such as [0, 47], and is {describe(answer)}", Unusable)
    numbers = f"pairs are different numbers from 0 to {PAIRS - 1}"
    different = len(set(pairs)) == len(pairs) and 0 <= pairs[0] <= pairs[-1] < PAIRS
    require(different, f"{numbers}, and these are {describe(pairs)}", Unusable)
    return pairs


def few_pairs(answer: Any, _: Generator) -> None:
    require((n := len(kept_pairs(answer))) <= MOST, f"you keep {count(n, 'pair')}; {MOST} are enough")


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
    gives = f"token {m} gives only {format_beyond(share, LEAST, '%')} to the one before"
    require(share >= LEAST, f"{gives}; its rival is {far}")


FEWEST_PAIRS = Exercise(TASKS["Which pairs can it do without?"], [few_pairs, finds_previous], [0, 9])


Loss = Callable[[int], float]
Train = Callable[[Iterable[int]], Loss]
END = 1000  # last position
NOISE = 0.05  # noise of a loss, in nats
SHARED = 0.3  # what training at several positions costs a model, in nats
RISES: dict[str, dict[str, Callable[[int, int], float]]] = {  # by position, and distance to training
    "neither": {"the loss is the same everywhere": lambda at, gap: 0.0},
    "not met": {
        "the loss leaps beside the positions of training": lambda at, gap: min(gap / 4, 1.0),
        "the loss rises slowly beside the positions of training": lambda at, gap: 1 - math.exp(-gap / 200),
    },
    "far": {
        "the loss rises evenly from 0 to 1000": lambda at, gap: at / END,
        "the loss leaps at 700, wherever training stood": lambda at, gap: float(at >= 700),
    },
}


def cause_answer(train: Train) -> str:
    """Why a model loses more at some positions than at others: "far", "not met" or "neither"."""
    near, both = train([0]), train([0, 1000])
    if both(1000) - both(0) > 0.5:  # although training met 1000
        return "far"
    return "not met" if near(1000) - near(0) > 0.5 else "neither"


def trainer(rise: Callable[[int, int], float], draw: Generator) -> Train:
    """Return a function that trains at some positions and returns the loss at each, as `rise` has it."""
    low, high = torch.rand(2, generator=draw).tolist()
    low, high = low + 0.3, 1.52 + high**4  # mostly as little as is promised: 1.5, noise aside

    def train(places: Iterable[int]) -> Loss:
        positions = [whole(place) for place in places]
        met = {number for number in positions if number is not None and 0 <= number <= END}
        if not met or len(met) < len(set(positions)):
            raise BadInput(f"places must be whole numbers from 0 to {END}, not {describe(places)}")

        def loss(position: int) -> float:
            noise = NOISE * (2 * integer(draw, 0, 2) - 1)  # as large as it may be
            rises = high * rise(position, min(abs(position - place) for place in met))
            return low + SHARED * (len(met) > 1) + rises + noise

        return loss

    return train


def explains(attempt: Any, draw: Generator, kind: str) -> None:
    """Ask for the cause in some models of this kind."""
    for what, rise in 5 * list(RISES[kind].items()):
        train = trainer(rise, draw)
        got = to_python(ask(attempt, train, what=f"a model in which {what}"))
        valid = isinstance(got, str) and got in RISES
        require(valid, came_out(got, f"should be one of {', '.join(map(repr, RISES))}"))
        evidence = []
        for places in ([0], [0, END]):
            loss = train(places)
            evidence.append(f"trained at {places} it loses {loss(0):.2f} at 0 and {loss(END):.2f} at {END}")
        require(got == kind, f"you say {got!r} where {what}, which is {kind!r}: {'; '.join(evidence)}")


CAUSE = Exercise(TASKS["Far, or never met?"], each(explains, *RISES), cause_answer)

EXERCISES = (LOOK_BACK, FEWEST_PAIRS, CAUSE)
