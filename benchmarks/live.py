"""Benchmarks of the live lab in a browser: how it moves, what it costs, how quickly it answers."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from babygpt.config import TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.device import pick_device
from babygpt.errors import BadInput
from babygpt.live.explorers.formulas import FORMULAS
from babygpt.live.run import Run
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import NextToken
from benchmarks.timing import run_in_rounds
from tools.browser.chromium import chromium
from tools.browser.course_models import BLOCK_SIZE, train_live, untrained_v4
from tools.browser.notebook import COMPUTED, EXPLORER, Notebook
from tools.browser.recording import DashboardRun, dashboard_runs, worst
from tools.browser.scripts import ENDS, FRAMES
from tools.browser.server import course_notebook, notebook_text, serve_notebooks
from tools.browser.site import serve_folder, write_explorers

if TYPE_CHECKING:
    from playwright.sync_api import Page

NOTEBOOKS = tuple("00 01 03b 04 05 06 07a 07b".split())  # those in which a learner watches a model learn
WITH_SLIDERS = ("04", "07a")  # those with explorers that Python draws: their sliders are timed
STEPS, ROUNDS, N_CHARS = 400, 3, 60_000  # of a run whose speed is measured: as long as the notebooks'
KINDS = ("idle_ms", "training_ms")  # of a slider's answer times
WIDTHS, MOVES = (1280, 360), 65  # of the window, CSS pixels; of each explorer's first handle
SPEEDS, HANDLES = "speeds.ipynb", "handles.ipynb"
PRINT_SPEEDS = "import json\nfrom benchmarks.live import speeds\nprint(json.dumps(speeds()))"
TRAIN = "from benchmarks.live import train_v4\nrun = train_v4(steps=100_000)\nrun.wait_for_step(1)"
STOP = "run.stop(); run.wait()"


def measure_live(presses: int, notebooks: Sequence[str] = NOTEBOOKS) -> dict[str, Any]:
    """Measure how the notebooks' dashboards move, training speed kept, and the answer times of explorers.

    presses    key presses of each slider, idle and training
    notebooks  numbers of the notebooks that are run; sliders are timed in 04 and 07a, if they are among them
    returns    the worst dashboard's numbers of `recording.worst`; speed_kept, the steps per second with a
               dashboard over those without one; medians (ms) from key press to changed picture of the worst
               slider, idle and while v4 trains; then each notebook, each control, and the handles of computed
               explorers (`time_handles`)
    Raises BadInput if there is no Chromium or no such notebook, or presses is below 1; RuntimeError with
    what went wrong in a cell.
    """
    if presses < 1:
        raise BadInput(f"presses ({presses}) must be at least 1")
    texts = {path.name: path.read_text(encoding="utf-8") for path in map(course_notebook, notebooks)}
    runs: dict[str, list[DashboardRun]] = {}
    controls: dict[str, dict[str, float]] = {}
    with chromium() as browser, serve_notebooks(texts) as address:
        for name in tqdm(texts, desc="notebooks", mininterval=5):
            with Notebook(browser, address, name) as notebook:
                runs[name] = record_runs(notebook)
                if (number := name.split("_")[0]) in WITH_SLIDERS:
                    controls |= time_sliders(notebook, presses, number)
    speed = measure_speeds()
    return {
        **worst([run for found in runs.values() for run in found]),
        "speed_kept": round(speed["shown"] / speed["alone"], 3),
        **{kind: max(times[kind] for times in controls.values()) for kind in KINDS if controls},
        "notebooks": {name: [asdict(run) for run in found] for name, found in runs.items()},
        "controls": controls,
        "handles": time_handles(),
    }


# ---------------------------------------------------------------- on this side of the browser


def record_runs(notebook: Notebook) -> list[DashboardRun]:
    """Run all of a notebook and return how its dashboards moved. Raises RuntimeError if a cell fails."""
    notebook.record()
    notebook.run_all(timeout=600)
    notebook.require_no_errors()
    notebook.page.wait_for_timeout(1000)  # the last picture is on its way
    return dashboard_runs(notebook.recorded())


def time_sliders(notebook: Notebook, presses: int, number: str) -> dict[str, dict[str, float]]:
    """Measure the answer times of each slider of a notebook, at rest and beside a training.

    returns  for each slider, the medians of KINDS in ms; a first press warms up
    """
    times: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        if kind == "training_ms":
            notebook.run(notebook.add_cell(TRAIN))
        for nth in range(notebook.page.locator(EXPLORER).count()):
            for handle in notebook.sliders(EXPLORER, nth):
                answers = []
                for i in range(presses + 1):
                    answers.append(notebook.move_slider(EXPLORER, handle.keys[i % 2], nth, handle.slider))
                    time.sleep(0.2)
                found = times.setdefault(f"{number}, explorer {nth}: {handle.name}", {})
                found[kind] = round(statistics.median(answers[1:]), 1)
    notebook.run(notebook.add_cell(STOP))
    return times


def time_handles() -> dict[str, dict[str, list[float]]]:
    """Measure how soon a frame shows that a handle of a computed explorer has moved.

    returns  place, width of the window and what else goes on -> explorer -> median and 95th percentile, ms
    """
    found, shows = dict[str, dict[str, list[float]]](), [f"live.{explore.__name__}()" for explore in FORMULAS]
    with (
        TemporaryDirectory() as folder,
        chromium() as browser,
        serve_notebooks({HANDLES: notebook_text("from babygpt import live", *shows, TRAIN, STOP)}) as lab,
        serve_folder(Path(folder)) as book,
    ):
        write_explorers(Path(folder), [explore() for explore in FORMULAS])
        for width in WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.goto(book)
            found[f"book, {width}, idle"] = move_handles(page)
            page.close()
            with Notebook(browser, lab, HANDLES, (width, 900)) as notebook:
                notebook.page.evaluate("jupyterapp.shell.collapseLeft()")
                notebook.run(*range(len(shows) + 1))
                found[f"notebook, {width}, idle"] = move_handles(notebook.page)
                notebook.run(len(shows) + 1)
                found[f"notebook, {width}, training"] = move_handles(notebook.page)
                notebook.run(len(shows) + 2)
    return found


def move_handles(page: Page) -> dict[str, list[float]]:
    """Move the first handle of each explorer on a page, there and back, and return the times to the frame."""
    found = {}
    for nth, explore in enumerate(FORMULAS):
        root = page.locator(COMPUTED).nth(nth)
        ends = root.evaluate(ENDS, [0, 3])
        root.evaluate(FRAMES)
        page.mouse.move(*ends["now"]["place"])
        page.mouse.down()
        for i in range(MOVES):
            page.mouse.move(*ends["now" if i % 2 else "then"]["place"])
            page.wait_for_function("n => window.frames_ms.length === n", arg=i + 1)
            time.sleep(7 * i % 17 / 1000)  # the next move comes at any moment of a frame
        page.mouse.up()
        times = page.evaluate("window.frames_ms.slice(5)")  # the first ones warm up
        found[explore.__name__] = [round(statistics.quantiles(times, n=20)[i], 1) for i in (9, 18)]
    return found


def measure_speeds() -> dict[str, float]:
    """Measure `speeds` in a notebook's kernel, with the dashboards on a page."""
    with (
        chromium() as browser,
        serve_notebooks({SPEEDS: notebook_text(PRINT_SPEEDS)}) as address,
        Notebook(browser, address, SPEEDS) as notebook,
    ):
        notebook.run(0, timeout=600)
        outputs = notebook.cells()[0]["outputs"]
    printed = "".join("".join(out["text"]) for out in outputs if out.get("name") == "stdout")
    return dict(json.loads(printed))


# ---------------------------------------------------------------- in the notebook's kernel


def train_v4(steps: int) -> Run:
    """Train the v4 of notebook 04 in the background, under a dashboard."""
    corpus = load_corpus("plain-tales", N_CHARS)
    return train_live(untrained_v4(corpus), corpus, steps)


def train_unseen(model: LanguageModel, corpus: Corpus, steps: int) -> Run:
    """Train in the background with nothing to measure and nothing to show."""
    run = Run(model, NextToken(corpus, BLOCK_SIZE), TrainConfig(steps=steps), "v4")
    run.start([])
    return run


def speeds() -> dict[str, float]:
    """Return mean steps per second without a dashboard ("alone") and with one ("shown"), in alternation."""
    ways = {"alone": partial(steps_per_second, train_unseen), "shown": partial(steps_per_second, train_live)}
    found = run_in_rounds(ways, ROUNDS, "rounds")
    return {name: statistics.mean(values) for name, values in found.items()}


def steps_per_second(start: Callable[[LanguageModel, Corpus, int], Run]) -> float:
    """Return the steps per second of a run, in a cell that waits as `run.result()` does."""
    corpus = load_corpus("plain-tales", N_CHARS)
    run = start(untrained_v4(corpus).to(pick_device()), corpus, STEPS)
    run.wait_for_step(1)
    begin = time.perf_counter()
    run.wait_for_step(STEPS)
    end = time.perf_counter()
    run.wait()
    return (STEPS - 1) / (end - begin)
