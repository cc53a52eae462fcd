"""Exercises of notebook 06: who sees whom, targets of woven texts, and two experiments."""

from __future__ import annotations

from itertools import product
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt.data.batches import BranchBatch, interleave
from babygpt.positions import Positions, causal_mask
from babygpt_course.exercises.base import Check, Exercise, Wrong, ask, expect
from babygpt_course.exercises.compare import difference, truth
from babygpt_course.exercises.draws import dice, integer
from babygpt_course.exercises.interference import SPLIT_GAP
from babygpt_course.exercises.picture import Picture
from babygpt_course.exercises.stride_effect import STRIDE_MATTERS

Place = tuple[int, int]  # time, branch


def sees_stub(query: tuple[int, int], key: tuple[int, int], isolated: bool) -> bool:
    """Whether a token at (time, branch) may look at one at (time, branch)."""
    return False


def sees_answer(query: tuple[int, int], key: tuple[int, int], isolated: bool) -> bool:
    """Whether a token at (time, branch) may look at one at (time, branch)."""
    own = query[1] == key[1]
    if isolated:
        return own and key[0] <= query[0]
    return key[0] < query[0] or (own and key[0] == query[0])


def told(query: Place, key: Place, isolated: bool, got: bool) -> str:
    """What is wrong with an answer about two tokens."""
    if query == key:
        return "A token sees itself"
    if query[0] == key[0]:
        return "What is written at the same moment was not there when the other was chosen"
    if key[0] > query[0]:
        return "Nobody sees what comes later"
    if query[1] == key[1]:
        return "A token sees its own past"
    if got:
        return "Isolated means: nothing of other branches"
    return "With the open mask it sees the past of every branch"


def seen(attempt: Any, draw: Generator, isolated: bool, own: bool) -> None:
    """Ask about all pairs of some times and branches, within a branch or between two."""
    times, branches = (sorted({integer(draw, 0, 9) for _ in range(4)}) for _ in range(2))
    branches = [*branches, branches[-1] + 3]
    for query, key in product(product(times, branches), repeat=2):
        if (query[1] == key[1]) != own:
            continue
        at = [Positions(torch.tensor([t]), torch.tensor([b])) for t, b in (query, key)]
        want = bool(causal_mask(at[0], at[1], isolated))
        what = f"query (time, branch) {query}, key {key}{', isolated' if isolated else ''}"
        got = ask(attempt, query, key, isolated, what=what)
        if text := difference(got, want):
            seen = truth(got)
            why = "True or False is asked for" if seen is None else told(query, key, isolated, seen)
            raise Wrong(f"for {what} {text}. {why}")


def sees_own(attempt: Any, draw: Generator) -> None:
    seen(attempt, draw, isolated=False, own=True)
    seen(attempt, draw, isolated=True, own=True)


def sees_others(attempt: Any, draw: Generator) -> None:
    seen(attempt, draw, isolated=False, own=False)


def sees_none(attempt: Any, draw: Generator) -> None:
    seen(attempt, draw, isolated=True, own=False)


def sees_drawn(attempt: Any) -> Tensor:
    """Who sees whom among three branches of five tokens, woven: (15, 15)."""
    tokens = list(product(range(5), range(3)))
    return torch.tensor([[float(attempt(query, key, False)) for key in tokens] for query in tokens])


SEES = Exercise(
    name="Who sees whom?",
    task=(
        "Several texts share one sequence. Write `sees(query, key, isolated)`: whether the token `query`, a "
        "pair (time, branch), may look at the token `key`, another such pair. The rule is this page's: "
        "itself, and everything at strictly earlier times, of every branch. With `isolated=True` it sees "
        "itself and the past of its own branch only."
    ),
    level="warm-up",
    minutes=5,
    checks=(
        Check("within a branch", sees_own),
        Check("between branches, with the open mask", sees_others),
        Check("between branches, isolated", sees_none),
    ),
    hints=(
        "Three cases: the key's time is earlier, the same, later. Branches matter in one of them only.",
        "Open: earlier, or the very same token. Isolated: the same branch, and not later.",
    ),
    stub=sees_stub,
    answer=sees_answer,
    picture=Picture(sees_drawn, "key: times 0 to 4, three branches each", "query"),
)


def targets_stub(time: torch.Tensor, branch: torch.Tensor) -> torch.Tensor:
    """Where in the row each token's target stands (T,): the next token of its own text, or −1 if none."""
    return torch.arange(len(time)) + 1


def targets_answer(time: torch.Tensor, branch: torch.Tensor) -> torch.Tensor:
    """Where in the row each token's target stands (T,): the next token of its own text, or −1 if none."""
    target = torch.full_like(time, -1)
    latest: dict[int, int] = {}  # branch -> where its latest token stands
    for i, b in enumerate(branch.tolist()):
        if b in latest:
            target[latest[b]] = i
        latest[b] = i
    return target


def woven(draw: Generator, lengths: list[int], staggered: bool) -> BranchBatch:
    """A row of texts of these lengths; staggered ones begin when they like, under any branch numbers."""
    rng = dice(draw)
    offsets = [rng.randint(0, 5) if staggered else 0 for _ in lengths]
    numbers = rng.sample(range(9), len(lengths)) if staggered else list(range(len(lengths)))
    return interleave([torch.arange(n + 1) for n in lengths], offsets, numbers)


def wanted_targets(row: BranchBatch) -> Tensor:
    """The index of the token of the same branch whose time is one more, or −1."""
    time, branch = row.time[0], row.branch[0]
    follows = (branch[:, None] == branch) & (time[:, None] + 1 == time)  # (T, T)
    return torch.where(follows.any(dim=1), follows.int().argmax(dim=1), -1)


def targeted(attempt: Any, draw: Generator, rows: list[list[int]], staggered: bool) -> None:
    for lengths in rows:
        row = woven(draw, lengths, staggered)
        time, branch = row.time[0], row.branch[0]
        T = len(time)
        later = (time[:, None] < time).int()
        mistakes = {
            "None is found. Two tensors are never the same key of a dictionary: branch.tolist()": torch.full(
                (T,), -1
            ),
            "That is the next token of the row, of whatever text": torch.cat(
                [torch.arange(1, T), -torch.ones(1)]
            ),
            "The last token of a text has no target in the row: −1": torch.where(
                wanted_targets(row) < 0, torch.arange(T), wanted_targets(row)
            ),
            "That is the first token of the next time, of whatever text": torch.where(
                later.any(dim=1), later.argmax(dim=1), -1
            ),
        }
        what = f"time {time.tolist()} and branch {branch.tolist()}"
        expect(attempt, time, branch, want=wanted_targets(row), what=what, mistakes=mistakes)


def one_text(attempt: Any, draw: Generator) -> None:
    targeted(attempt, draw, [[1], [4]], staggered=False)


def together(attempt: Any, draw: Generator) -> None:
    targeted(attempt, draw, [[2, 2], [3, 3, 3]], staggered=False)


def apart(attempt: Any, draw: Generator) -> None:
    targeted(attempt, draw, [[3, 1], [2, 5, 3], [4, 4, 1, 6]], staggered=True)


TARGETS = Exercise(
    name="The next token of one's own text",
    task=(
        "Texts are woven into one row, sorted by time. Write `targets(time, branch)`: for each token of the "
        "row the *index* of its target, the next token of its own text, and −1 where the row holds none. "
        "`time` and `branch` are tensors (T,), and so is what you return. Texts may begin at different "
        "times, end at different times, and have any branch numbers."
    ),
    level="core",
    minutes=10,
    checks=(
        Check("a single text", one_text),
        Check("texts that run together", together),
        Check("texts that begin and end as they like", apart),
    ),
    hints=(
        "In the row `a b W c X` of two texts, the target of `b` is `c`, two further on. Of `W`?",
        "Go through the row (`branch.tolist()` gives plain numbers), and remember for each branch where its "
        "latest token stands.",
        "When a token of a branch comes, it is the target of the one you remembered.",
    ),
    stub=targets_stub,
    answer=targets_answer,
)

EXERCISES = (SEES, TARGETS, SPLIT_GAP, STRIDE_MATTERS)
