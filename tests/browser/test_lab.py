"""The harness itself: what it says when something is missing, and that it can see a failure."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from babygpt.browser import lab
from babygpt.browser.lab import Notebook, course, find_chromium, sheet


def test_a_missing_chromium_says_how_to_get_one(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(lab.shutil, "which", lambda _: None)
    monkeypatch.delenv(lab.CHROMIUM_VARIABLE, raising=False)
    with pytest.raises(ValueError, match="apt install chromium"):
        find_chromium()
    monkeypatch.setenv(lab.CHROMIUM_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="nowhere"):
        find_chromium()


def test_a_sheet_is_a_notebook_of_its_cells():
    made = json.loads(sheet("1 + 1", "2 + 2"))
    assert [cell["source"] for cell in made["cells"]] == ["1 + 1", "2 + 2"]
    assert made["nbformat"] == 4


def test_errors_are_seen_and_a_picture_that_stays_is_noticed(browser: Browser):
    still = "import ipywidgets\nipywidgets.VBox([ipywidgets.IntSlider(), ipywidgets.Image(value=b'')])"
    with course({"a.ipynb": sheet(still, "1 / 0")}) as address:
        notebook = Notebook(browser, address, "a.ipynb")
        notebook.run_all()
        assert notebook.errors() == ["ZeroDivisionError: division by zero"]
        notebook.page.wait_for_selector(".widget-image")
        with pytest.raises(TimeoutError, match="ArrowRight"):
            notebook.answer(".widget-vbox", "ArrowRight", timeout=1)
        notebook.close()
