"""Outputs of a notebook become parts of a page."""

import json
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

from babygpt import live
from babygpt_course.predictions import Guess, predict
from babygpt_course.exercises import lesson_04 as rope
from tools.book.outputs import Page, key_of
from tools.book.recorder import exercise_facts, guess_facts
from tools.book.recording import AFTER
from tools.notebooks import ANSWER, WIDGET

QUESTION = "Which is <longer>?"
RECORDING: dict[str, Any] = {
    "title": "bars",
    "controls": [
        {"name": "a", "label": "a (tokens)", "kind": "range", "stops": ["0", "1"], "rest": 1},
        {"name": "b", "label": "b", "kind": "select", "stops": ["x", "y"], "rest": 0},
    ],
    "beyond": "In the notebook it dances. </script>",
    "numbers": [0, 1, 2, 1],
    "pictures": [
        {"panels": ["one.webp"], "alt": "One"},
        {"refused": "b should not be y"},
        {"panels": ["two.webp"], "alt": "Two </script>"},
    ],
    "sizes": [(300, 200)],
}


@pytest.fixture
def guess() -> Guess:
    asked = predict(QUESTION, ["a mile", "a kilometre"])
    asked.compare("a mile")
    return asked


def facts(**found: Any) -> dict[str, Any]:
    return {"views": {}, "formulas": {}, "shown": {}, "guesses": {}, "outcomes": {}, **found}


def widget(model: str, text: str = "") -> NotebookNode:
    return new_output("display_data", data={WIDGET: {"model_id": model}, "text/plain": text})


def convert(noted: dict[str, Any], folder: Path, *cells: NotebookNode) -> NotebookNode:
    return Page("04_rope", noted, folder, "../recorded/").convert(new_notebook(cells=list(cells)))


def html_of(cell: NotebookNode) -> BeautifulSoup:
    return BeautifulSoup("".join(out.data["text/html"] for out in cell.outputs), "html.parser")


def test_a_live_picture_becomes_a_figure_with_the_picture_at_rest(tmp_path: Path):
    notebook = convert(facts(views={"m": RECORDING}), tmp_path, new_code_cell(outputs=[widget("m")]))
    figure = html_of(notebook.cells[0]).figure
    assert [image["src"] for image in figure.select("img")] == ["../recorded/two.webp"]
    assert figure.select_one(".recorded-panels")["aria-label"] == "Two </script>"
    data = json.loads(figure.script.string)
    assert data["pictures"] == RECORDING["pictures"]
    assert data["numbers"] == RECORDING["numbers"]
    assert figure.figcaption.get_text() == f"Recorded: 3 pictures. {RECORDING['beyond']}"
    assert str(notebook.cells[0].outputs[0]).count("</script>") == 1  # no word ends the script that holds it


def test_the_first_training_of_two_lessons_becomes_a_race(tmp_path: Path):
    training = {**RECORDING, "controls": [{**RECORDING["controls"][0], "label": AFTER, "rest": 0}]}
    noted = facts(views={"explorer": RECORDING, "first": training, "second": training})
    cells = [new_code_cell(outputs=[widget(name)]) for name in noted["views"]]
    pages = [str(html_of(cell)) for cell in convert(noted, tmp_path, *cells).cells]
    assert ['class="race"' in page for page in pages] == [False, True, False]
    assert 'data-left="sinusoid" data-right="rope"' in pages[1]


def test_a_guess_becomes_a_form_and_its_outcome_a_paragraph(tmp_path: Path, guess: Guess):
    noted = facts(guesses={"q": guess_facts(guess)}, outcomes={"r": QUESTION})
    ask = new_code_cell(outputs=[widget("q", repr(guess))])
    tell = new_code_cell(outputs=[widget("r", "It came out")], metadata={"tags": [ANSWER]})
    notebook = convert(noted, tmp_path, ask, tell)
    field = html_of(notebook.cells[0]).fieldset
    assert [radio["value"] for radio in field.select("input")] == ["a mile", "a kilometre"]
    assert QUESTION in field.legend.get_text()
    assert "It came out" not in field.get_text().partition("{")[0]
    outcome = html_of(notebook.cells[1]).p
    assert outcome["data-outcome"] == field["data-guess"] == key_of(QUESTION)
    assert outcome.get_text().startswith("It came out: a mile.")
    assert notebook.cells[0].metadata["tags"] == ["remove-input"]  # the question stands in the call, too
    assert notebook.cells[1].metadata["tags"] == [ANSWER, "hide-output"]


def test_an_exercise_has_its_hints_and_its_solution_below_the_cell_that_checks(tmp_path: Path):
    noted = facts(shown={"3": {"exercise": exercise_facts(rope.HALF_SPLIT)}})
    task = new_code_cell("rope.HALF_SPLIT", execution_count=3)
    check = new_code_cell("rope.HALF_SPLIT.check(half_split)", execution_count=4)
    notebook = convert(noted, tmp_path, task, check)
    assert not notebook.cells[0].outputs
    folds = html_of(notebook.cells[1]).select("details")
    assert len(folds) == len(rope.HALF_SPLIT.hints) + 1
    assert "def half_split" in folds[-1].get_text()
    assert html_of(notebook.cells[1]).select_one("a[download]")["href"] == "04_rope.ipynb"
