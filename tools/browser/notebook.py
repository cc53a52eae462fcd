"""A page of JupyterLab with one notebook, as a learner uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tools.browser import scripts

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EXPLORER, DASHBOARD = ".babygpt-explorer", ".babygpt-dashboard"
COMPUTED = f".explorer:not({EXPLORER} *, {DASHBOARD} *)"  # selects explorers of a formula
Size = tuple[int, int]  # width and height of a window, CSS pixels
SIZE = (1280, 900)
ARROWS = ("ArrowRight", "ArrowLeft")
KERNEL_LIMIT = 60.0  # seconds for a kernel to get ready


class SliderHandle(NamedTuple):
    """A slider in the page.

    slider  which of its area's sliders, those that cannot be moved counted too
    name    its label
    keys    the key that moves it away from where it stands, and the one that moves it back
    """

    slider: int
    name: str
    keys: tuple[str, ...]


class Notebook:
    """A notebook open in JupyterLab, with a kernel that is ready; a context manager that closes it.

    page   playwright's page; use it for anything that is not here
    size   of the window
    dark   whether the page is in JupyterLab's dark theme, on a system that prefers dark pages
    screen whatever else playwright's `new_page` takes
    Whatever waits raises TimeoutError, with what the page then shows, if it waits too long: for a kernel a
    minute, for other things `timeout` seconds.
    """

    def __init__(
        self, browser: Browser, address: str, path: str, size: Size = SIZE, dark: bool = False, **screen: Any
    ) -> None:
        screen |= {"viewport": {"width": size[0], "height": size[1]}}
        self.page = browser.new_page(color_scheme="dark" if dark else "light", **screen)
        self.page.set_default_timeout(60_000)
        self.dark = dark
        lab, _, query = address.partition("?")
        self.page.goto(f"{lab}/tree/{path}?{query}")
        self.wait_for_kernel()
        if dark:
            self._set_theme("JupyterLab Dark")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait_for_kernel(self) -> None:
        """Wait until cells can be run: a run sent earlier may be dropped."""
        self.page.wait_for_function("Boolean(window.jupyterapp?.shell?.currentWidget?.sessionContext)")
        self.page.evaluate(scripts.READY)
        self._wait_until("window.kernelReady", KERNEL_LIMIT, "a kernel has been getting ready")

    def _set_theme(self, theme: str) -> None:
        """Change JupyterLab's theme, which its server remembers."""
        change = f"jupyterapp.commands.execute('apputils:change-theme', {{theme: '{theme}'}})"
        self.page.evaluate(f"void {change}")
        self.page.wait_for_function(f"document.body.dataset.jpThemeName === '{theme}'")

    # ------------------------------------------------------------ its cells

    def run_all(self, timeout: float = 300.0) -> None:
        """Run all cells and wait for the last one, `timeout` seconds at most."""
        self.start_all()
        self.wait_for_all(timeout)

    def start_all(self) -> None:
        """Start to run all cells, and do not wait for their end."""
        self.page.evaluate(scripts.RUN_ALL)

    def wait_for_all(self, timeout: float = 300.0) -> None:
        """Wait for the end of the cells that `start_all` started, `timeout` seconds at most."""
        self._wait_until("window.allRun", timeout, "all cells have been running")

    def run(self, *cells: int, timeout: float = 300.0) -> None:
        """Run cells one after the other to their ends. Raises RuntimeError with what went wrong in them."""
        for index in cells:
            self.start_cell(index)
            self.wait_for_cell(timeout)
            self.require_no_errors()

    def start_cell(self, index: int) -> None:
        """Scroll to a cell, the first being 0, and start it; do not wait for its end."""
        self.page.evaluate(scripts.RUN_CELL, index)

    def wait_for_cell(self, timeout: float = 300.0) -> None:
        """Wait for the end of the cell that `start_cell` started, `timeout` seconds at most."""
        self._wait_until("window.cellRun", timeout, "a cell has been running")

    def replace_cell(self, index: int, source: str) -> None:
        """Write other code into a cell."""
        self.page.evaluate(scripts.SET_SOURCE, [index, source])

    def add_cell(self, source: str) -> int:
        """Add a code cell under the last one and return its index."""
        index: int = self.page.evaluate(scripts.ADD_CELL, source)
        return index

    def cells(self) -> list[dict[str, Any]]:
        """Return the notebook's code cells as they are now, outputs included."""
        cells = self.page.evaluate("jupyterapp.shell.currentWidget.content.model.toJSON().cells")
        return [cell for cell in cells if cell["cell_type"] == "code"]

    def errors(self) -> list[str]:
        """Return every error that stands in an output, in words."""
        outputs = [out for cell in self.cells() for out in cell["outputs"]]
        return [f"{o['ename']}: {o['evalue']}" for o in outputs if o["output_type"] == "error"]

    def require_no_errors(self) -> None:
        """Raise RuntimeError with every error that stands in an output."""
        if errors := self.errors():
            raise RuntimeError("; ".join(errors))

    # ------------------------------------------------------------ its kernel and its file

    def ask(self, expression: str) -> Any:
        """Return the value of a Python expression in the kernel, as JSON. Raises playwright's Error."""
        return self.page.evaluate(scripts.ASK, expression)

    def interrupt(self) -> None:
        """Interrupt the kernel, as the stop button of JupyterLab does."""
        self.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt()")

    def shut_down(self) -> None:
        """End the kernel."""
        self.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")

    def close(self) -> None:
        """Shut down the kernel and close the page."""
        if self.dark:
            self._set_theme("JupyterLab Light")  # the next page of this server has it too
        self.shut_down()
        self.page.close()

    def save(self) -> None:
        """Save the notebook and wait until it is saved."""
        self.page.evaluate("jupyterapp.commands.execute('docmanager:save')")

    def reopen(self) -> None:
        """Save the notebook, end its kernel, and open it again on a new one."""
        self.save()
        self.shut_down()
        self.page.reload()
        self.wait_for_kernel()

    def _wait_until(self, condition: str, timeout: float, what: str) -> None:
        """Wait until a JavaScript expression is true in the page.

        timeout  in seconds
        what     has been going on, for the error
        Raises TimeoutError with what the page then shows.
        """
        from playwright.sync_api import TimeoutError as Late

        try:
            self.page.wait_for_function(condition, timeout=1000 * timeout)
        except Late:
            state = json.dumps(self.page.evaluate(scripts.STATE))
            raise TimeoutError(f"{what} for {timeout:.0f} s: {state}") from None

    # ------------------------------------------------------------ its dashboards and explorers

    def record(self) -> None:
        """Note each drawing of the page's dashboards from now on; `recorded` returns them."""
        self.page.evaluate(scripts.RECORD)

    def recorded(self) -> dict[str, Any]:
        """Return what was drawn since `record`, in order; see `tools.browser.recording`."""
        drawings: dict[str, Any] = self.page.evaluate("window.recorded")
        return drawings

    def picture(self, area: str, path: Path, nth: int = 0) -> Path:
        """Scroll to an area of the page, and store it as a PNG file: the nth of what a CSS selector finds."""
        element = self.page.locator(area).nth(nth)
        element.evaluate(scripts.SCROLL)  # cells come to their heights only as they are scrolled past
        element.screenshot(path=path, scale="css")
        return path

    def sliders(self, area: str, nth: int = 0) -> list[SliderHandle]:
        """Return the sliders of an area that can be moved, with the keys that move them there and back.

        area  a CSS selector; the nth of what it finds is meant
        """
        sliders: list[dict[str, Any]] = self.page.locator(area).nth(nth).evaluate(scripts.SLIDERS)
        return [
            SliderHandle(
                slider["slider"], slider["name"], ARROWS[:: -1 if slider["now"] >= slider["max"] else 1]
            )
            for slider in sliders
            if not slider["disabled"]
        ]

    def move_slider(self, area: str, key: str, nth: int = 0, slider: int = 0, timeout: float = 10.0) -> float:
        """Press a key on a slider, and wait until the panels beside it have changed.

        area     a CSS selector; the nth of what it finds is meant, if there are several
        key      such as "ArrowRight"
        slider   which of the area's sliders
        returns  milliseconds from the key press to the frame that shows the new picture
        Raises TimeoutError if the picture stays as it is for `timeout` seconds.
        """
        self.page.evaluate(scripts.WAIT_FOR_PICTURE, [area, nth, slider, 1000 * timeout])
        self.page.keyboard.press(key)
        milliseconds: float | None = self.page.evaluate("window.answered")
        if milliseconds is None:
            raise TimeoutError(f"{key} on slider {slider} of {area} {nth} changed nothing in {timeout:.0f} s")
        return milliseconds
