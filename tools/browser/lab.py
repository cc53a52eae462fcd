"""JupyterLab with nothing of this machine's settings, and a page of it in headless Chromium."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from babygpt.errors import BadInput
from tools.browser.scripts import ARM, READY, RECORD, SCROLL, SLIDERS, STATE

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM_VARIABLE = "BABYGPT_CHROMIUM"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
EXPLORER, DASHBOARD = ".babygpt-explorer", ".babygpt-dashboard"
THERE = ("ArrowRight", "ArrowLeft")
PATIENCE = 60.0  # seconds for JupyterLab to come up


def find_chromium() -> str:
    """The path of a Chromium or Chrome.

    Raises ValueError, saying how to get one, if there is none or playwright is missing.
    """
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError as error:
        raise BadInput("the browser needs playwright: pip install playwright") from error
    named = os.environ.get(CHROMIUM_VARIABLE)
    found = named if named else next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if not found or not Path(found).is_file():
        raise BadInput(
            f"no Chromium {f'at {found}' if found else 'on the path'}: install one (Debian: apt install "
            f"chromium) or set {CHROMIUM_VARIABLE} to its path"
        )
    return found


@contextmanager
def jupyterlab(root: Path, scratch: Path) -> Iterator[str]:
    """A JupyterLab that serves `root` on 127.0.0.1 while the context lasts; yields its address and token.

    root     the folder that it shows
    scratch  an empty folder for its settings and log
    Raises TimeoutError with the end of its log if it does not come up.
    """
    folders = {"CONFIG": "config", "RUNTIME": "runtime", "DATA": "data"}
    env = {**os.environ, **{f"JUPYTER_{key}_DIR": str(scratch / name) for key, name in folders.items()}}
    env |= {f"JUPYTERLAB_{key}_DIR": str(scratch / key.lower()) for key in ("SETTINGS", "WORKSPACES")}
    env |= {
        "IPYTHONDIR": str(scratch / "ipython"),
        "PYTHONPATH": str(ROOT),
    }  # kernels find benchmarks/ and tools/
    options = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"]
    options += [f"--ServerApp.root_dir={root}", "--LabApp.expose_app_in_browser=True"]
    options += ["--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    log = scratch / "log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], env=env, stdout=out, stderr=subprocess.STDOUT
        )
    try:
        yield _address(scratch / "runtime", server, log)
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _address(runtime: Path, server: subprocess.Popen[bytes], log: Path) -> str:
    """Wait for the file in which the server writes where it is."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        for info in runtime.glob("jpserver-*.json"):
            try:
                said = json.loads(info.read_text())
            except ValueError:  # not written to its end yet
                continue
            return f"{said['url']}lab?token={said['token']}&reset"
        time.sleep(0.1)
    raise TimeoutError(f"JupyterLab did not come up:\n{log.read_text()[-2000:]}")


class Handle(NamedTuple):
    """A slider in the page.

    slider  which of its area's sliders, those at rest counted too
    name    what it is called
    keys    the key that moves it away from where it stands, and the one that moves it back
    """

    slider: int
    name: str
    keys: tuple[str, ...]


class Notebook:
    """A notebook open in JupyterLab, with a kernel that is ready.

    page   playwright's page; use it for anything that is not here
    size   width and height of the window, CSS pixels
    scale  pixels of the screen for each CSS pixel
    dark   whether the page is in JupyterLab's dark theme, on a system that prefers dark pages
    Raises TimeoutError, with what the page then shows, if the kernel is not ready within a minute.
    """

    RUN_ALL = "notebook:run-all-cells"

    def __init__(
        self,
        browser: Browser,
        address: str,
        path: str,
        size: tuple[int, int] = (1280, 900),
        scale: float = 1.0,
        dark: bool = False,
    ) -> None:
        self.page = browser.new_page(
            viewport={"width": size[0], "height": size[1]},
            device_scale_factor=scale,
            color_scheme="dark" if dark else "light",
        )
        self.page.set_default_timeout(60_000)
        self.dark = dark
        place, _, query = address.partition("?")
        self.page.goto(f"{place}/tree/{path}?{query}")
        self.wait_for_kernel()
        if dark:
            self._wear("JupyterLab Dark")

    def wait_for_kernel(self) -> None:
        """Wait until cells can be run: a run sent earlier may be dropped.

        Raises TimeoutError, with what the page then shows, after a minute.
        """
        self.page.wait_for_function("Boolean(window.jupyterapp?.shell?.currentWidget?.sessionContext)")
        self.page.evaluate(READY)
        self._until("window.kernelReady", PATIENCE, "a kernel has been getting ready")

    def _wear(self, theme: str) -> None:
        """Change JupyterLab's theme, which its server remembers."""
        change = f"jupyterapp.commands.execute('apputils:change-theme', {{theme: '{theme}'}})"
        self.page.evaluate(f"void {change}")
        self.page.wait_for_function(f"document.body.dataset.jpThemeName === '{theme}'")

    def command(self, name: str) -> None:
        """Start a command of JupyterLab's, and do not wait for its end."""
        self.page.evaluate(f"void jupyterapp.commands.execute('{name}')")

    def run_all(self, timeout: float = 300.0) -> None:
        """Run all cells and wait for the last one, `timeout` seconds at most.

        Raises TimeoutError with what the page then shows.
        """
        self.start_all()
        self.wait_for_all(timeout)

    def start_all(self) -> None:
        """Start to run all cells, and do not wait for their end."""
        done = f"jupyterapp.commands.execute('{self.RUN_ALL}').finally(() => {{ window.allRun = true }})"
        self.page.evaluate(f"window.allRun = false; void {done}")

    def wait_for_all(self, timeout: float = 300.0) -> None:
        """Wait for the end of the cells that `start_all` started, `timeout` seconds at most.

        Raises TimeoutError with what the page then shows.
        """
        self._until("window.allRun", timeout, "all cells have been running")

    def run(self, *cells: int, timeout: float = 300.0) -> None:
        """Run cells one after the other to their ends. Raises RuntimeError with what went wrong in them."""
        for index in cells:
            self.run_cell(index)
            self.wait_for_cell(timeout)
            if errors := self.errors():
                raise RuntimeError("; ".join(errors))

    def run_cell(self, index: int) -> None:
        """Scroll to a cell, the first being 0, and start it; do not wait for its end."""
        self.page.evaluate(
            f"""(async () => {{
                const content = jupyterapp.shell.currentWidget.content;
                content.activeCellIndex = {index};
                await content.scrollToItem({index});
                window.cellRun = false;
                const done = jupyterapp.commands.execute("notebook:run-cell");
                void done.finally(() => {{ window.cellRun = true; }});
            }})()"""
        )

    def wait_for_cell(self, timeout: float = 300.0) -> None:
        """Wait for the end of the cell that `run_cell` started, `timeout` seconds at most.

        Raises TimeoutError with what the page then shows.
        """
        self._until("window.cellRun", timeout, "a cell has been running")

    def _until(self, done: str, timeout: float, what: str) -> None:
        """Wait until an expression is true in the page.

        timeout  in seconds
        what     the words for it in the error
        Raises TimeoutError with what the page then shows.
        """
        from playwright.sync_api import TimeoutError as Late

        try:
            self.page.wait_for_function(done, timeout=1000 * timeout)
        except Late:
            raise TimeoutError(f"{what} for {timeout:.0f} s: {self.state()}") from None

    def state(self) -> str:
        """In words: the kernel, the cells' numbers, and the dialogs that are open."""
        return json.dumps(self.page.evaluate(STATE))

    def record(self) -> None:
        """From now on, note each change of a dashboard's picture and words; `recorded` hands them over."""
        self.page.evaluate(RECORD)

    def recorded(self) -> list[dict[str, Any]]:
        """What has changed since `record`, in order; see `tools.browser.recording`."""
        found: list[dict[str, Any]] = self.page.evaluate("Promise.all(window.recorded)")
        return found

    def replace_cell(self, index: int, source: str) -> None:
        """Write other code into a cell."""
        self.page.evaluate(
            "([index, source]) => jupyterapp.shell.currentWidget.content.widgets[index]"
            ".model.sharedModel.setSource(source)",
            [index, source],
        )

    def add_cell(self, source: str) -> int:
        """Write a code cell under the last one, and tell its index."""
        added: int = self.page.evaluate(
            """source => {
                const content = jupyterapp.shell.currentWidget.content;
                content.model.sharedModel.addCell({ cell_type: "code", source });
                return content.widgets.length - 1;
            }""",
            source,
        )
        return added

    def interrupt(self) -> None:
        """Interrupt the kernel, as the stop button of JupyterLab does."""
        self.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt()")

    def close(self) -> None:
        """Shut down the kernel and close the page."""
        if self.dark:
            self._wear("JupyterLab Light")  # the next page of this server has it too
        self.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")
        self.page.close()

    def save(self) -> None:
        """Save the notebook and wait until it is saved."""
        self.page.evaluate("jupyterapp.commands.execute('docmanager:save')")

    def reopen(self) -> None:
        """Save the notebook, end its kernel, and open it again on a new one.

        Raises TimeoutError, with what the page then shows, if that is not ready within a minute.
        """
        self.save()
        self.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")
        self.page.reload()
        self.wait_for_kernel()

    def picture(self, area: str, path: Path, nth: int = 0) -> Path:
        """Scroll to an area of the page, and store it as a PNG file: the nth of what a CSS selector finds."""
        found = self.page.locator(area).nth(nth)
        found.evaluate(SCROLL)  # cells come to their heights only as they are scrolled past
        found.screenshot(path=path, scale="css")
        return path

    def answer(self, area: str, key: str, nth: int = 0, slider: int = 0, timeout: float = 10.0) -> float:
        """Press a key on a slider, and wait until the picture beside it has changed.

        area     a CSS selector; the nth of what it finds is meant, if there are several
        key      such as "ArrowRight"
        slider   which of the area's sliders
        returns  milliseconds from the key press to the frame that shows the new picture
        Raises TimeoutError if the picture stays as it is for `timeout` seconds.
        """
        self.page.evaluate(ARM, [area, nth, slider, 1000 * timeout])
        self.page.keyboard.press(key)
        took: float | None = self.page.evaluate("window.answered")
        if took is None:
            raise TimeoutError(f"{key} on slider {slider} of {area} {nth} changed nothing in {timeout:.0f} s")
        return took

    def sliders(self, area: str, nth: int = 0) -> list[Handle]:
        """The sliders of an area that can be moved, with the keys that move them there and back.

        area  a CSS selector; the nth of what it finds is meant
        """
        root = self.page.locator(area).nth(nth)
        found: list[dict[str, Any]] = root.evaluate(SLIDERS)
        return [
            Handle(one["slider"], one["name"], THERE[:: -1 if one["now"] >= one["max"] else 1])
            for one in found
            if not one["disabled"]
        ]

    def cells(self) -> list[dict[str, Any]]:
        """The notebook's code cells as they are now, outputs included."""
        found = "jupyterapp.shell.currentWidget.content.model.toJSON().cells"
        return [cell for cell in self.page.evaluate(found) if cell["cell_type"] == "code"]

    def errors(self) -> list[str]:
        """Every error that stands in an output, in words."""
        outputs = [out for cell in self.cells() for out in cell["outputs"]]
        return [f"{o['ename']}: {o['evalue']}" for o in outputs if o["output_type"] == "error"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium while the context lasts. Raises ValueError if there is none."""
    path = find_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Browser, address: str, name: str, size: tuple[int, int] = (1280, 900)
) -> Iterator[Notebook]:
    """A notebook in a page of its own while the context lasts; see `Notebook`."""
    notebook = Notebook(browser, address, name, size)
    try:
        yield notebook
    finally:
        notebook.close()


def lesson(number: str) -> Path:
    """The repository's notebook of this number. Raises ValueError if there is none."""
    found = sorted((ROOT / "notebooks").glob(f"{number}_*.ipynb"))
    if not found:
        raise BadInput(f"there is no notebook {number} in notebooks/: it takes a checkout of the repository")
    return found[0]


def sheet(*cells: str) -> str:
    """A notebook of these code cells, as the text of its file."""
    shown = [
        {"cell_type": "code", "id": f"cell-{i}", "metadata": {}, "outputs": [], "source": cell}
        | {"execution_count": None}
        for i, cell in enumerate(cells)
    ]
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    return json.dumps(
        {"cells": shown, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    )


@contextmanager
def course(notebooks: Mapping[str, str]) -> Iterator[str]:
    """A JupyterLab that shows these notebooks, by file name; yields its address."""
    with tempfile.TemporaryDirectory(prefix="babygpt-") as folder:
        root, scratch = Path(folder) / "course", Path(folder) / "scratch"
        root.mkdir()
        scratch.mkdir()
        for name, text in notebooks.items():
            (root / name).write_text(text, encoding="utf-8")
        with jupyterlab(root, scratch) as address:
            yield address
