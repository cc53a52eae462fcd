"""An exercise of notebook 00: the log-probability of a story with a scene, choice by choice."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Generator

from babygpt_course.exercises.base import Check, Exercise, expect
from babygpt_course.exercises.draws import drawn_story


def story_log_prob_stub(holes: list[str], sizes: dict[str, int]) -> float:
    """Log-probability in nats of a story whose holes are filled in this order, from lists of these sizes."""
    return 0.0


def story_log_prob_answer(holes: list[str], sizes: dict[str, int]) -> float:
    """Log-probability in nats of a story whose holes are filled in this order, from lists of these sizes."""
    total = 0.0
    filled: dict[str, set[str]] = {}  # kind -> its holes that hold a word
    for hole in holes:
        kind = hole.split(".")[0]
        before = filled.setdefault(kind, set())
        if hole not in before:
            total -= math.log(sizes[kind] - len(before))
            before.add(hole)
    return total


NOT_ABOVE_0 = "A probability is at most 1, so its logarithm is not above 0"


def some_holes(attempt: Any, draw: Generator, holes: list[str], said: str = "") -> None:
    """Ask for a few holes; `said` is for those who take each for a free choice from its whole list."""
    kinds = list(dict.fromkeys(hole.split(".")[0] for hole in holes))
    sizes = {kind: int(torch.randint(5, 60, (), generator=draw)) for kind in kinds}
    want = story_log_prob_answer(holes, sizes)
    mistakes = {NOT_ABOVE_0: -want}
    if said:
        mistakes[said] = -sum(math.log(sizes[hole.split(".")[0]]) for hole in holes)
    what = f"holes {holes} and sizes {sizes}"
    expect(attempt, holes, sizes, want=want, what=what, mistakes=mistakes)


def counts_rules(attempt: Any, draw: Generator) -> None:
    some_holes(attempt, draw, ["[gap]"])
    some_holes(attempt, draw, ["[story]", "[gap]", "[scenes]"])


def counts_once(attempt: Any, draw: Generator) -> None:
    said = "When a hole comes again, its word is known: that is no choice"
    some_holes(attempt, draw, ["verb", "verb"], said)
    some_holes(attempt, draw, ["name.b", "verb", "verb", "name.b"], said)


def counts_others(attempt: Any, draw: Generator) -> None:
    said = "Two people never share a name, so each new one has fewer names to choose from"
    some_holes(attempt, draw, ["name.z", "name.a"], said)
    some_holes(attempt, draw, ["name.c", "name.w", "name.a", "name.b"], said)


def counts_stories(attempt: Any, draw: Generator) -> None:
    for _ in range(8):
        holes, sizes, story, grammar = drawn_story(draw)
        what = f"the story {story!r}, with holes {holes} and sizes {sizes},"
        expect(attempt, holes, sizes, want=grammar.log_prob(story), what=what)


STORY = Exercise(
    name="A story with a scene",
    task=(
        "A story is written by filling holes, one after the other: `[story]` is filled with a template, "
        "`name.a` with a name, `[gap]` with one of its fillings, and so on. Above you took the logarithm of "
        "five choices; now write `story_log_prob(holes, sizes)`: the logarithm of the probability, in nats, "
        "of any story with at most one scene. `holes` are the story's holes in order, such as "
        '`["[story]", "name.a", "verb", "name.b", "[gap]", "[scenes]", "[scene]", "name.z", …]`; '
        '`sizes` says how long each list is: `{"[story]": 36, "name": 1920, "verb": 24, …}`. '
        "Every choice is fair. A hole that comes again holds the word that it held before, and two "
        "holes of one kind (`name.a`, `name.b`) never hold the same word."
    ),
    level="core",
    minutes=12,
    checks=(
        Check("every choice of a rule counts", counts_rules),
        Check("a hole that comes again is no choice", counts_once),
        Check("two names are never the same", counts_others),
        Check("whole stories, as the grammar says", counts_stories),
    ),
    hints=(
        "The probability is a product of 1/n, one for each choice that was free. What is its logarithm?",
        "Keep, for each kind, the holes that are filled already. A hole among them adds nothing.",
        "A new hole of a kind of which k are filled takes `math.log(sizes[kind] - k)` away.",
    ),
    stub=story_log_prob_stub,
    answer=story_log_prob_answer,
)
