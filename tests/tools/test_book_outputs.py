"""Outputs of a notebook become parts of a page."""

import json
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image

from babygpt_course.exercises import lesson_04 as rope
from babygpt_course.predictions import Guess, predict
from tools.book.live_parts import formula_html
from tools.book.outputs import Page, key_of
from tools.book.recorder import exercise_facts, guess_facts
from tools.notebooks import ANSWER, WIDGET

QUESTION = "Which is <longer>?"
SVG = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 904 377' width='904' height='377'><rect/></svg>"
RECORDING: dict[str, Any] = {"title": "v4", "module": "dashboard", "words": "In <it>.", "data": "H4s="}


@pytest.fixture
def guess() -> Guess:
    asked = predict(QUESTION, ["a mile", "a kilometre"])
    asked.compare("a mile")
    return asked


def facts(**found: Any) -> dict[str, Any]:
    return {"recorded": {}, "formulas": {}, "shown": {}, "guesses": {}, "outcomes": {}, **found}


def widget(model: str, text: str = "", **more: Any) -> NotebookNode:
    return new_output("display_data", data={WIDGET: {"model_id": model}, "text/plain": text, **more})


def convert(noted: dict[str, Any], folder: Path, *cells: NotebookNode, name: str = "04_rope") -> NotebookNode:
    return Page(name, noted, folder, "../pictures/").convert(new_notebook(cells=list(cells)))


def html_of(cell: NotebookNode) -> BeautifulSoup:
    return BeautifulSoup("".join(out.data["text/html"] for out in cell.outputs), "html.parser")


def test_a_run_becomes_a_figure_with_its_recording_and_its_still_for_readers_without_scripts(tmp_path: Path):
    output = widget("m", **{"image/svg+xml": SVG})
    output.metadata = {"image/svg+xml": {"alt": "training: <v4>"}}
    notebook = convert(facts(recorded={"m": RECORDING}), tmp_path, new_code_cell(outputs=[output]), name="05")
    page = html_of(notebook.cells[0])
    assert page.figure["data-live"] == "dashboard"
    assert page.figure.select_one("script[type='application/gzip']").string == "H4s="
    assert page.figcaption.get_text() == "In <it>."
    assert page.select("script[src]")[0]["src"] == "../_static/live/dashboard.js"
    image = page.select_one("noscript img")
    assert (image["alt"], image["width"], image["height"]) == ("training: <v4>", "904", "377")
    assert (tmp_path / Path(image["src"]).name).read_text() == SVG


def test_a_picture_is_stored_with_few_colours_and_keeps_its_size(tmp_path: Path):
    file = BytesIO()
    Image.effect_noise((60, 40), 50).convert("RGB").save(file, "PNG")
    png = new_output("display_data", data={"image/png": b64encode(file.getvalue()).decode()})
    image = html_of(convert(facts(), tmp_path, new_code_cell(outputs=[png])).cells[0]).img
    assert (image["width"], image["height"]) == ("60", "40")
    with Image.open(tmp_path / Path(image["src"]).name) as found:
        assert found.size == (60, 40)
        assert len(found.getcolors()) <= 256


def test_the_first_training_of_two_lessons_becomes_a_race(tmp_path: Path):
    explorer = {**RECORDING, "module": "explorer"}
    noted = facts(recorded={"explorer": explorer, "first": RECORDING, "second": RECORDING})
    cells = [new_code_cell(outputs=[widget(name)]) for name in noted["recorded"]]
    pages = [str(html_of(cell)) for cell in convert(noted, tmp_path, *cells).cells]
    assert ['class="race"' in page for page in pages] == [False, True, False]
    assert 'data-left="sinusoid" data-right="rope"' in pages[1]


def test_an_explorer_of_a_formula_has_its_state_and_no_word_ends_the_script_that_holds_it():
    page = formula_html({"name": "rope", "title": "</script>", "controls": []}, "")
    assert page.count("</script>") == 2
    figure = BeautifulSoup(page, "html.parser").figure
    assert json.loads(figure.script.string)["title"] == "</script>"


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
