"""Exercises of notebook 06: who sees whom, targets of several texts, and an experiment."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.data.batches import interleave
from babygpt.errors import BadInput
from babygpt.positions import Positions, causal_mask
from babygpt_course.exercises.agreement import Agrees, Case
from babygpt_course.exercises.checks import ask_parts, require_equal
from babygpt_course.exercises.compare import describe, difference, things, to_python, whole
from babygpt_course.exercises.exercise import Exercise, dice, each, integer, read_tasks

TASKS = read_tasks("lesson_06")


def sees_answer(query: tuple[int, int], key: tuple[int, int], isolated: bool) -> bool:
    """Whether a token at (time, branch) may look at one at (time, branch)."""
    own = query[1] == key[1]
    if isolated:
        return own and key[0] <= query[0]
    return key[0] < query[0] or (own and key[0] == query[0])


def draw_pairs(draw: Generator, masks: tuple[bool, ...], own: bool) -> Iterator[Case]:
    """Draw pairs of some times and branches, within a branch or between two."""
    for isolated in masks:
        n, far = integer(draw, 1, 9), integer(draw, 70, 900)
        times = [0, n, n + 1, far, far + 256, 4096 * far, 4096 * far + 1]  # equal in a byte, or as float16
        branches = [-n, 0, n, n + 256, 4096 * n, 4096 * n + 1]
        pairs = [(q, k) for q, k in product(product(times, branches), repeat=2) if (q[1] == k[1]) == own]
        near = [two for two in pairs if max(*two[0], *two[1]) <= n + 1]
        for query, key in [*near, *dice(draw).sample(pairs, 50)]:
            key = int(str(key[0])), int(str(key[1]))  # equal to the query, and another object
            what = f"query (time, branch) {query}, key {key}{', isolated' if isolated else ''}"
            yield Case(what, (query, key, isolated))


def may_look(query: tuple[int, int], key: tuple[int, int], isolated: bool) -> bool:
    """Return what the package's own mask says of these two tokens."""
    here, there = (Positions(torch.tensor([t]), torch.tensor([b])) for t, b in (query, key))
    return bool(causal_mask(here, there, isolated))


def deciding_rule(got: Any, _: bool, query: tuple[int, int], key: tuple[int, int], isolated: bool) -> str:
    """Return the rule that decides about two tokens, as the end of a sentence."""
    rules = {
        "True or False is asked for": not isinstance(to_python(got), bool),
        "A token sees itself": query == key,
        "Tokens of one time are written together: neither sees the other": key[0] == query[0],
        "No token sees a later one": key[0] > query[0],
        "A token sees its own past": query[1] == key[1],
        "Isolated means: no token of another branch": isolated,
        "With the open mask it sees the past of every branch": True,
    }
    return f". {next(rule for rule, decides in rules.items() if decides)}"


def asks_pairs(masks: tuple[bool, ...], own: bool) -> Agrees:
    """Return the check on pairs within a branch or between two, with these masks."""
    return Agrees(partial(draw_pairs, masks=masks, own=own), may_look, hint=deciding_rule)


def sees_drawn(attempt: Any) -> Tensor:
    """Return who sees whom among three branches of five tokens, sorted by time: (15, 15)."""
    tokens = list(product(range(5), range(3)))
    return torch.tensor([[float(attempt(query, key, False)) for key in tokens] for query in tokens])


SEES = Exercise(
    TASKS["Who sees whom?"],
    [asks_pairs((False, True), True), asks_pairs((False,), False), asks_pairs((True,), False)],
    sees_answer,
    picture=(sees_drawn, "key: times 0 to 4, three branches each", "query"),
)


def targets_answer(time: torch.Tensor, branch: torch.Tensor) -> torch.Tensor:
    """Index of each token's target, (T,): the next token of its own text, or −1 if there is none."""
    target = torch.full_like(time, -1)
    latest: dict[int, int] = {}  # branch -> index of its latest token
    for i, b in enumerate(branch.tolist()):
        if b in latest:
            target[latest[b]] = i
        latest[b] = i
    return target


def first_of(right: Tensor) -> Tensor:
    """Return the first column of each row that is True; −1 where none is."""
    return torch.where(right.any(dim=1), right.int().argmax(dim=1), -1)


def to_itself(time: Tensor, branch: Tensor) -> Tensor:
    """Give the last token of each text itself for a target: a known mistake."""
    target = targets_answer(time, branch)
    return torch.where(target < 0, torch.arange(len(time)), target)


TARGETS_MISTAKES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "None is found. Are tensors keys of a dictionary? No two are the same key: branch.tolist()": (
        lambda time, branch: torch.full_like(time, -1)
    ),
    "It is the next token of the sequence, of any text": (
        lambda time, branch: torch.tensor([*range(1, len(time)), -1])
    ),
    "The last token of a text has no target here: −1": to_itself,
    "That is the first token of the next time, of any text": (
        lambda time, branch: first_of(time[:, None] < time)
    ),
}


def draw_branch_texts(
    draw: Generator, lengths: Sequence[Sequence[int]], staggered: bool = False
) -> Iterator[Case]:
    """Draw sequences of texts of these lengths; staggered ones begin at any time, under any numbers."""
    for row_lengths in lengths:
        rng = dice(draw)
        offsets = [90 + rng.randint(0, 5) if staggered else 0 for _ in row_lengths]
        numbers = rng.sample(range(len(row_lengths)), len(row_lengths))
        row = interleave([torch.arange(length + 1) for length in row_lengths], offsets, numbers)
        time, branch = row.time[0], row.branch[0]
        if staggered:  # also −n beside n, and numbers that are equal in one byte or in two, or as float16
            n = 1 if len(row_lengths) == 2 else rng.randint(2, 99)
            branch = torch.tensor([-n, n, n + 256, n + 65536, 4096, 4097, *range(100, 200)])[branch]
        shown = (time.tolist(), branch.tolist()) if len(time) < 60 else map(describe, (time, branch))
        yield Case("time {} and branch {}".format(*shown), (time, branch))


def asks_targets(*lengths: Sequence[int], staggered: bool = False) -> Agrees:
    return Agrees(
        partial(draw_branch_texts, lengths=lengths, staggered=staggered), targets_answer, TARGETS_MISTAKES
    )


TARGETS = Exercise(
    TASKS["The next token of one's own text"],
    [
        asks_targets((1,), (4,), (300,)),
        asks_targets((2, 2), (3, 3, 3), (2,) * 12, (20,) * 2),
        asks_targets((3, 1), (2, 5, 3), (4, 4, 1, 6), (3,) * 12, (700, 701, 699), staggered=True),
    ],
    targets_answer,
)


def split_gap_answer(loss: Callable, n: int) -> tuple[float, float]:
    """Return what the branch numbers 0 to n − 1 cost, and what the other texts cost."""
    alone = sum(loss((number,)) for number in range(n)) / n  # each text under its number, without others
    return alone - loss((0,)), loss(tuple(range(n))) - alone


def made_up_loss(plain: float, of_number: Sequence[float], of_others: Sequence[float], numbers: Any) -> float:
    """Return the loss of a made-up model that pays for branch numbers, for other texts, or for both."""
    branches = {b for part in things(numbers) or [] if (b := whole(part)) in range(len(of_number))}
    if not branches or len(branches) < len(numbers):
        raise BadInput(f"numbers ({describe(numbers)}) must be a tuple of different numbers, such as (0, 2)")
    return plain + fmean(of_number[b] for b in branches if b is not None) + of_others[len(branches) - 1]


def split(attempt: Any, draw: Generator, numbers: bool, others: bool) -> None:
    for n in (3, 2, integer(draw, 4, 9), 1):
        sign_and_size = {3: 1, 2: -1}.get(n, 3)  # a cost may be below 0, and above 1
        of_number = [0.0, *(sign_and_size * torch.rand(9, generator=draw)).tolist()]
        of_others = [0.0, *(sign_and_size * (0.1 + torch.rand(9, generator=draw))).tolist()]
        free, one_text = [0.0] * 10, 0.5 + float(torch.rand(1, generator=draw))
        both = partial(made_up_loss, one_text, of_number, of_others)
        loss = partial(made_up_loss, one_text, of_number if numbers else free, of_others if others else free)
        costs_asked = "two costs: of numbers, of other texts"
        got, to_name = (ask_parts(attempt, f, n, what=f"n = {n}", expected=costs_asked) for f in (loss, both))
        # Mistakes are told apart by a model that pays for both: with one of the costs some look alike.
        alone, last = fmean(both((b,)) for b in range(n)), both((n - 1,))
        together, zero = both(tuple(range(n))), both((0,))
        mistakes = {
            "That is the whole gap: how much of it would each text pay alone?": (together - zero, 0.0),
            "The other texts are measured against the same numbers, alone": (alone - zero, together - zero),
            "All n numbers count, not only the last": (last - zero, together - last),
            "The whole gap stands second: what does each text pay alone?": (0.0, together - zero),
            "First the numbers, then the other texts": (together - alone, alone - zero),
            "Average over the numbers": (n * alone - n * zero, together - n * alone),
            "Average over the numbers, do not add them up": (n * alone - zero, together - n * alone),
        }
        hint = next((f". {words}" for words, wrong in mistakes.items() if not difference(to_name, wrong)), "")
        paid = ["something" if pays else "nothing" for pays in (numbers, others)]
        model = f"a model that pays {paid[0]} for numbers and {paid[1]} for other texts"
        costs = dict(zip(("numbers", "other texts"), split_gap_answer(loss, n), strict=True))
        for cost, (name, expected_cost) in zip(got, costs.items(), strict=True):
            require_equal(cost, expected_cost, f"n = {n} and {model}, the cost of the {name}", hint=hint)


SPLIT_GAP = Exercise(
    TASKS["Is it the number, or the other texts?"],
    each(split, (True, False), (False, True), (True, True)),
    split_gap_answer,
)

EXERCISES = (SEES, TARGETS, SPLIT_GAP)
