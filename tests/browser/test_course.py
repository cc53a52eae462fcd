"""Every notebook of the course in a real browser: opened, run, its sliders moved."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from babygpt.browser.lab import Notebook, course

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
WITH_EXPLORERS = {
    "00_start_here",
    "03_sinusoidal",
    "04_rope",
    "05_gaussian_rope",
    "06_fourier_branches",
    "07_polar_diffusion",
    "08_the_ladder",
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with course({path.name: path.read_text(encoding="utf-8") for path in NOTEBOOKS}) as served:
        yield served


def sliders(notebook: Notebook, area: str, nth: int) -> list[str]:
    """For each slider of an area that can be moved, the key that moves it away from where it stands."""
    handles = notebook.page.locator(area).nth(nth).locator(".noUi-target:not([disabled]) .noUi-handle")
    at = [[float(h.get_attribute(f"aria-value{end}") or 0) for end in ("now", "max")] for h in handles.all()]
    return ["ArrowLeft" if now >= end else "ArrowRight" for now, end in at]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_run_all_succeeds_and_every_slider_changes_its_picture(path: Path, browser: Browser, address: str):
    notebook = Notebook(browser, address, path.name)
    notebook.run_all(timeout=400)
    assert notebook.errors() == []
    counts = [cell["execution_count"] for cell in notebook.cells()]
    assert counts == list(range(1, len(counts) + 1))
    explorers = notebook.page.locator(".babygpt-explorer").count()
    assert bool(explorers) == (path.stem in WITH_EXPLORERS)
    for nth in range(explorers):
        for slider, key in enumerate(sliders(notebook, ".babygpt-explorer", nth)):
            notebook.answer(".babygpt-explorer", key, nth, slider)
    dashboards = notebook.page.locator(".babygpt-dashboard").count()
    assert dashboards
    for nth in range(dashboards):
        every = len(sliders(notebook, ".babygpt-dashboard", nth))
        notebook.answer(".babygpt-dashboard", "ArrowLeft", nth, slider=every - 1)  # replay is the last one
    notebook.close()
