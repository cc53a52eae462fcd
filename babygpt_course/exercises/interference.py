"""An exercise of notebook 06: the interference gap, split into the cost of tags and that of company."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean
from typing import Any

import torch
from torch import Generator

from babygpt.errors import BadInput
from babygpt_course.exercises.base import Check, Exercise, Wrong, ask
from babygpt_course.exercises.compare import difference, shown
from babygpt_course.exercises.draws import integer

Loss = Callable[[tuple[int, ...]], float]


def split_gap_stub(loss: Callable, n: int) -> tuple[float, float]:
    """What the tags cost and what the company costs, when n texts share a row under the tags 0 to n − 1."""
    return loss(tuple(range(n))) - loss((0,)), 0.0


def split_gap_answer(loss: Callable, n: int) -> tuple[float, float]:
    """What the tags cost and what the company costs, when n texts share a row under the tags 0 to n − 1."""
    alone = sum(loss((tag,)) for tag in range(n)) / n  # each text under its own tag, nobody beside it
    return alone - loss((0,)), loss(tuple(range(n))) - alone


class Machine:
    """Measures like a model would, whose numbers were drawn: a tag costs something, and so does company."""

    def __init__(self, draw: Generator, tags: bool, company: bool) -> None:
        self.plain = 0.5 + float(torch.rand((), generator=draw))
        self.tag = [0.0, *torch.rand(9, generator=draw).tolist()] if tags else [0.0] * 10
        self.company = 0.1 + float(torch.rand((), generator=draw)) if company else 0.0

    def __call__(self, tags: tuple[int, ...]) -> float:
        if not isinstance(tags, tuple) or not tags or len(set(tags)) < len(tags):
            raise BadInput(f"tags ({tags}) must be a tuple of different numbers, such as (0, 2)")
        return self.plain + fmean(self.tag[tag] for tag in tags) + self.company * (len(tags) - 1)


def split(attempt: Any, draw: Generator, tags: bool, company: bool) -> None:
    for n in (2, 3, integer(draw, 4, 9)):
        loss = Machine(draw, tags, company)
        got = ask(attempt, loss, n, what=f"n = {n}")
        want = split_gap_answer(loss, n)
        if not isinstance(got, tuple | list) or len(got) != 2:
            raise Wrong(
                f"for n = {n} came out: {shown(got)}; should be two numbers: of the tags, of the company"
            )
        for name, one, other in zip(("tags", "company"), got, want, strict=True):
            if text := difference(one, other):
                kind = f"a model whose tags cost {'something' if tags else 'nothing'}"
                kind += f" and whose company costs {'something' if company else 'nothing'}"
                raise Wrong(f"for n = {n} and {kind}, what the {name} cost {text}{why(got, loss, n)}")


def why(got: Any, loss: Loss, n: int) -> str:
    """The mistake, if it is a known one."""
    alone, last = fmean(loss((tag,)) for tag in range(n)), loss((n - 1,))
    beside, zero = loss(tuple(range(n))), loss((0,))
    mistakes = {
        "That is the whole gap: how much of it would each text pay alone?": (beside - zero, 0.0),
        "Company is measured against the same tags, alone": (alone - zero, beside - zero),
        "All n tags count, not only the last": (last - zero, beside - last),
        "First the tags, then the company": (beside - alone, alone - zero),
        "Average over the tags": (n * alone - n * zero, beside - n * alone),
        "Average over the tags, do not add them up": (n * alone - zero, beside - n * alone),
    }
    found = [said for said, wrong in mistakes.items() if not difference(got, wrong)]
    return f". {found[0]}" if found else ""


def tags_alone(attempt: Any, draw: Generator) -> None:
    split(attempt, draw, tags=True, company=False)


def company_alone(attempt: Any, draw: Generator) -> None:
    split(attempt, draw, tags=False, company=True)


def both_costs(attempt: Any, draw: Generator) -> None:
    split(attempt, draw, tags=True, company=True)


SPLIT_GAP = Exercise(
    name="Is it the company, or the tag?",
    task=(
        "Four texts in a row lose more than a text alone. But *alone* meant: under tag 0, which every sample "
        "of the training had, while tags 2 and 3 were never seen. Design the control. `loss(tags)` measures "
        "the mean loss of texts that share a row under these tags, a tuple: `loss((0, 1, 2, 3))` of four, "
        "`loss((2,))` of one alone under tag 2. Write `split_gap(loss, n)`: two numbers, what the *tags* "
        "cost (alone, on average over the tags 0 to n − 1, against alone under tag 0) and what the *company* "
        "costs. Together they are the gap, `loss((0, …, n − 1)) − loss((0,))`."
    ),
    level="core",
    minutes=10,
    checks=(
        Check("a model that minds the tags only", tags_alone),
        Check("a model that minds company only", company_alone),
        Check("a model that minds both", both_costs),
    ),
    hints=(
        "Which run has the tags and not the company? Make it, for each tag.",
        "Its mean over the n tags stands between `loss((0,))` and `loss((0, …, n − 1))`.",
    ),
    stub=split_gap_stub,
    answer=split_gap_answer,
)
