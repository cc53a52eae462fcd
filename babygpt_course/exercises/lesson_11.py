"""Exercises of notebook 11: induction heads, an ablation with controls, positions, and pairs that turn."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from statistics import median
from typing import Any

import torch
from torch import Generator, Tensor
from torch.nn.functional import pad

from babygpt.errors import BadInput
from babygpt.metrics.inspection import Head
from babygpt_course.exercises.agreement import Agrees, Case
from babygpt_course.exercises.checks import Wrong, ask_bool, require
from babygpt_course.exercises.compare import count, describe
from babygpt_course.exercises.exercise import Exercise, dice, each, integer, read_tasks

TASKS = read_tasks("lesson_11")


def induction_answer(weights: Tensor, idx: Tensor) -> Tensor:
    """Mean attention of each head to all that followed the same token before: (n_layer, n_head)."""
    same = idx[:, None] == idx
    follower = pad(same[:, :-1], (1, 0)).tril(-1)  # (T, T): True at [m, n + 1]
    return (weights * follower).sum(dim=-1)[..., follower.any(dim=1)].mean(dim=-1)


def followers(idx: Tensor) -> tuple[Tensor, Tensor]:
    """Return which tokens are equal, and where followers of earlier occurrences stand: (T, T) each."""
    same = idx[:, None] == idx
    return same, pad(same[:, :-1], (1, 0)).tril(-1)


def mean_attention(weights: Tensor, columns: Tensor, rows: Tensor) -> Tensor:
    """Return the mean attention to some columns (T, T), over some rows (T,): (n_layer, n_head)."""
    return (weights * columns).sum(dim=-1)[..., rows].mean(dim=-1)


def misread(columns: Callable[[Tensor, Tensor], Tensor], rows: str = "followed") -> Callable[..., Tensor]:
    """Return an answer that looks at wrong columns, or takes the mean over wrong rows.

    columns  which tokens are equal, and where followers stand, (T, T) each -> what is looked at (T, T)
    rows     "followed": tokens with a follower of an earlier occurrence; "looking": those with anything in
             their columns; "again": those with an equal token before them, be it a neighbour; "all"
    """

    def answer(weights: Tensor, idx: Tensor) -> Tensor:
        same, follower = followers(idx)
        looked = columns(same, follower)
        over = {"followed": follower, "looking": looked, "again": same.tril(-1), "all": same}[rows]
        return mean_attention(weights, looked, over.any(dim=1))

    return answer


def share_of_pairs(weights: Tensor, idx: Tensor) -> Tensor:
    follower = followers(idx)[1]
    return (weights * follower).sum(dim=(-2, -1)) / follower.sum()


SHARE_MISTAKES: dict[str, Callable[..., Tensor]] = {
    "That is the equal token itself. Induction looks at the token that followed it": misread(
        lambda same, _: same.tril(-1)
    ),
    "That is the token before the equal one. Its follower comes after it": misread(
        lambda same, _: pad(same.tril(-1)[:, 1:], (0, 1))
    ),
    "Earlier occurrences are all that there are, not only the last one": misread(
        lambda _, follower: follower & (follower.flip(1).cumsum(dim=1).flip(1) == 1)
    ),
    "Add up the attention to all followers of a token, and do not take their mean": misread(
        lambda _, follower: follower / follower.sum(dim=1, keepdim=True).clamp(min=1)
    ),
    "The mean is over tokens with an earlier occurrence, not over all tokens": misread(
        lambda _, follower: follower, "all"
    ),
    "The mean is over tokens, not over pairs of a token and a follower": share_of_pairs,
    "The present token is no follower: n + 1 must lie before m": misread(
        lambda same, _: pad(same.tril(-1)[:, :-1], (1, 0)), "looking"
    ),
    "Leave a token out of the mean if its only equal token before it is its neighbour": misread(
        lambda _, follower: follower, "again"
    ),
    "Weights above the diagonal are 0. Is a row of your table the token that looks?": misread(
        lambda _, follower: follower.T
    ),
}


def drawn_text(draw: Generator, T: int, kind: str) -> Tensor:
    """Draw ids (T,) in which some token has an earlier occurrence.

    kind  "twice": a third of the tokens come again, in another order; "often": from a few ids, no two
          neighbours equal; "side by side": from a few ids, and the first two are equal
    """
    few = T // 3
    if kind == "twice":
        text = torch.cat((torch.arange(T - few), torch.randperm(few, generator=draw)))
    else:
        least, few = (1, max(few, 3)) if kind == "often" else (0, few)
        steps = torch.randint(least, few, (T,), generator=draw)
        steps[1] *= least
        text = steps.cumsum(dim=0) % few
    if integer(draw, 0, 2):  # neighbours in the vocabulary, which float16 and one byte cannot tell apart
        return integer(draw, 2049, 50_000) + torch.randperm(int(text.max()) + 1, generator=draw)[text]
    return torch.randperm(50_000, generator=draw)[text]


def draw_attention(draw: Generator, kind: str) -> Iterator[Case]:
    """Draw random causal attention on texts of one kind."""
    for n_layer, n_head, T in ((1, 1, 6), (1, 2, 9), (3, 2, 24), (2, 4, 40), (3, 2, 24), (2, 1, 300)):
        idx = drawn_text(draw, T, kind)
        scores = 2 * torch.randn(n_layer, n_head, T, T, generator=draw)
        weights = scores.masked_fill(torch.ones(T, T).triu(1) > 0, -torch.inf).softmax(dim=-1)
        yield Case(f"idx {describe(idx.tolist())}, weights of shape {tuple(weights.shape)}", (weights, idx))


def first_followers(_: Any, __: Tensor, weights: Tensor, idx: Tensor) -> str:
    """Return the followers for the first token that has any, as the end of a sentence."""
    follower = followers(idx)[1]
    m = int(follower.any(dim=1).nonzero()[0])
    return f". The followers for token {m} are {follower[m].nonzero().flatten().tolist()}"


INDUCTION = Exercise(
    TASKS["Find the heads of a kind"],
    [
        Agrees(
            partial(draw_attention, kind=kind), induction_answer, SHARE_MISTAKES, first_followers, atol=1e-5
        )
        for kind in ("twice", "often", "side by side")
    ],
    induction_answer,
)

NOISE = 0.01  # nats that a loss may be off


def stands_out_answer(
    loss: Callable[[list], float], n_layer: int, n_head: int, head: tuple[int, int]
) -> bool:
    """Whether silencing this head costs five times the median of others, and more than noise."""
    others = [candidate for candidate in product(range(n_layer), range(n_head)) if candidate != head]
    controls = random.sample(others, min(20, len(others)))
    whole = loss([])
    usual = median(loss([candidate]) - whole for candidate in controls)
    return loss([head]) - whole > max(5 * usual, 0.1)


def black_box(whole: float, costs: dict[Head, float], rng: random.Random) -> Callable[[Any], float]:
    """Return the loss of a model whose heads cost these nats each, with noise in every call."""

    def loss(silent: Any) -> float:
        listed = isinstance(silent, list | tuple | set) and all(isinstance(head, tuple) for head in silent)
        if not listed or not set(silent) <= set(costs):
            sentence = f"a list of heads of this model, such as [(0, {max(costs)[1]})]"
            raise BadInput(f"`loss` needs {sentence}, and was given {describe(silent)}")
        # As large as it may be: a limit that is smaller than the noise shows.
        return whole + sum(costs[head] for head in set(silent)) + rng.choice((-NOISE, NOISE))

    return loss


def drawn_costs(
    rng: random.Random, n_layer: int, n_head: int, size: float, needed: int | Head | None
) -> dict[Head, float]:
    """Draw what each head costs in nats: `size` or so, and 13 to 60 times as much if it is needed.

    needed  number of these heads, where a tenth of all heads costs nothing; None if one costs as little as
            the task promises, and a third of the others as much as it allows; or two layers, one that is
            needed, and one that costs nothing without any one of its heads but the first
    """
    heads = list(product(range(n_layer), range(n_head)))
    if needed is None:
        drawn = rng.sample(heads, 1 + len(heads) // 3)
        return dict.fromkeys(heads, size) | dict.fromkeys(drawn, 2 * size) | {drawn[0]: max(0.3, 10 * size)}
    if isinstance(needed, int):
        chosen, idle = rng.sample(heads, needed), rng.sample(heads, len(heads) // 10)
    else:
        chosen, idle = [(needed[0], i) for i in range(n_head)], [(needed[1], i) for i in range(1, n_head)]
    costs = {head: size * rng.uniform(0.7, 1.3) for head in heads} | dict.fromkeys(idle, 0.0)
    return costs | {head: max(size, 0.03) * rng.uniform(13, 60) for head in chosen}


LIMIT = "Is your limit too high, or the head among its own controls?"
LOSSES = "Compare costs, not losses: first subtract the loss of the whole model"
ALIKE = "The others cost about as much. Did you compare this head with the whole model alone?"
FAINT = "That is noise"
FEW = "A tenth of the heads is needed, and a tenth costs nothing: take the median of many controls"
LAYER = "One layer is needed, and the heads of another cost nothing: draw controls from all layers"
EDGE = "The task promises 0.3 nats and ten times the median, or else at most twice the median: try just that"
# Advice, layers and heads, the loss, what heads cost, and which are needed.
Model = tuple[str, Head, float, float, int | Head | None]
MODELS: dict[bool | None, tuple[Model, ...]] = {  # by what is asked of them
    True: (
        (LIMIT, (1, 2), 1.1, 0.05, 1),
        (LIMIT, (2, 3), 1.1, 0.03, 1),
        (LOSSES, (4, 4), 9.0, 0.05, 1),
        (LIMIT, (30, 9), 3.0, 0.0, 1),
    ),
    False: (
        (FAINT, (5, 7), 1.1, 0.0, 0),
        (ALIKE, (2, 3), 1.1, 2.0, 0),
        (LOSSES, (6, 6), 9.0, 0.05, 1),
    ),
    None: (
        (FEW, (12, 12), 2.0, 0.15, 14),
        # A control of the first layer alone, of the last or of one between meets a needed or an idle layer.
        *((LAYER, (6, 8), 1.1, 0.15, layers) for layers in ((0, 5), (5, 0), (2, 0), (2, 5), (0, 3), (5, 2))),
        (EDGE, (3, 4), 1.1, 0.0, None),
        (EDGE, (3, 4), 1.1, 0.01, None),
        (EDGE, (3, 4), 9.0, 1.0, None),
    ),
}


def compares(attempt: Any, draw: Generator, stands: bool | None) -> None:
    """Ask for all heads of some models that stand out (True), that do not, or for all heads (None)."""
    for advice, (n_layer, n_head), whole, size, needed in MODELS[stands]:
        rng = dice(draw)
        costs = drawn_costs(rng, n_layer, n_head, size, needed)
        loss = black_box(whole, costs, rng)
        for at_head, cost in costs.items():
            others = [rival for head, rival in costs.items() if head != at_head]
            right = cost > max(5 * median(others), 0.1)
            if stands in {None, right}:
                what = f"head {at_head} of {count(n_layer, 'layer')} with {count(n_head, 'head')} each"
                answer = ask_bool(attempt, loss, n_layer, n_head, at_head, what=what)
                verdict = f"you find that {what} {'stands out' if answer else 'does not stand out'}"
                usual = f"others {median(others):.2f} in the median, up to {max(others):.2f}"
                why = f"It costs {cost:.2f} nats, {usual}, and the whole model has a loss of {whole:.2f}"
                require(answer == right, f"{verdict}. {why}. {advice}")


STANDS_OUT = Exercise(
    TASKS["An ablation with a control"], each(compares, True, False, None), stands_out_answer, seconds=20.0
)


def positions_after_answer(held: Tensor, n: int) -> Tensor:
    """Positions (n,) of the tokens that follow those of a cache."""
    start = int(held[-1]) + 1 if len(held) else 0
    return torch.arange(start, start + n)


POSITION_MISTAKES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "Positions go on from the last one, and do not begin at 0 again": lambda held, n: torch.arange(n),
    "You counted the tokens in the cache. Positions go on from the last one": (
        lambda held, n: len(held) + torch.arange(n)
    ),
    "Some tokens were dropped, so the count of the rest is no distance": (
        lambda held, n: held[0] + len(held) + torch.arange(n)
    ),
    "This position is taken: begin one later": lambda held, n: positions_after_answer(held, n) - 1,
    "You left one position out": lambda held, n: positions_after_answer(held, n) + 1,
    "Each new token has a position of its own": lambda held, n: positions_after_answer(held, n)[:1].expand(n),
    "You went on in steps of the last gap; the next token stands right after the newest": (
        lambda held, n: held[-1] + (held[-1] - held[-2]) * torch.arange(1, n + 1)
    ),
}


def draw_caches(draw: Generator, kind: str) -> Iterator[Case]:
    """Draw caches that hold a whole text, a later one, parts with holes, or nothing."""
    start = integer(draw, *{"later": (3000, 8000), "parts": (1, 200)}.get(kind, (0, 1)))
    caches = [start + torch.arange(number) for number in (1, 4, integer(draw, 20, 60), 300)]
    if kind == "empty":
        caches = 4 * [torch.arange(0)]
    elif kind == "later":
        caches.append(integer(draw, 40_000, 50_000) + torch.arange(3))
    elif kind == "parts":
        first = torch.tensor([integer(draw, 0, 4)])
        newest = first + integer(draw, 3, 9)
        caches = [torch.cat((first, newest)), torch.cat((first, newest + torch.arange(2)))]
        for number in (5, integer(draw, 20, 60)):  # one hole somewhere, then right before the newest token
            for hole_start in (integer(draw, 1, number), number - 1):
                hole = (torch.arange(number) >= hole_start) * integer(draw, 3, 50_000)
                caches.append(start + torch.arange(number) + hole)
    for held in caches:
        for n in (1, 3, 300):
            yield Case(f"held {describe(held)} and n = {n}", (held, n))


POSITIONS = Exercise(
    TASKS["Positions after a cache"],
    [
        Agrees(partial(draw_caches, kind=kind), positions_after_answer, POSITION_MISTAKES)
        for kind in ("whole", "later", "parts", "empty")
    ],
    positions_after_answer,
)


def turning_answer(head_dim: int, theta: float, length: int, share: float) -> int:
    """Number of pairs that turn by a share of a circle or more within a text."""
    angles = (length - 1) * theta ** (-torch.arange(0, head_dim, 2) / head_dim)
    return int((angles >= share * 2 * math.pi).sum())


def circles(D: int, theta: float, steps: int, exponent: float = -2) -> Tensor:
    """Return how many circles each pair turns in so many steps: (D/2,)."""
    return steps / (2 * math.pi) * theta ** (exponent * torch.arange(D // 2, dtype=torch.float64) / D)


def counts_wrong_turns(turns: Callable[[int, float, int], Tensor]) -> Callable[..., int]:
    """Return an answer that counts pairs by wrong turns: (head_dim, theta, length) -> circles (D/2,).

    It raises Wrong where it counts all pairs: many mistakes do, and so does an answer that never looks
    at them.
    """

    def count(D: int, theta: float, length: int, share: float) -> int:
        number = int((turns(D, theta, length) >= share).sum())
        if number == D // 2:
            raise Wrong("all pairs are counted")
        return number

    return count


TURNING_MISTAKES: dict[str, Callable[..., int]] = {
    "A full circle is 2π radians": counts_wrong_turns(
        lambda D, theta, length: 2 * math.pi * circles(D, theta, length - 1)
    ),
    "From the first to the last token there are length − 1 steps": counts_wrong_turns(circles),
    "That is the turn of one step": counts_wrong_turns(lambda D, theta, _: circles(D, theta, 1)),
    "You counted channels, and a pair has two": counts_wrong_turns(
        lambda D, theta, length: circles(D, theta, length - 1).repeat(2)
    ),
    "The exponent is −2i/D, not −i/D": counts_wrong_turns(
        lambda D, theta, length: circles(D, theta, length - 1, -1)
    ),
    "In −2i/D, D is the number of channels, not of pairs": counts_wrong_turns(
        lambda D, theta, length: circles(D, theta, length - 1, -4)
    ),
    "The exponent −2i/D is negative: later pairs turn more slowly": counts_wrong_turns(
        lambda D, theta, length: circles(D, theta, length - 1, 2)
    ),
    "These are all pairs that there are": lambda D, *_: D // 2,
}


Ends = tuple[tuple[int, int], ...]
ONCE: Ends = ((50, 200_000), (40, 5000), (100, 101))  # ends of theta, of the length, of the share in percent
PART: Ends = ((50, 200_000), (50, 500), (1, 300))
SHORT: Ends = ((50, 200_000), (3, 9), (1, 20))
NONE: Ends = ((50, 200_000), (2, 7), (100, 400))
ALL: Ends = ((5, 50), (1000, 5000), (30, 60))


def draw_turns(draw: Generator, kinds: Sequence[Ends]) -> Iterator[Case]:
    """Draw theta, the length and the share between each of these ends, so that rounding never decides."""
    for limits in 4 * list(kinds):
        near = True
        while near:
            D, (theta, length, percent) = 2 * integer(draw, 8, 65), (integer(draw, *two) for two in limits)
            share = percent / 100
            near = bool(((circles(D, theta, length - 1) / share).log().abs() < 0.01).any())
        what = f"head_dim {D}, theta {theta}, length {length}, share {share:g}"
        yield Case(what, (D, float(theta), length, share))


def pairs_around(_: Any, number: int, D: int, theta: float, length: int, share: float) -> str:
    """Return how far the last pair turns that counts, and the next one, as the end of a sentence."""
    turns = circles(D, theta, length - 1)
    around = [f"pair {i} turns by {turns[i]:.3f}" for i in (number - 1, number) if 0 <= i < D // 2]
    return f". In circles, {' and '.join(around)}"


TURNING = Exercise(
    TASKS["How far a pair reaches"],
    [
        Agrees(partial(draw_turns, kinds=kinds), turning_answer, TURNING_MISTAKES, hint=pairs_around)
        for kinds in ((ONCE,), (PART, SHORT), (NONE, ALL))
    ],
    turning_answer,
)

EXERCISES = (INDUCTION, STANDS_OUT, POSITIONS, TURNING)
