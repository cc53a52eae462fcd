"""Every notebook of the course in a real browser: opened, run, its sliders moved."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tools.browser.lab import DASHBOARD, EXPLORER, Notebook, course
from tools.browser.recording import Seen, seen

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
# Whose runs are as long as a learner's: what they show must move.
ALIVE = ("00", "05", "06", "07")
FEWEST, LATEST = (
    5,
    2.0,
)  # different pictures of a run before its end; seconds from "running" to a trained model's


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with course({path.name: path.read_text(encoding="utf-8") for path in NOTEBOOKS}) as served:
        yield served


def too_still(runs: list[Seen]) -> list[str]:
    """The runs that showed too few pictures, or the first one too late, in words."""
    return [str(run) for run in runs if run.pictures < FEWEST or run.first_picture_s > LATEST]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_run_all_succeeds_and_everything_moves(path: Path, browser: Browser, address: str):
    notebook = Notebook(browser, address, path.name)
    notebook.record()
    notebook.run_all(timeout=400)
    assert notebook.errors() == []
    counts = [cell["execution_count"] for cell in notebook.cells()]
    assert counts == list(range(1, len(counts) + 1))
    runs = seen(notebook.recorded())
    dashboards = notebook.page.locator(DASHBOARD).count()
    assert len(runs) == dashboards > 0
    if path.stem.startswith(ALIVE):
        assert too_still(runs) == [], path.stem
    explorers = notebook.page.locator(EXPLORER).count()
    assert bool(explorers) == (path.stem in WITH_EXPLORERS)
    for nth in range(explorers):
        for handle in notebook.sliders(EXPLORER, nth):
            notebook.answer(EXPLORER, handle.keys[0], nth, handle.slider)
    for nth in range(dashboards):
        *_, replay = notebook.sliders(DASHBOARD, nth)
        notebook.answer(DASHBOARD, replay.keys[0], nth, replay.slider)
    notebook.close()
