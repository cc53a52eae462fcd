"""The harness itself: what it says when something is missing, and that it can see a failure."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from babygpt.browser import lab
from babygpt.browser.lab import Notebook, OverlookedRequest, course, find_chromium, sheet

# Hold back the next kernel_info_reply until a request is there, and send it past the stream that reads them:
# what ipykernel 7.0 to 7.3 do by chance, and what makes them overlook the request.
OVERLOOKING = """
import select
kernel = get_ipython().kernel
manager, reader = kernel.shell_channel_thread.manager, kernel.shell_stream
replies = manager._main_to_shell_channel.to_stream
def late(message):
    if any(b"kernel_info_reply" in part.bytes for part in message):
        replies.on_recv(manager._send_on_shell_channel, copy=False)
        select.select([reader.socket.FD], [], [], 30)
    reader.socket.send_multipart(message)
reader.io_loop.add_callback(replies.on_recv, late, copy=False)
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


def test_a_kernel_that_overlooks_a_cell_is_woken_and_the_harness_says_so(browser: Browser):
    with course({"a.ipynb": sheet(OVERLOOKING, "6 * 7")}) as address:
        notebook = Notebook(browser, address, "a.ipynb")
        notebook.run(0)
        notebook.page.evaluate(
            "void jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestKernelInfo()"
        )
        notebook.page.wait_for_timeout(1000)  # its reply is made, and held back
        with pytest.warns(OverlookedRequest, match="a cell has been running, but the kernel rested"):
            notebook.run(1, timeout=60)
        assert notebook.cells()[1]["outputs"][0]["data"]["text/plain"] == "42"
        notebook.close()


def test_a_cell_that_does_not_end_says_what_the_page_shows(browser: Browser):
    with course({"a.ipynb": sheet("import time; time.sleep(60)")}) as address:
        notebook = Notebook(browser, address, "a.ipynb")
        with pytest.raises(TimeoutError, match=r'for 8 s, with 0 wakes: .*"prompts": \["\[\*\]:"\]'):
            notebook.run_all(timeout=8)
        notebook.close()
