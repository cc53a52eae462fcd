"""JupyterLab with nothing of this machine's settings, and a page of it in headless Chromium."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM_VARIABLE = "BABYGPT_CHROMIUM"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
# Focus a slider; from the next key press, wait for another picture, decoded and in a frame.
ARM = """([area, nth, slider, timeout]) => {
    const root = document.querySelectorAll(area)[nth];
    const before = root.querySelector("img").src;
    let start = null;
    root.addEventListener("keydown", () => { start = performance.now(); }, { capture: true, once: true });
    root.querySelectorAll(".noUi-handle")[slider].focus();
    window.answered = new Promise(done => {
        const watch = new MutationObserver(async () => {
            const image = root.querySelector("img");
            if (start === null || !image || image.src === before) return;
            watch.disconnect();
            await image.decode();
            requestAnimationFrame(() => done(performance.now() - start));
        });
        watch.observe(root, { subtree: true, childList: true, attributes: true, attributeFilter: ["src"] });
        setTimeout(() => done(null), timeout);
    });
}"""
# Watch whether a cell runs (the kernel's status tells of its other channel too: it may say idle meanwhile).
# Then, from the kernel's first answer on, wait until the page has asked nothing more for half a second.
READY = """() => {
    window.kernelReady = window.cellAtWork = false;
    const context = jupyterapp.shell.currentWidget.sessionContext;
    const watch = (_, { msg }) => {
        if (msg.header.msg_type === "status" && msg.parent_header.msg_type === "execute_request")
            window.cellAtWork = msg.content.execution_state === "busy";
    };
    const quiet = kernel => new Promise(done => {
        const rest = () => {
            kernel.anyMessage.disconnect(heard);
            done();
        };
        const heard = (_, { msg }) => {
            if (msg.channel !== "shell") return;
            clearTimeout(timer);
            timer = setTimeout(rest, 500);
        };
        let timer = setTimeout(rest, 500);
        kernel.anyMessage.connect(heard);
        setTimeout(rest, 5000);  // live views may never be quiet
    });
    void context.ready.then(async () => {
        const kernel = context.session.kernel;
        kernel.anyMessage.connect(watch);
        await kernel.info;
        await quiet(kernel);
        window.kernelReady = true;
    });
}"""
# ipykernel 7.0 to 7.3 overlook a request that arrives just as they send a reply, and all that follow it,
# until another connection is made (ipykernel's issue 1554, mended in 7.4). Make one: a web socket of its own.
WAKE = """() => new Promise(done => {
    const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    const { wsUrl, token } = kernel.serverSettings;
    const query = new URLSearchParams({ session_id: crypto.randomUUID(), ...(token ? { token } : {}) });
    const link = new WebSocket(`${wsUrl}api/kernels/${kernel.id}/channels?${query}`);
    const leave = () => { link.close(); done(); };
    link.onopen = link.onerror = leave;
    setTimeout(leave, 10000);
})"""
RESTS = """(kernel =>
    kernel?.connectionStatus === "connected" && kernel.status !== "busy" && !window.cellAtWork
)(jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel)"""
RESTING = 5.0  # seconds that a kernel may rest with a request before it
WAKES = 3  # times in one wait
PATIENCE = 60.0  # seconds for JupyterLab to come up


class OverlookedRequest(UserWarning):
    """A kernel rested while a request was waiting for it, and had to be woken."""


def find_chromium() -> str:
    """The path of a Chromium or Chrome.

    Raises ValueError, saying how to get one, if there is none or playwright is missing.
    """
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError as error:
        raise ValueError("the browser needs playwright: pip install playwright") from error
    named = os.environ.get(CHROMIUM_VARIABLE)
    found = named if named else next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if not found or not Path(found).is_file():
        raise ValueError(
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
    env |= {"IPYTHONDIR": str(scratch / "ipython")}
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


class Notebook:
    """A notebook open in JupyterLab, with a kernel that is ready.

    page  playwright's page; use it for anything that is not here
    """

    RUN_ALL = "notebook:run-all-cells"

    def __init__(
        self, browser: Browser, address: str, path: str, size: tuple[int, int] = (1280, 900)
    ) -> None:
        self.page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        self.page.set_default_timeout(60_000)
        place, _, query = address.partition("?")
        self.page.goto(f"{place}/tree/{path}?{query}")
        self.wait_for_kernel()

    def wait_for_kernel(self) -> None:
        """Wait until cells can be run: a run sent earlier may be dropped or overlooked.

        Raises TimeoutError, with what the page then shows, after a minute.
        """
        self.page.wait_for_function("Boolean(window.jupyterapp?.shell?.currentWidget?.sessionContext)")
        self.page.evaluate(READY)
        self._until("window.kernelReady", PATIENCE, "a kernel has been getting ready")

    def command(self, name: str) -> None:
        """Start a command of JupyterLab's, and do not wait for its end."""
        self.page.evaluate(f"void jupyterapp.commands.execute('{name}')")

    def run_all(self, timeout: float = 300.0) -> None:
        """Run all cells and wait for the last one, `timeout` seconds at most.

        Raises TimeoutError with what the page then shows.
        """
        done = f"jupyterapp.commands.execute('{self.RUN_ALL}').finally(() => {{ window.allRun = true }})"
        self.page.evaluate(f"window.allRun = false; void {done}")
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
        """Wait until the kernel's work is done, and wake the kernel if it rests instead.

        done     an expression that is true in the page from then on
        timeout  in seconds
        what     the words for it in the error
        Raises TimeoutError with what the page then shows.
        """
        from playwright.sync_api import TimeoutError as Late

        end, wakes = time.monotonic() + timeout, 0
        while (left := end - time.monotonic()) > 0:
            try:
                self.page.wait_for_function(done, timeout=1000 * min(left, RESTING))
                return
            except Late:
                if wakes < WAKES and self._rests(done):
                    wakes += 1
                    self._wake(what)
        raise TimeoutError(f"{what} for {timeout:.0f} s, with {wakes} wakes: {self.state()}")

    def _rests(self, done: str) -> bool:
        """Whether a kernel that can be reached is not at work, nor takes up work within a second."""
        from playwright.sync_api import TimeoutError as Late

        try:
            self.page.wait_for_function(f"{done} || !{RESTS}", timeout=1000)
        except Late:
            return True
        return False

    def _wake(self, what: str) -> None:
        """Have the kernel look at its requests, and warn that it took this."""
        before = self.state()
        self.page.evaluate(WAKE)
        warnings.warn(f"{what}, but the kernel rested: woken. {before}", OverlookedRequest, stacklevel=4)

    def state(self) -> str:
        """In words: the kernel, the cells' numbers, and the dialogs that are open."""
        found = """() => {
            const context = jupyterapp.shell.currentWidget?.sessionContext, kernel = context?.session?.kernel;
            const prompts = [...document.querySelectorAll(".jp-InputPrompt")].map(p => p.innerText);
            const dialogs = [...document.querySelectorAll(".jp-Dialog")].map(d => d.innerText);
            return {kernel: kernel?.status, link: kernel?.connectionStatus,
                    shown: context?.kernelDisplayStatus, pending: context?.pendingInput,
                    terminating: context?.isTerminating, restarting: context?.isRestarting,
                    prompts, dialogs};
        }"""
        return json.dumps(self.page.evaluate(found))

    def replace_cell(self, index: int, source: str) -> None:
        """Write other code into a cell."""
        self.page.evaluate(
            "([index, source]) => jupyterapp.shell.currentWidget.content.widgets[index]"
            ".model.sharedModel.setSource(source)",
            [index, source],
        )

    def interrupt(self) -> None:
        """Interrupt the kernel, as the stop button of JupyterLab does."""
        self.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt()")

    def close(self) -> None:
        """Shut down the kernel and close the page."""
        self.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")
        self.page.close()

    def save(self) -> None:
        """Save the notebook and wait until it is saved."""
        self.page.evaluate("jupyterapp.commands.execute('docmanager:save')")

    def picture(self, area: str, path: Path, nth: int = 0) -> Path:
        """Store an area of the page as a PNG file: the nth of what a CSS selector finds."""
        self.page.locator(area).nth(nth).screenshot(path=path, scale="css")
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
