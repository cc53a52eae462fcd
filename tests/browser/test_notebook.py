"""The harness itself: it names what is missing, and can see a failure."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Error

from tools.browser.notebook import EXPLORER, Notebook
from tools.browser.recording import dashboard_runs
from tools.browser.server import notebook_text, serve_notebooks

TRAIN = """
from babygpt import ModelConfig, NextToken, TrainConfig, build, load_corpus
import babygpt_live as live
from babygpt_course import explorers
corpus = load_corpus("tales", n_chars=9_000)
model = build("v4", ModelConfig(corpus.tokenizer.vocab_size, 16, n_layer=1, n_head=2, n_embd=16))
watches = [explorers.heads(corpus.tokenizer, "ada met ben.")]
run = live.train(model, NextToken(corpus, 16), TrainConfig(60), "small", watches=watches)
run.result();
"""
STILL = """
import numpy as np
import babygpt_live as live
from babygpt_live.panel import Curve, Panel
panels = lambda n, values: [Panel("always alike", [Curve("c", "red", np.ones(3))])]
live.Explorer("still", lambda n: n, panels, [live.Slider("n", 1, 0, 9)])
"""
IMPORTS = "from benchmarks import live\nfrom tools.browser import course_models"


@contextmanager
def opened(browser: Browser, *cells: str, **settings: Any) -> Iterator[Notebook]:
    """Open a notebook of these cells, in a JupyterLab of its own."""
    with (
        serve_notebooks({"a.ipynb": notebook_text(*cells)}) as address,
        Notebook(browser, address, "a.ipynb", **settings) as notebook,
    ):
        yield notebook


def test_the_harness_reports_errors_and_a_picture_that_does_not_change(browser: Browser):
    with opened(browser, STILL, IMPORTS, "1 / 0") as notebook:
        notebook.run_all()
        assert notebook.errors() == ["ZeroDivisionError: division by zero"]
        assert [handle.name for handle in notebook.sliders(EXPLORER)] == ["n"]
        with pytest.raises(TimeoutError, match="ArrowRight"):
            notebook.move_slider(EXPLORER, "ArrowRight", timeout=1)
        with pytest.raises(Error, match="ZeroDivisionError"):
            notebook.ask("1 / 0")


def test_a_recording_holds_the_drawings_of_a_run_with_its_numbers_and_times(browser: Browser):
    with opened(browser, "1", TRAIN) as notebook:
        notebook.record()
        notebook.run_all()
        notebook.page.wait_for_timeout(500)
        recorded = notebook.recorded()
        measured = notebook.ask("len(run.frames[watches[0]])")
    (board,), messages = recorded["boards"], recorded["messages"]
    (run,) = dashboard_runs(recorded)
    last, times = board["drawings"][-1], [drawing["t"] for drawing in board["drawings"]]
    assert (run.cell, run.title, run.steps, board["watches"]) == (1, "small", 60, 1)
    assert (last["made"], last["frames"], last["state"]) == (60, [measured], "finished")
    assert times == sorted(times)
    assert 0 < run.shown_after_ms < 2000
    assert 0 < (run.ready_s or 0) < 60
    assert len(messages) > 2
    assert run.kb_per_s > 0
