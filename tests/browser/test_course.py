"""Every notebook of the course in a real browser: opened, run, its sliders moved."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tools.browser.notebook import COMPUTED, DASHBOARD, EXPLORER, Notebook
from tools.browser.recording import DashboardRun, dashboard_runs
from tools.browser.server import serve_notebooks

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
OFTEN = ("00", "05", "06")  # run in every test run; the others every night
WITHOUT_EXPLORERS, WITHOUT_RUNS = ("00", "01", "04c", "09"), "11"
ALIVE = ("00", "05", "06", "07")  # Their runs are as long as a learner's, so that the dashboards must move.
FEWEST = 3  # drawings with a new loss, a second: a busy machine has few
LATEST = 1 / 5  # Drawing the first loss may take this share of a run's seconds.


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve_notebooks({path.name: path.read_text(encoding="utf-8") for path in NOTEBOOKS}) as served:
        yield served


def too_still(runs: list[DashboardRun]) -> list[str]:
    """Return, in words, the runs that drew too few losses, or the first one too late."""
    late = [run.first_loss_ms > 1000 * LATEST * run.seconds for run in runs]
    return [str(run) for run, is_late in zip(runs, late, strict=True) if run.losses_per_s < FEWEST or is_late]


def marks(path: Path) -> list[pytest.MarkDecorator]:
    return [] if path.stem.startswith(OFTEN) else [pytest.mark.slow]


@pytest.mark.parametrize("path", [pytest.param(p, marks=marks(p), id=p.stem) for p in NOTEBOOKS])
def test_run_all_succeeds_and_dashboards_and_explorers_move(path: Path, browser: Browser, address: str):
    with Notebook(browser, address, path.name) as notebook:
        notebook.record()
        notebook.run_all(timeout=400)
        assert notebook.errors() == []
        counts = [cell["execution_count"] for cell in notebook.cells()]
        assert counts == list(range(1, len(counts) + 1))
        runs = dashboard_runs(notebook.recorded())
        dashboards = notebook.page.locator(DASHBOARD).count()
        assert len(runs) == dashboards
        assert bool(runs) == (not path.stem.startswith(WITHOUT_RUNS))
        if path.stem.startswith(ALIVE):
            assert too_still(runs) == [], path.stem
        explorers, computed = notebook.page.locator(EXPLORER).count(), notebook.page.locator(COMPUTED).all()
        assert bool(explorers + len(computed)) == (not path.stem.startswith(WITHOUT_EXPLORERS))
        for root in computed:
            handle = root.locator(".handle").first
            before = str(handle.get_attribute("aria-valuenow"))
            handle.press("ArrowLeft")
            expect(handle).not_to_have_attribute("aria-valuenow", before)
            for bar in root.locator("input[type=range]").all():
                before = bar.input_value()
                bar.press("ArrowLeft" if int(before) else "ArrowRight")
                expect(bar).not_to_have_value(before)
        for nth in range(explorers):
            for handle in notebook.sliders(EXPLORER, nth):
                notebook.move_slider(EXPLORER, handle.keys[0], nth, handle.slider)
        for nth in range(dashboards):
            replay, *_ = notebook.sliders(DASHBOARD, nth)
            notebook.move_slider(DASHBOARD, replay.keys[0], nth, replay.slider)


STOP_RUNNING = """() => {
    for (const dashboard of document.querySelectorAll(".babygpt-dashboard")) {
        if (!/running/.test(dashboard.textContent)) continue;
        for (const button of dashboard.querySelectorAll("button:enabled")) {
            if (button.textContent === "Stop") button.click();
        }
    }
    return Boolean(window.allRun);
}"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["05_gaussian_rope", "06_fourier_branches", "07b_polar_gates"])
def test_a_lesson_finishes_when_every_run_is_stopped(name: str, browser: Browser, address: str):
    with Notebook(browser, address, f"{name}.ipynb") as notebook:
        notebook.start_all()
        for _ in range(1200):
            if notebook.page.evaluate(STOP_RUNNING):
                break
            notebook.page.wait_for_timeout(250)
        assert notebook.errors() == []
        counts = [cell["execution_count"] for cell in notebook.cells()]
        assert counts == list(range(1, len(counts) + 1))
        words = notebook.page.locator(f"{DASHBOARD} .status").all_text_contents()
        assert words
        assert any("stopped" in text for text in words)
