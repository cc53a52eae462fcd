"""An exercise of notebook 07a: an order of one's own, from the left, as long as the model is sure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor

from babygpt_course.exercises.base import Check, Exercise, Wrong, ask
from babygpt_course.exercises.compare import difference
from babygpt_course.exercises.draws import integer

LogProb = Callable[[frozenset[int], int], float]


def leftmost_stub(masked: Tensor, confidence: Tensor, most: int) -> Tensor:
    """What appears now (B, T): in each text the leftmost holes, at most so many, as long as they are sure."""
    return masked


def leftmost_answer(masked: Tensor, confidence: Tensor, most: int) -> Tensor:
    """What appears now (B, T): in each text the leftmost holes, at most so many, as long as they are sure."""
    number = masked.cumsum(dim=1)  # the first hole of a text is number 1
    unsure = masked & (confidence < 0.9) & (number > 1)
    stopped = unsure.cumsum(dim=1) > 0
    return masked & (number <= most) & ~stopped


def by_loops(masked: Tensor, confidence: Tensor, most: int) -> Tensor:
    """The same, hole by hole."""
    now = torch.zeros_like(masked)
    for row, holes in enumerate(masked.tolist()):
        at = [i for i, hole in enumerate(holes) if hole]
        for count, i in enumerate(at[:most]):
            if count and float(confidence[row, i]) < 0.9:
                break
            now[row, i] = True
    return now


def appear(attempt: Any, masked: Tensor, confidence: Tensor, most: int) -> None:
    sure = [[round(x, 2) for x in row] for row in confidence.tolist()]
    small = f"masked {masked.int().tolist()}, confidence {sure}"
    what = f"{small if masked.numel() <= 12 else f'texts of shape {tuple(masked.shape)}'} and most = {most}"
    want = by_loops(masked, confidence, most)
    got = ask(attempt, masked, confidence, most, what=what)
    if text := difference(got, want):
        same = isinstance(got, Tensor) and got.shape == masked.shape
        raise Wrong(f"for {what} {text}{reason(got.bool(), masked, want, most) if same else ''}")


def reason(now: Tensor, masked: Tensor, want: Tensor, most: int) -> str:
    """The first rule that what appears breaks."""
    rules = {
        "What is no hole cannot appear": now & ~masked,
        "The leftmost hole of a text always appears, or the writing never ends": masked.any(1) & ~now.any(1),
        f"More than {most} in one text": now.sum(1) > most,
        "Whatever stands to the right of an unsure hole must wait": now & ~want,
    }
    return next((f". {said}" for said, broken in rules.items() if broken.any()), "")


def holes(draw: Generator, shape: tuple[int, int], share: float) -> tuple[Tensor, Tensor]:
    """Where the holes are, and how sure the model is."""
    masked = torch.rand(shape, generator=draw) < share
    return masked, torch.rand(shape, generator=draw)


def first_appears(attempt: Any, draw: Generator) -> None:
    for shape in ((1, 3), (2, 4), (5, 9)):
        masked, confidence = holes(draw, shape, 0.6)
        appear(attempt, masked, 0.5 * confidence, integer(draw, 1, 4))


def most_appear(attempt: Any, draw: Generator) -> None:
    for shape in ((1, 4), (2, 5), (4, 12)):
        masked, confidence = holes(draw, shape, 0.7)
        appear(attempt, masked, 0.95 + 0.05 * confidence, integer(draw, 1, 4))


def unsure_wait(attempt: Any, draw: Generator) -> None:
    for shape in ((1, 4), (2, 6), (6, 20)):
        for _ in range(4):
            masked, chance = holes(draw, shape, 0.8)
            appear(attempt, masked, torch.where(chance < 0.4, 0.85, 0.95), integer(draw, 3, 7))


def ends(attempt: Any, draw: Generator) -> None:
    for shape in ((1, 3), (3, 8)):
        masked, confidence = holes(draw, shape, 0.5)
        masked[0] = False
        appear(attempt, masked, confidence, 2)


LEFTMOST = Exercise(
    name="An order of your own: from the left",
    task=(
        "Write `leftmost(masked, confidence, most)`: which holes are filled in now. `masked` (B, T) is True "
        "where a hole is, `confidence` (B, T) says how sure the model is there. In each text the holes "
        "appear from left to right: the leftmost one always, however unsure the model is of it; then the "
        "next ones as long as the model is at least 0.9 sure of them, at most `most` in all. At the first of "
        "the next ones that is less sure the text stops, and waits for the next step. Return (B, T), True "
        "where a token appears. A text without holes has nothing to do."
    ),
    level="stretch",
    minutes=15,
    checks=(
        Check("the leftmost hole of each text appears", first_appears),
        Check("at most so many", most_appear),
        Check("an unsure hole stops those to its right", unsure_wait),
        Check("texts without holes stay", ends),
    ),
    hints=(
        "Number the holes of each text from the left: `masked.cumsum(dim=1)` does it for all texts at once.",
        "Where is a hole that is unsure, and not the first? From there on, nothing more appears.",
        "`(unsure.cumsum(dim=1) > 0)` is True at the first unsure hole and everywhere to its right.",
    ),
    stub=leftmost_stub,
    answer=leftmost_answer,
)
