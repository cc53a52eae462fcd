"""The live lab in a real browser: what a learner may do to it, all at once, and a page that reloads."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from babygpt.browser.lab import Notebook, course, sheet

SETUP, EXPLORE, TRAIN, WAIT, COMPARE, COUNT = range(6)
CELLS = (
    """
import ipywidgets, torch
from babygpt import ModelConfig, NextToken, TrainConfig, build, live, load_corpus
corpus = load_corpus("tales", n_chars=20_000)
def start(title, steps=100_000):
    torch.manual_seed(0)
    model = build("v4", ModelConfig(corpus.tokenizer.vocab_size, 32, n_layer=1, n_head=2, n_embd=32))
    watches = [live.heads(corpus.tokenizer, "ada met ben.")]
    knobs = [live.Scale("theta", 10_000.0, 10.0, 1_000_000.0, "θ")]
    recipe = TrainConfig(steps=steps)
    return live.train(model, NextToken(corpus, 32), recipe, title, {"floor": corpus.floor}, watches, knobs)
""",
    "explorer = live.rotary()\nexplorer",
    'run = start("v4")',
    "history = run.result()",
    """
assert explorer.painter.rest(10)
assert explorer.error is None
same = live.rotary()
for name, control in explorer.controls.items():
    same.controls[name].value = control.value
assert same.painter.rest(10)
assert same.image.value == explorer.image.value
""",
    "print(len([w for w in ipywidgets.Widget.widgets.values() if isinstance(w, ipywidgets.Image)]))",
)
EXPLORER, DASHBOARD = ".babygpt-explorer", ".babygpt-dashboard"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with course({"live.ipynb": sheet(*CELLS)}) as served:
        yield served


@pytest.fixture
def notebook(browser: Browser, address: str) -> Iterator[Notebook]:
    """The sheet with its set-up done, in a kernel of its own."""
    opened = Notebook(browser, address, "live.ipynb")
    opened.run(SETUP)
    yield opened
    opened.close()


def said(notebook: Notebook, nth: int = 0) -> str:
    """What a dashboard says of its run."""
    return notebook.page.locator(DASHBOARD).nth(nth).inner_text()


def steps(notebook: Notebook) -> int:
    found = re.search(r"step (\d+) of", said(notebook))
    return int(found[1]) if found else 0


def until_it_says(notebook: Notebook, word: str) -> None:
    expect(notebook.page.locator(DASHBOARD).first).to_contain_text(word, timeout=20_000)


def until_it_goes_on(notebook: Notebook) -> None:
    before = steps(notebook)
    until_it_says(notebook, "running")
    notebook.page.wait_for_function(
        f"Number(/step (\\d+) of/.exec(document.querySelector('{DASHBOARD}').innerText)?.[1]) > {before}"
    )


def click(notebook: Notebook, words: str) -> None:
    notebook.page.locator(DASHBOARD).get_by_role("button", name=words).click()


def test_a_slider_answers_while_a_model_trains(notebook: Notebook):
    notebook.run(EXPLORE, TRAIN)
    until_it_goes_on(notebook)
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
        notebook.answer(EXPLORER, key)
    until_it_goes_on(notebook)


@pytest.mark.survives("a slider is moved while a cell waits for a run", "it answers")
def test_a_slider_answers_while_a_cell_waits_for_the_run(notebook: Notebook):
    notebook.run(EXPLORE, TRAIN)
    notebook.run_cell(WAIT)
    until_it_goes_on(notebook)
    notebook.answer(EXPLORER, "ArrowRight")
    click(notebook, "stop")
    notebook.wait_for_cell(60)
    assert notebook.errors() == []
    outputs = notebook.cells()[WAIT]["outputs"]
    assert ["image/png", "text/plain"] in [sorted(out.get("data", {})) for out in outputs]


def test_pause_resume_and_stop(notebook: Notebook):
    notebook.run(TRAIN)
    until_it_goes_on(notebook)
    click(notebook, "pause")
    until_it_says(notebook, "paused")
    held = steps(notebook)
    notebook.answer(DASHBOARD, "ArrowLeft", slider=1)  # rewind while it rests
    assert steps(notebook) == held
    click(notebook, "resume")
    until_it_goes_on(notebook)
    assert steps(notebook) > held
    click(notebook, "stop")
    until_it_says(notebook, "stopped")
    notebook.answer(DASHBOARD, "ArrowLeft", slider=1)
    notebook.run(WAIT)


def test_a_knob_steers_the_run_and_the_history_says_so(notebook: Notebook):
    notebook.run(TRAIN)
    until_it_goes_on(notebook)
    notebook.page.locator(DASHBOARD).locator(".noUi-handle").first.press("ArrowLeft")
    until_it_goes_on(notebook)
    click(notebook, "stop")
    notebook.run(WAIT)
    notebook.replace_cell(COMPARE, "assert [step.changed for step in history if step.changed], history[-1]")
    notebook.run(COMPARE)


@pytest.mark.survives("the page is reloaded while a model trains", "the live view is back")
def test_a_reloaded_page_has_the_live_view_back(notebook: Notebook):
    notebook.run(EXPLORE, TRAIN)
    until_it_goes_on(notebook)
    notebook.save()
    notebook.page.reload()
    notebook.wait_for_kernel()
    until_it_goes_on(notebook)
    notebook.answer(EXPLORER, "ArrowRight")
    click(notebook, "stop")
    until_it_says(notebook, "stopped")


def test_an_interrupt_ends_the_waiting_and_nothing_else(notebook: Notebook):
    notebook.run(EXPLORE, TRAIN)
    notebook.run_cell(WAIT)
    until_it_goes_on(notebook)
    notebook.interrupt()
    notebook.wait_for_cell(60)
    assert notebook.errors() == ["KeyboardInterrupt: "]
    until_it_goes_on(notebook)
    notebook.answer(EXPLORER, "ArrowRight")
    click(notebook, "pause")
    until_it_says(notebook, "paused")


def test_training_twice_waits_and_offers_to_stop_the_first(notebook: Notebook):
    notebook.run(TRAIN)
    until_it_goes_on(notebook)
    notebook.run(TRAIN)
    until_it_says(notebook, "waiting")
    assert notebook.page.locator(DASHBOARD).count() == 1
    click(notebook, "stop v4, start this one")
    until_it_goes_on(notebook)
    click(notebook, "stop")
    until_it_says(notebook, "stopped")


def test_200_rapid_events_end_in_the_right_picture(notebook: Notebook):
    notebook.run(EXPLORE)
    handles = notebook.page.locator(f"{EXPLORER} .noUi-handle")
    for i in range(200):
        handles.nth(i % 4).press("ArrowRight" if i % 7 else "ArrowLeft", no_wait_after=True)
    notebook.run(COMPARE)


def test_running_a_cell_again_leaves_no_widgets_behind(notebook: Notebook):
    notebook.run(EXPLORE, COUNT)
    first = notebook.cells()[COUNT]["outputs"][0]["text"]
    notebook.run(EXPLORE, EXPLORE, COUNT)
    assert notebook.cells()[COUNT]["outputs"][0]["text"] == first


def test_what_is_saved_has_pictures_and_no_widget_state(notebook: Notebook):
    notebook.run(EXPLORE, TRAIN)
    until_it_goes_on(notebook)
    click(notebook, "stop")
    saved = notebook.page.evaluate("jupyterapp.shell.currentWidget.content.model.toJSON()")
    assert "widgets" not in saved["metadata"]
    shown = [out["data"] for c in saved["cells"] for out in c.get("outputs", []) if "data" in out]
    assert len(shown) == 2
    assert all({"image/png", "text/plain"} <= data.keys() for data in shown)
