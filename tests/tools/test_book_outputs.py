"""Outputs of a notebook become parts of a page, and recordings hold what the kernel would tell the page."""

import base64
import gzip
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image

from babygpt import ModelConfig, NextToken, TrainConfig, build, load_corpus
from babygpt.errors import BadInput
from babygpt_course.exercises import lesson_04a as rope
from babygpt_course.predictions import predict
from babygpt_live import Choice, Explorer, Line, Slider, Watch
from babygpt_live.dashboard import Dashboard
from babygpt_live.panel import Cells, Curve, Panel, as_plain, unpack
from babygpt_live.run import Run
from tools.book.live_parts import formula_html, pack
from tools.book.outputs import NotebookPage, key_of
from tools.book.recorder import exercise_facts, guess_facts
from tools.book.recording import FRAMES, record_explorer, record_run
from tools.notebooks import ANSWER, WIDGET

SVG = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 904 377' width='904' height='377'><rect/></svg>"
RECORDING: dict[str, Any] = {"title": "v4", "module": "dashboard", "words": "In <it>.", "data": "H4s="}


def facts(**overrides: Any) -> dict[str, Any]:
    return {"recorded": {}, "formulas": {}, "shown": {}, "guesses": {}, "outcomes": {}, **overrides}


def widget(model: str, text: str = "", **more: Any) -> NotebookNode:
    return new_output("display_data", data={WIDGET: {"model_id": model}, "text/plain": text, **more})


def convert(
    noted: dict[str, Any], folder: Path, *cells: NotebookNode, name: str = "04a_rope"
) -> NotebookNode:
    return NotebookPage(name, noted, folder, "../pictures/").convert(new_notebook(cells=list(cells)))


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
    png = new_output("display_data", data={"image/png": base64.b64encode(file.getvalue()).decode()})
    image = html_of(convert(facts(), tmp_path, new_code_cell(outputs=[png])).cells[0]).img
    assert (image["width"], image["height"]) == ("60", "40")
    with Image.open(tmp_path / Path(image["src"]).name) as picture:
        assert picture.size == (60, 40)
        assert len(picture.getcolors()) <= 256


def test_the_first_training_of_lesson_04a_becomes_one_in_the_page(tmp_path: Path):
    explorer = {**RECORDING, "module": "explorer"}
    noted = facts(recorded={"explorer": explorer, "first": RECORDING, "second": RECORDING})
    cells = [new_code_cell(outputs=[widget(name)]) for name in noted["recorded"]]
    pages = [html_of(cell) for cell in convert(noted, tmp_path, *cells).cells]
    labs = [page.find(class_="lab small") for page in pages]
    assert [lab is not None for lab in labs] == [False, True, False]
    assert (labs[1]["data-first"], labs[1]["data-second"]) == ("sinusoid", "rope")


def test_no_word_ends_the_script_that_holds_an_explorers_state():
    page = formula_html({"name": "rope", "title": "</script>", "controls": []}, "")
    assert page.count("</script>") == 2
    assert json.loads(BeautifulSoup(page, "html.parser").figure.script.string)["title"] == "</script>"


def test_a_guess_becomes_a_form_and_its_outcome_a_paragraph(tmp_path: Path):
    question = "Which is <longer>?"
    guess = predict(question, ["a mile", "a kilometre"])
    guess.compare("a mile")
    noted = facts(guesses={"q": guess_facts(guess)}, outcomes={"r": question})
    ask = new_code_cell(outputs=[widget("q", repr(guess))])
    tell = new_code_cell(outputs=[widget("r", "It came out")], metadata={"tags": [ANSWER]})
    notebook = convert(noted, tmp_path, ask, tell)
    field = html_of(notebook.cells[0]).fieldset
    assert [radio["value"] for radio in field.select("input")] == ["a mile", "a kilometre"]
    assert question in field.legend.get_text()
    assert "It came out" not in field.get_text().partition("{")[0]
    outcome = html_of(notebook.cells[1]).p
    assert outcome["data-outcome"] == field["data-guess"] == key_of(question)
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
    assert html_of(notebook.cells[1]).select_one("a[download]")["href"] == "04a_rope.ipynb"


# ---------------------------------------------------------------- recordings


def read(text: str) -> Any:
    """Read a recording, independently of the page."""
    head, _, numbers = gzip.decompress(base64.b64decode(text)).partition(b"\0")

    def array(part: dict[str, Any]) -> Any:
        return unpack({**part, "data": numbers[slice(*part["data"])]}) if "dtype" in part else part

    return json.loads(head, object_hook=array)


def test_an_array_that_occurs_twice_is_stored_once():
    noise = np.random.default_rng(0).random(9_000)
    once, twice = (pack(as_plain({str(i): noise for i in range(n)})) for n in (1, 2))
    assert len(twice) < 1.01 * len(once)
    assert all(np.array_equal(array, np.float32(noise)) for array in read(twice).values())


def test_an_explorer_is_recorded_with_its_answers_to_all_combinations():
    """Record a panel with a curve and three controls, which refuses b = 3, and a text that stays."""

    def measure(a: int, b: int, colour: str, text: str) -> np.ndarray:
        if b == 3:
            raise BadInput("b should not be 3")
        return np.array([a, b, 0.5])

    def panels(heights: np.ndarray, _: Any) -> list[Panel]:
        return [Panel(f"a is {heights[0]:.0f}", [Curve("", "red", heights)])]

    sliders = [Slider("a", 2, 0, 9), Slider("b", 1, 0, 4), Slider("letter", 1, 1, 3)]
    controls = [*sliders, Choice("colour", ("red", "blue")), Line("text", "hi")]
    together = ("a", "b", "text")
    explorer = Explorer("bars", measure, panels, controls, in_page=("letter",), together=together)
    explorer.a = 7
    recording = record_explorer(explorer)
    assert recording["words"] == "Recorded. In the notebook these move too: colour = red, text = hi."
    state = read(recording["data"])
    assert [control["name"] for control in state["controls"]] == ["a", "b", "letter"]
    assert (state["a"], state["b"], state["letter"], state["together"]) == (7, 1, 1, ["a", "b"])
    assert len(state["answers"]) == 50
    for number, answer in enumerate(state["answers"]):
        a, b = divmod(number, 5)
        assert answer["asked"] == {"a": a, "b": b}
        assert (answer.get("problem") == "b should not be 3") == ("frames" not in answer) == (b == 3)
        if b != 3:
            (((panel,),), title) = answer["frames"], f"a is {a}"
            assert panel["title"] == title
            assert np.array_equal(panel["marks"][0]["y"], [a, b, 0.5])


def test_of_a_long_slider_few_stops_are_kept_with_both_ends_and_the_present_one():
    explorer = Explorer(
        "n", lambda n: n, lambda *_: [Panel("", [])], [Slider("n", 7, 0, 999)], together=("n",)
    )
    state = read(record_explorer(explorer)["data"])
    stops = state["controls"][0]["stops"]
    assert stops == sorted({*range(0, 1000, 5), 7, 999})
    assert [answer["asked"]["n"] for answer in state["answers"]] == stops


@pytest.mark.parametrize(("side", "n"), [(4, 61), (80, FRAMES)])
def test_a_run_is_recorded_from_the_untrained_model_to_the_last_step(side: int, n: int):
    """Train v1 for 60 steps with a watch of as many squares with so many sides."""
    corpus, rng = load_corpus("plain-tales", n_chars=20_000), np.random.default_rng(0)
    torch.manual_seed(0)
    model = build("v1", ModelConfig(corpus.tokenizer.vocab_size, block_size=8, n_embd=8))

    def panel(frames: Any, title: str, total: int) -> Panel:
        return Panel(f"after {frames[-1][0]}", [Cells(frames[-1][1], 1.0)])

    watch = Watch(lambda model: rng.random((side, side)), panel, times=60)
    run = Run(model, NextToken(corpus, 8), TrainConfig(steps=60, batch_size=4), "v1", [watch])
    run.measure_untrained(model)
    dashboard = Dashboard(run, {}, [Slider("theta", 3, 1, 9, "θ (tokens)")])
    run.train_after([])
    recording = record_run(dashboard)
    state = read(recording["data"])
    assert np.array_equal(state["loss0"], np.float32([step.loss for step in run.history]))
    assert (state["head"]["made"], state["head"]["frames"]) == (60, [n])
    assert recording["words"].endswith("There you can move θ meanwhile.")
    frames = [state[f"frame0_{k}"] for k in range(n)]
    assert [frames[0]["step"], frames[-1]["step"]] == [0, 60]
    assert frames[-1]["panel"]["title"] == "after 60"
    assert frames[-1]["panel"]["marks"][0]["values"].shape == (side, side)
