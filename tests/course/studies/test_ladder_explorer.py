"""The board's explorer compares comparable models, seed by seed."""

import pytest

from babygpt.errors import BadInput
from babygpt_course.studies.ladder_explorer import explore_ladder, measure
from babygpt_course.studies.results import load_results

BOARD = {
    "board": {
        "a": {"masks": False, "1x": [1.0, 2.0], "2x": [1.0, 1.0], "4x": [None, None], "roles": [0.5, 0.5]},
        "b": {"masks": False, "1x": [1.5, 2.5], "2x": [3.0, 3.0], "4x": [1.0, 1.0], "roles": [0.9, 0.8]},
        "c": {"masks": True, "1x": [9.0, 9.0], "2x": [9.0, 9.0], "4x": [9.0, 9.0], "roles": [0.6, 0.4]},
    }
}


def test_losses_are_compared_among_models_of_one_kind_and_answers_among_all():
    found = measure(BOARD, "loss", "b", 5)
    assert found["rows"] == {"a": [-0.5, -0.5], "b": [0.0, 0.0]}  # the better one first
    found = measure(BOARD, "right answers", "a", 5)
    assert list(found["rows"]) == ["b", "a", "c"]
    assert found["rows"]["b"] == pytest.approx([40.0, 30.0])  # percentage points
    assert list(measure(BOARD, "right answers", "a", 2)["rows"]) == ["a", "c"]  # the closest


def test_a_rival_that_refuses_such_lengths_is_refused():
    assert list(measure(BOARD, "loss at 4× length", "b", 5)["rows"]) == ["b"]
    with pytest.raises(BadInput, match="a refuses"):
        measure(BOARD, "loss at 4× length", "a", 5)


def test_the_explorer_shows_the_stored_results():
    explorer = explore_ladder(load_results("ladder"))
    title = explorer.canvas.axes[0].get_title(loc="left")
    explorer.controls["column"].value = "right answers"
    assert explorer.painter.wait(60)
    assert explorer.error is None
    assert explorer.canvas.axes[0].get_title(loc="left") != title
