"""Answers as pictures: yours, the wanted one, the difference; words where nothing can be drawn."""

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from babygpt import plots
from babygpt_course.exercises import lesson_06, start
from tests.course.exercises.test_all import EXERCISES, JUNK, MUTANTS

DRAWN = [exercise for exercise in EXERCISES if exercise.picture]


def titles(figure: Figure) -> list[str]:
    return [ax.get_title(loc="left") or ax.get_title() for ax in figure.axes if ax.get_xlabel()]


def test_some_exercises_have_a_picture():
    assert len(DRAWN) >= 7


@pytest.mark.parametrize("exercise", DRAWN, ids=lambda exercise: exercise.name)
def test_the_solution_is_the_wanted_one_and_the_stub_is_not(exercise):
    with matplotlib.rc_context(plots.STYLE):
        assert titles(exercise.draw(exercise.answer).figure) == ["Yours", "Wanted", "No difference"]
        stub = exercise.draw(exercise.stub)
        assert isinstance(stub, str) or " differ, by up to " in titles(stub.figure)[-1]


@pytest.mark.parametrize("exercise", DRAWN, ids=lambda exercise: exercise.name)
@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_answered_in_words_or_drawn_as_different(exercise, junk):
    drawn = exercise.draw(JUNK[junk])
    assert isinstance(drawn, str) or not titles(drawn.figure)[-1].startswith("No difference")


def test_most_mistakes_can_be_seen_in_the_picture():
    drawn = [mutant.exercise.draw(mutant.answer) for mutant in MUTANTS if mutant.exercise.picture]
    seen = [isinstance(one, str) or one.words != "No difference" for one in drawn]
    assert sum(seen) > 0.7 * len(seen)


def test_an_exercise_without_a_picture_says_so():
    assert "no picture" in start.UNITS.draw(start.UNITS.answer)


def test_a_notebook_shows_it_and_says_it_in_words():
    drawn = lesson_06.SEES.draw(lesson_06.SEES.stub)
    png, metadata = drawn._repr_png_()
    assert png.startswith(b"\x89PNG")
    assert metadata == {"alt": repr(drawn)}
    assert repr(drawn) == "Yours, the wanted one, and the difference: 105 of 225 differ, by up to 1"


def test_a_picture_leaves_the_random_generator_as_it_was():
    before = torch.get_rng_state()
    lesson_06.SEES.draw(lambda *_: torch.rand(()).item())
    assert torch.equal(before, torch.get_rng_state())


def test_nan_is_drawn_and_counted():
    figure = plots.answer_figure(np.full((2, 2), np.nan), np.zeros((2, 2)), "Different", "x", "y")
    assert titles(figure) == ["Yours", "Wanted", "Different"]
