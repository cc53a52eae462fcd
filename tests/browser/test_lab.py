"""The harness itself: what it says when something is missing, and that it can see a failure."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tools.browser import lab
from tools.browser.lab import Notebook, course, find_chromium, sheet

# What a dashboard is to the page: words, a picture, another one, and the first one again.
DASHBOARD = """
import time
import ipywidgets
png = lambda red: bytes([137, 80, 78, 71, 13, 10, 26, 10, red])
words, image = ipywidgets.HTML("<b>running</b> · step 1 of 9"), ipywidgets.Image(value=png(1))
root = ipywidgets.VBox([words, image])
root.add_class("babygpt-dashboard")
display(root)
for step, red in (2, 2), (3, 1):
    time.sleep(0.3)
    words.value = f"<b>running</b> · step {step} of 9"
    image.value = png(red)
"""


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


def test_a_recording_has_all_changes_and_knows_which_pictures_are_new(browser: Browser):
    with course({"a.ipynb": sheet("1", DASHBOARD)}) as address:
        notebook = Notebook(browser, address, "a.ipynb")
        notebook.record()
        notebook.run_all()
        notebook.page.wait_for_timeout(500)
        events = notebook.recorded()
        notebook.close()
    assert [e["t"] for e in events] == sorted(e["t"] for e in events)
    assert {(e["dashboard"], e["cell"]) for e in events} == {(0, 1)}
    said = [e["words"] for e in events if e["words"]]
    assert list(dict.fromkeys(said)) == [f"running · step {step} of 9" for step in (1, 2, 3)]
    pictures = [e["picture"] for e in events if e["picture"]]
    assert len(pictures) == 3
    assert len(set(pictures)) == 2
    assert pictures[0] == pictures[2]


def test_a_page_may_be_dark_sharp_and_of_any_size(browser: Browser):
    with course({"a.ipynb": sheet("1")}) as address:
        notebook = Notebook(browser, address, "a.ipynb", size=(1000, 700), scale=2.0, dark=True)
        assert notebook.page.evaluate("[innerWidth, innerHeight, devicePixelRatio]") == [1000, 700, 2]
        assert notebook.page.evaluate("document.body.dataset.jpThemeLight") == "false"
        notebook.close()
        light = Notebook(browser, address, "a.ipynb")
        assert light.page.evaluate("document.body.dataset.jpThemeLight") == "true"
        light.close()


def test_a_cell_that_does_not_end_says_what_the_page_shows(browser: Browser):
    with course({"a.ipynb": sheet("import time; time.sleep(60)")}) as address:
        notebook = Notebook(browser, address, "a.ipynb")
        with pytest.raises(TimeoutError, match=r'for 8 s: .*"prompts": \["\[\*\]:"\]'):
            notebook.run_all(timeout=8)
        notebook.close()
