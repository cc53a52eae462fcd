"""The harness itself: it names what is missing, and can see a failure."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tools.browser import chromium
from tools.browser.chromium import CHROMIUM_VARIABLE, find_chromium
from tools.browser.notebook import Notebook
from tools.browser.server import notebook_text, serve_notebooks

# A dashboard as the page sees it: words, a picture, another one, and the first one again.
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
IMPORTS = "from benchmarks import live\nfrom tools.browser import course_models"


@contextmanager
def opened(browser: Browser, *cells: str, **settings: Any) -> Iterator[Notebook]:
    """Open a notebook of these cells, in a JupyterLab of its own."""
    with (
        serve_notebooks({"a.ipynb": notebook_text(*cells)}) as address,
        Notebook(browser, address, "a.ipynb", **settings) as notebook,
    ):
        yield notebook


def test_a_missing_chromium_gives_the_command_to_install_it(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(chromium.shutil, "which", lambda _: None)
    monkeypatch.delenv(CHROMIUM_VARIABLE, raising=False)
    with pytest.raises(ValueError, match="apt install chromium"):
        find_chromium()
    monkeypatch.setenv(CHROMIUM_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="nowhere"):
        find_chromium()


def test_the_harness_reports_errors_and_a_picture_that_does_not_change(browser: Browser):
    still = "import ipywidgets\nipywidgets.VBox([ipywidgets.IntSlider(), ipywidgets.Image(value=b'')])"
    with opened(browser, still, IMPORTS, "1 / 0") as notebook:
        notebook.run_all()
        assert notebook.errors() == ["ZeroDivisionError: division by zero"]
        notebook.page.wait_for_selector(".widget-image")
        with pytest.raises(TimeoutError, match="ArrowRight"):
            notebook.move_slider(".widget-vbox", "ArrowRight", timeout=1)


def test_a_recording_holds_all_changes_and_identifies_new_pictures(browser: Browser):
    with opened(browser, "1", DASHBOARD) as notebook:
        notebook.record()
        notebook.run_all()
        notebook.page.wait_for_timeout(500)
        events = notebook.recorded()
    assert [e["t"] for e in events] == sorted(e["t"] for e in events)
    assert {(e["dashboard"], e["cell"]) for e in events} == {(0, 1)}
    words = [e["words"] for e in events if e["words"]]
    assert list(dict.fromkeys(words)) == [f"running · step {step} of 9" for step in (1, 2, 3)]
    pictures = [e["picture"] for e in events if e["picture"]]
    assert len(pictures) == 3
    assert len(set(pictures)) == 2
    assert pictures[0] == pictures[2]


def test_a_timeout_reports_the_state_of_the_page(browser: Browser):
    late = pytest.raises(TimeoutError, match=r'for 8 s: .*"prompts": \["\[\*\]:"\]')
    with opened(browser, "import time; time.sleep(60)") as notebook, late:
        notebook.run_all(timeout=8)
