"""Wrong answers to exercises, each with the requirements that it must fail."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from babygpt_course.exercises import Exercise


class Mutant(NamedTuple):
    """A mistake that people make.

    exercise  it is an answer to
    name      a few words for the mistake
    answer    the wrong answer
    fails     the requirements that it does not meet, exactly
    says      a piece of the report that tells the learner what is wrong
    """

    exercise: Exercise
    name: str
    answer: Any
    fails: Sequence[str]
    says: str = ""


def listed_mistake(exercise: Exercise, name: str, fails: Sequence[str], says: str) -> Mutant:
    """Return the mistake of the exercise's own table whose sentence contains `says`."""
    (sentence,) = (text for text in exercise.mistakes if says in text)
    return Mutant(exercise, name, exercise.mistakes[sentence], fails, sentence)


def requirements(exercise: Exercise) -> list[str]:
    """Return what an exercise requires, in order."""
    return list(exercise.checks)
