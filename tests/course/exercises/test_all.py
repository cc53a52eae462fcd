"""Every exercise: solution passes, stub fails, mistakes fail for their reason, junk gets a sentence."""

from __future__ import annotations

import ast
import importlib
import re
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from babygpt_course.exercises import Exercise
from tests.course.exercises.harness import Mutant

HERE = Path(__file__).parent
STEMS = sorted(path.stem for path in HERE.glob("mutants_*.py"))
LESSONS = [re.sub(r"^mutants_(?=\d)", "lesson_", stem).removeprefix("mutants_") for stem in STEMS]
MUTANTS: list[Mutant] = [
    mutant for stem in STEMS for mutant in importlib.import_module(f"tests.course.exercises.{stem}").MUTANTS
]
EXERCISES: list[Exercise] = [
    exercise
    for lesson in LESSONS
    for exercise in importlib.import_module(f"babygpt_course.exercises.{lesson}").EXERCISES
]


class Hostile:
    """Everything that can be asked of it raises."""

    def __call__(self, *_, **__):
        raise MemoryError("no")

    def __repr__(self):
        raise RuntimeError("nor this")

    def __eq__(self, _):
        raise RuntimeError("nor that")

    __hash__ = None


def endless(*_, **__):
    while True:
        pass


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


def ids(mutant: Mutant) -> str:
    return f"{mutant.exercise.name}: {mutant.name}"


def test_each_lesson_is_tested():
    folder = Path(importlib.import_module("babygpt_course.exercises").__file__).parent
    with_exercises = {p.stem for p in folder.glob("*.py") if "EXERCISES" in p.read_text(encoding="utf-8")}
    assert with_exercises == set(LESSONS)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_the_solution_pasted_into_a_notebook_passes_and_the_stub_fails(exercise: Exercise):
    answer = pasted(exercise)
    start = time.process_time()
    report = exercise.check(answer)
    taken = time.process_time() - start
    assert report.solved, report
    assert not exercise.check(exercise.stub).solved
    assert len(exercise.hints) >= 2
    assert taken < 60  # a checker that never ends; how long it takes is told by a benchmark


def pasted(exercise: Exercise) -> Any:
    """What a solution defines in a notebook that has imported nothing; or its value."""
    if not callable(exercise.answer):
        return exercise.solution()
    text = exercise.solution().text
    assert "_answer" not in text
    assert "# type:" not in text
    names: dict[str, Any] = {}
    exec(text, names)
    return names[ast.parse(text).body[-1].name]


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_each_has_three_mutants_or_more(exercise: Exercise):
    assert len({m.name for m in MUTANTS if m.exercise is exercise}) >= 3


@pytest.mark.parametrize("mutant", MUTANTS, ids=ids)
def test_a_mistake_fails_for_its_reason(mutant: Mutant):
    report = mutant.exercise.check(mutant.answer)
    assert report.failed == list(mutant.fails), report
    assert mutant.says in repr(report)


@pytest.mark.parametrize("junk", JUNK)
@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_junk_gets_a_sentence(exercise: Exercise, junk: str):
    report = exercise.check(JUNK[junk])
    assert not report.solved
    assert all(why for mark, _, why in report.rows if mark == "✗")
    assert report._repr_html_()


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)
def test_what_never_ends_is_ended(exercise: Exercise, monkeypatch):
    if not callable(exercise.answer):
        pytest.skip("its answer is a value: there is nothing to run")
    monkeypatch.setattr(exercise, "seconds", 0.3)
    report = exercise.check(endless)
    assert not report.solved
