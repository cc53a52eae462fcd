"""Every exercise: the solution passes, mistakes fail for their reason, junk gets words."""

import ast
import importlib
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import babygpt_course.exercises
from babygpt_course.exercises import Exercise
from babygpt_course.exercises.lesson_03b import LOOK_BACK
from babygpt_course.exercises.lesson_08 import OWN_ENCODING
from tests.course.exercises.harness import Mutant

LESSONS = sorted(path.stem for path in Path(babygpt_course.exercises.__file__).parent.glob("lesson_*.py"))
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
    "returns its input": lambda *inputs, **__: inputs[0] if inputs else None,
    "takes nothing": lambda: 1.0,
    "leaves": lambda *_, **__: exit(3),
}


def name(thing: Any) -> str:
    return f"{thing.exercise.name}: {thing.name}" if isinstance(thing, Mutant) else thing.name


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


def in_numpy(value: Any) -> Any:
    """Return numbers and texts as NumPy's scalars, and several of one type and shape as an array."""
    if isinstance(value, tuple | list):
        parts = [in_numpy(part) for part in value]
        return np.array(parts) if len({(type(part), np.shape(part)) for part in parts}) == 1 else parts
    if isinstance(value, torch.Tensor | set):
        return value if isinstance(value, set) else value.numpy()
    return np.array(value, dtype=np.float32 if isinstance(value, float) else None)[()]


def one_by_one(value: Any) -> Any:
    """Return tensors as lists of tensors, whole numbers as fractions, and a set as a list."""
    if isinstance(value, tuple | list | set) or np.ndim(value):
        return [one_by_one(part) for part in value]
    return (
        value if isinstance(value, str) else Fraction(value) if type(value) is int else torch.as_tensor(value)
    )


@pytest.mark.parametrize(
    "exercise", [exercise for exercise in EXERCISES if exercise.name != OWN_ENCODING.name], ids=name
)
@pytest.mark.parametrize("change", [in_numpy, one_by_one])
def test_a_right_answer_passes_in_any_type(exercise: Exercise, change: Any):
    answer = exercise.answer
    report = exercise.check((lambda *inputs: change(answer(*inputs))) if callable(answer) else change(answer))
    assert report.solved, report


@pytest.mark.parametrize("mutant", MUTANTS, ids=name)
def test_a_mistake_fails_for_its_reason(mutant: Mutant):
    torch.manual_seed(0)  # some mistakes draw at random, and are lucky now and then
    random.seed(0)
    report = mutant.exercise.check(mutant.answer)
    assert set(report.failed) == set(mutant.fails), report
    assert mutant.says in repr(report)


@pytest.mark.parametrize("exercise", EXERCISES, ids=name)
def test_junk_gets_a_sentence(exercise: Exercise):
    """Give one exercise all junk, and the others one wrong value and one wrong function."""
    for junk in JUNK if exercise is LOOK_BACK else ("hostile", "returns a wrong shape"):
        report = exercise.check(JUNK[junk])
        assert not report.solved
        assert all(reason for mark, _, reason in report.rows if mark == "✗")
        assert report._repr_html_()
        drawn = exercise.draw(JUNK[junk])
        assert isinstance(drawn, str) or drawn.words != "No difference"


def test_an_endless_answer_is_interrupted(monkeypatch):
    def endless(*_, **__):
        while True:
            pass

    monkeypatch.setattr(LOOK_BACK, "seconds", 0.3)
    report = LOOK_BACK.check(endless)
    assert "did not come to an end within 0.3 seconds" in report.rows[0][2]
    assert all(reason == "not looked at" for _, _, reason in report.rows[1:])


@pytest.mark.parametrize("exercise", DRAWN, ids=name)
def test_a_picture_shows_the_solution_as_wanted_and_most_mistakes_as_different(exercise: Exercise):
    axes = [ax for ax in exercise.draw(exercise.answer).figure.axes if ax.get_xlabel()]
    assert [ax.get_title("left") or ax.get_title() for ax in axes] == ["Yours", "Wanted", "No difference"]
    drawn = [exercise.draw(mutant.answer) for mutant in MUTANTS if mutant.exercise is exercise]
    visible = [isinstance(drawing, str) or drawing.words != "No difference" for drawing in drawn]
    assert sum(visible) >= 0.5 * len(visible)
