"""Every exercise: the solution passes, mistakes fail for their reason, junk gets words."""

from __future__ import annotations

import ast
import importlib
import random
from pathlib import Path
from typing import Any

import matplotlib
import pytest
import torch

import babygpt_course.exercises
from babygpt import plots
from babygpt_course.exercises import Exercise
from tests.course.exercises.harness import Mutant

FOLDER = Path(babygpt_course.exercises.__file__).parent
LESSONS = sorted(p.stem for p in FOLDER.glob("*.py") if "\nEXERCISES = " in p.read_text(encoding="utf-8"))
EXERCISES: list[Exercise] = [
    exercise
    for lesson in LESSONS
    for exercise in importlib.import_module(f"babygpt_course.exercises.{lesson}").EXERCISES
]
MUTANTS: list[Mutant] = [
    mutant
    for path in sorted(Path(__file__).parent.glob("mutants_*.py"))
    for mutant in importlib.import_module(f"tests.course.exercises.{path.stem}").MUTANTS
]
DRAWN = [exercise for exercise in EXERCISES if exercise.picture]


class Hostile:
    """Whatever is done with it raises."""

    def __call__(self, *_, **__):
        raise MemoryError("no")

    def __repr__(self):
        raise RuntimeError("nor this")

    def __eq__(self, _):
        raise RuntimeError("nor that")

    __hash__ = None


JUNK = {
    "None": None,
    "a number": 3.5,
    "a text": "yes",
    "a tensor": torch.zeros(3),
    "a type": dict,
    "hostile": Hostile(),
    "returns None": lambda *_, **__: None,
    "returns a constant": lambda *_, **__: 0.0,
    "returns a wrong shape": lambda *_, **__: torch.zeros(7, 1, 5),
    "returns nan": lambda *_, **__: torch.full((2, 2), torch.nan),
    "returns its input": lambda *given, **__: given[0] if given else None,
    "takes nothing": lambda: 1.0,
    "leaves": lambda *_, **__: exit(3),
}
ATTENTION = next(exercise for exercise in EXERCISES if exercise.name == "Attention from scratch")
# One exercise meets all junk, all exercises meet a value and a function that are none of theirs.
PAIRS = [(ATTENTION, junk) for junk in JUNK] + [
    (exercise, junk) for exercise in EXERCISES for junk in ("hostile", "returns a wrong shape")
]


def name(thing: Any) -> str:
    return (
        f"{thing.exercise.name}: {thing.name}" if isinstance(thing, Mutant) else getattr(thing, "name", thing)
    )


def titles(drawing: Any) -> list[str]:
    return [ax.get_title(loc="left") or ax.get_title() for ax in drawing.figure.axes if ax.get_xlabel()]


def pasted(exercise: Exercise) -> Any:
    """Return what a solution defines in a notebook that has imported nothing; or its value."""
    if not callable(exercise.answer):
        return exercise.solution()
    text = exercise.solution().text
    assert "_answer" not in text
    assert "# type:" not in text
    names: dict[str, Any] = {}
    exec(text, names)
    return names[ast.parse(text).body[-1].name]


@pytest.mark.parametrize("exercise", EXERCISES, ids=name)
def test_the_solution_pasted_into_a_notebook_passes(exercise: Exercise):
    report = exercise.check(pasted(exercise))
    assert report.solved, report
    assert len(exercise.hints) >= 2
    assert len({m.name for m in MUTANTS if m.exercise is exercise}) >= 3


@pytest.mark.parametrize("mutant", MUTANTS, ids=name)
def test_a_mistake_fails_for_its_reason(mutant: Mutant):
    torch.manual_seed(0)  # some mistakes draw at random, and are lucky now and then
    random.seed(0)
    report = mutant.exercise.check(mutant.answer)
    assert set(report.failed) == set(mutant.fails), report
    assert mutant.says in repr(report)


@pytest.mark.parametrize(("exercise", "junk"), PAIRS, ids=name)
def test_junk_gets_a_sentence(exercise: Exercise, junk: str):
    report = exercise.check(JUNK[junk])
    assert not report.solved
    assert all(reason for mark, _, reason in report.rows if mark == "✗")
    assert report._repr_html_()


def test_an_endless_answer_is_interrupted(monkeypatch):
    def endless(*_, **__):
        while True:
            pass

    monkeypatch.setattr(ATTENTION, "seconds", 0.3)
    report = ATTENTION.check(endless)
    assert "did not come to an end within 0.3 seconds" in report.rows[0][2]
    assert all(reason == "not looked at" for _, _, reason in report.rows[1:])


@pytest.mark.parametrize("exercise", DRAWN, ids=name)
def test_a_picture_shows_the_solution_as_wanted(exercise: Exercise):
    with matplotlib.rc_context(plots.STYLE):
        assert titles(exercise.draw(exercise.answer)) == ["Yours", "Wanted", "No difference"]


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_answered_in_words_or_drawn_as_different(junk: str):
    drawn = ATTENTION.draw(JUNK[junk])
    assert isinstance(drawn, str) or not titles(drawn)[-1].startswith("No difference")


def test_most_mistakes_can_be_seen_in_the_picture():
    drawn = [mutant.exercise.draw(mutant.answer) for mutant in MUTANTS if mutant.exercise.picture]
    visible = [isinstance(one, str) or one.words != "No difference" for one in drawn]
    assert len(DRAWN) >= 7
    assert sum(visible) > 0.7 * len(visible)
