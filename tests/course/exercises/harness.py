"""What every exercise's tests say: its mutants, each with the things asked that it must fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from babygpt_course.exercises import Exercise


@dataclass(frozen=True)
class Mutant:
    """A mistake that people make.

    exercise  it is an answer to
    name      what the mistake is
    answer    the wrong answer
    fails     what is asked and not so, exactly
    says      a piece of the report that tells the learner what is wrong
    """

    exercise: Exercise
    name: str
    answer: Any
    fails: Sequence[str]
    says: str = ""
