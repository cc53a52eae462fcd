"""Journeys of a reader in Firefox: a dashboard, an explorer, models that train in the page, the book."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from babygpt_course.explorers import formulas
from tests.browser.page_checks import PLACE_OF_STEP
from tests.browser.test_engine import VERSIONS, check_engine
from tests.browser.test_lab import LAB, TALE
from tools.book import lab
from tools.book.__main__ import BUILD, is_current
from tools.browser.firefox import Firefox, FirefoxPage
from tools.browser.notebook import DASHBOARD, Notebook
from tools.browser.scripts import ENDS
from tools.browser.server import notebook_text, serve_notebooks
from tools.browser.site import PAGE, serve_folder, write_explorers

LEFT = "\ue012"  # WebDriver's name of the arrow key
CELLS = (
    """
import time, torch
from babygpt import ModelConfig, NextToken, TrainConfig, build, load_corpus
import babygpt_live as live
from babygpt_course import explorers
corpus = load_corpus("tales", n_chars=20_000)
model = build("v4", ModelConfig(corpus.tokenizer.vocab_size, 32, n_layer=2, n_head=2, n_embd=32))
class Slow(NextToken):
    def batch(self, *args):
        time.sleep(0.03)  # as long as a step of a lesson's models
        return super().batch(*args)
""",
    """
controls = [live.Scale("theta", 10_000.0, 10.0, 1_000_000.0, "θ")]
watches = [explorers.heads(corpus.tokenizer, "ada")]
run = live.train(model, Slow(corpus, 32), TrainConfig(steps=2000), "v4", {}, watches, controls)
""",
)


@pytest.fixture
def page(firefox_browser: Firefox) -> Iterator[FirefoxPage]:
    """Open a page that must throw nothing."""
    firefox_browser.errors.clear()
    opened = firefox_browser.new_page(viewport={"width": 1280, "height": 900})
    yield opened
    opened.close()
    assert firefox_browser.errors == []


def board(page: FirefoxPage, expression: str) -> Any:
    """Return what JavaScript finds in the page's dashboard, which is `board` there."""
    return page.evaluate(f"(({{ board }}) => {expression})(document.querySelector('{DASHBOARD}'))")


def until(page: FirefoxPage, condition: str) -> None:
    page.wait_for_function(
        f"(({{ board }}) => board && ({condition}))(document.querySelector('{DASHBOARD}') ?? {{}})"
    )


def test_a_dashboard_is_steered_scrubbed_and_stopped_while_a_model_trains(firefox_browser: Firefox) -> None:
    served = serve_notebooks({"run.ipynb": notebook_text(*CELLS)})
    with served as address, Notebook(firefox_browser, address, "run.ipynb") as notebook:
        page = notebook.page
        notebook.run_all()
        until(page, "board.run.made >= 100 && board.run.head.state === 'running'")
        page.evaluate(f"document.querySelector('{DASHBOARD}').scrollIntoView()")
        places = [board(page, PLACE_OF_STEP.format(step)) for step in (90, 40)]
        page.drag(*places)
        until(page, "Math.abs(board.at - 40) <= 8")
        back, steps_made = board(page, "[board.at, board.run.made]")
        until(page, f"board.run.made > {steps_made} && board.at === {back}")
        page.click(f"{DASHBOARD} [aria-label='follow the newest step']")
        until(page, "board.at === null")
        page.evaluate(f"[...document.querySelectorAll('{DASHBOARD} input[type=range]')].at(-1).focus()")
        page.press(LEFT)
        until(page, "board.run.moves.length === 1")
        page.click(f"{DASHBOARD} button", "Stop")
        until(page, "board.run.head.state === 'stopped'")
        losses = board(page, "[...board.run.series.losses]")
        assert losses == pytest.approx(notebook.ask("[step.loss for step in run.history]"), rel=1e-6)
        assert notebook.ask("[step.changed for step in run.history if step.changed]") == [{"theta": 7940.0}]


def test_a_handle_of_an_explorer_follows_the_mouse(page: FirefoxPage, tmp_path: Path) -> None:
    write_explorers(tmp_path, [formulas.sinusoidal()])
    with serve_folder(tmp_path) as address:
        page.goto(address)
        page.wait_for_function("document.querySelector('.handle') !== null")
        look = f"given => ({ENDS})(document.querySelector('.explorer'), given)"
        handle = page.evaluate(look, [0, 3])
        page.drag(handle["now"]["place"], handle["then"]["place"])
        shown = "[...document.querySelectorAll('.explorer label output')].map(one => one.value)"
        page.wait_for_function(f"values => String({shown}) === String(values)", handle["then"]["values"])
        after = page.evaluate(look, [0, 0])
        assert after["now"]["picture"] == handle["then"]["picture"] != handle["now"]["picture"]


@pytest.mark.parametrize("encoding", VERSIONS)
def test_gradients_and_losses_of_the_engine_are_those_of_pytorch(encoding: str, page: FirefoxPage) -> None:
    check_engine(encoding, page)


def test_a_text_of_ones_own_is_read_in_the_lab_and_a_dial_steers(page: FirefoxPage, tmp_path: Path) -> None:
    lab.write_lab(tmp_path)
    (tmp_path / "lab.html").write_text(PAGE.format(lab.lab_html()), encoding="utf-8")
    with serve_folder(tmp_path) as address:
        page.goto(f"{address}lab.html?text=own&first=gaussian&second=twin&layers=1&channels=32&steps=3000")
        page.evaluate(f"text => {LAB}.readOwn(text, true)", 60 * TALE)
        page.click(".lab-train")
        page.wait_for_function(f"{LAB}.runs?.every(run => run.losses.length > 30)")
        page.evaluate("[...document.querySelectorAll('.lab-dials input')].at(-1).focus()")
        page.press(LEFT)
        page.wait_for_function(f"{LAB}.moves.length === 1 && {LAB}.values.sigma < 5")
        page.wait_for_function(f"{LAB}.runs.every(run => run.losses.length > {LAB}.moves[0][0] + 60)")
        first, twin = page.evaluate(f"{LAB}.runs.map(run => run.losses)")
        moved = page.evaluate(f"{LAB}.moves[0][0]")
        assert first[:moved] == twin[:moved]
        assert first[moved + 30 : moved + 60] != twin[moved + 30 : moved + 60]
        page.click(".lab-lane.first .lab-row button")
        page.click(".lab-lane.first .lab-off")
        page.wait_for_function(
            "document.querySelector('.lab-silenced').textContent.includes('Without head 1')"
        )


@pytest.mark.skipif(not is_current(BUILD), reason="the book is not built: make book")
@pytest.mark.parametrize(
    "name", ["index.html", "notebooks/05_gaussian_rope.html", "notebooks/11_a_real_model.html"]
)
def test_a_page_of_the_book_draws_its_pictures(name: str, page: FirefoxPage) -> None:
    with serve_folder(BUILD / "html") as address:
        page.goto(address + name)
        page.wait_for_function("document.querySelectorAll('.explorer-panel svg').length > 0")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
