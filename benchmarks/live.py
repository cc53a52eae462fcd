"""How the live lab moves, what it costs, how quickly it answers: the notebooks' own runs, in a browser."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from functools import partial
from typing import Any

from tqdm import tqdm

from babygpt.config import TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.live.run import Run, Trainer
from babygpt.models.base import LanguageModel
from babygpt.objectives import NextToken
from benchmarks.timing import run_in_rounds
from tools.browser.chromium import chromium
from tools.browser.course_models import BLOCK_SIZE, train_live, untrained_v4
from tools.browser.notebook import DASHBOARD, EXPLORER, Notebook
from tools.browser.recording import DashboardRun, dashboard_runs, worst
from tools.browser.server import course_notebook, notebook_text, serve_notebooks

NOTEBOOKS = (
    "00",
    "01",
    "03b",
    "04",
    "05",
    "06",
    "07a",
    "07b",
)  # those in which a learner watches a model learn
WITH_SLIDERS = {"05": "gaussian", "07b": "polar"}  # the first explorer of those whose sliders are timed
STEPS, ROUNDS, N_CHARS = 400, 3, 60_000  # of a run whose speed is measured: as long as the notebooks'
INTERACT = ".jp-CodeCell:has(.widget-interact)"
KINDS = ("idle_ms", "training_ms", "usual_ms")  # of a slider's answer times
SPEEDS = "speeds.ipynb"
PRINT_SPEEDS = "import json\nfrom benchmarks.live import speeds\nprint(json.dumps(speeds()))"
TRAIN = "from benchmarks.live import train_v4\nrun = train_v4(steps=100_000)"
STOP = "run.stop(); run.wait()"
# An explorer's own measurement and drawing, shown the usual way.
USE_INTERACT = """
import matplotlib.pyplot as plt
import numpy as np
from ipywidgets import interact
from babygpt import live

explorer = live.{explorer}()
for control in explorer.controls.values():
    control.unobserve_all("value")
size, axes = explorer.canvas.figure.get_size_inches(), explorer.canvas.axes
widths = axes[0].get_gridspec().get_width_ratios()

def show(**values):
    fig, axes = plt.subplots(1, len(widths), figsize=size, width_ratios=widths, layout="constrained")
    explorer.draw_on(*np.ravel(axes), explorer.measure(**values))
    plt.show()

interact(show, **explorer.controls);
"""


def measure_live(
    presses: int, notebooks: Sequence[str] = NOTEBOOKS, neighbour: bool = False
) -> dict[str, Any]:
    """How every run of the notebooks moves, training speed kept, and the answer times of sliders.

    presses    key presses of each slider, idle and training
    notebooks  numbers of the notebooks that are run; sliders are timed in 05 and 07b, if they are among them
    neighbour  whether another process keeps a core busy while the notebooks run
    returns    the worst dashboard's numbers of `recording.worst`; speed_kept, the steps per second with a
               dashboard over those without one; medians (ms) from key press to changed picture of the worst
               slider, idle, while v4 trains, and with the usual interact + plt.show(); then each notebook
               and each control for itself
    Raises BadInput if there is no Chromium or no such notebook, or presses is below 1; RuntimeError with
    what went wrong in a cell.
    """
    if presses < 1:
        raise BadInput(f"presses ({presses}) must be at least 1")
    texts = {path.name: path.read_text(encoding="utf-8") for path in map(course_notebook, notebooks)}
    served = {**texts, SPEEDS: notebook_text(PRINT_SPEEDS)}
    runs: dict[str, list[DashboardRun]] = {}
    controls: dict[str, dict[str, float]] = {}
    with chromium() as browser, serve_notebooks(served) as address:
        for name in tqdm(texts, desc="notebooks", mininterval=5):
            with Notebook(browser, address, name) as notebook:
                with busy_neighbour() if neighbour else nullcontext():
                    runs[name] = record_runs(notebook)
                if (number := name.split("_")[0]) in WITH_SLIDERS:
                    controls |= time_sliders(notebook, presses, number)
        with Notebook(browser, address, SPEEDS) as notebook:
            speed = printed_json(notebook, 0)
    return {
        **worst([run for found in runs.values() for run in found]),
        "speed_kept": round(speed["shown"] / speed["alone"], 3),
        **slowest(controls),
        "notebooks": {name: [asdict(run) for run in found] for name, found in runs.items()},
        "controls": controls,
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
    """Answer times of each slider of a notebook's explorers: at rest, beside a training, and the usual way.

    returns  for each slider, the medians of KINDS in ms; of the first explorer alone the usual one, too
    """
    idle = press_sliders(notebook, presses, EXPLORER)
    notebook.run(notebook.add_cell(TRAIN))
    wait_for_first_step(notebook)
    training = press_sliders(notebook, presses, EXPLORER)
    notebook.run(notebook.add_cell(STOP))
    notebook.run(notebook.add_cell(USE_INTERACT.format(explorer=WITH_SLIDERS[number])))
    notebook.page.wait_for_selector(f"{INTERACT} img")
    usual = press_sliders(notebook, presses, INTERACT)
    by_kind = dict(zip(KINDS, (idle, training, usual), strict=True))
    return {
        f"{number}, explorer {nth}: {name}": {
            kind: round(statistics.median(times[nth, name]), 1)
            for kind, times in by_kind.items()
            if (nth, name) in times
        }
        for nth, name in idle
    }


def wait_for_first_step(notebook: Notebook) -> None:
    """Wait until the last dashboard's run has made a step."""
    last = f"[...document.querySelectorAll('{DASHBOARD}')].at(-1)"
    notebook.page.wait_for_function(f"/running.*step [1-9]/s.test({last}?.textContent)")


def press_sliders(notebook: Notebook, presses: int, area: str) -> dict[tuple[int, str], list[float]]:
    """Milliseconds to the answer of each slider, by area and name; one press before the others warms up."""
    times: dict[tuple[int, str], list[float]] = {}
    for nth in range(notebook.page.locator(area).count()):
        for handle in notebook.sliders(area, nth):
            answers = []
            for i in range(presses + 1):
                answers.append(notebook.move_slider(area, handle.keys[i % 2], nth, handle.slider))
                time.sleep(0.2)
            times[nth, handle.name] = answers[1:]
    return times


def slowest(controls: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """For each kind of answer time, the slowest control's."""
    by_kind = {kind: [times[kind] for times in controls.values() if kind in times] for kind in KINDS}
    return {kind: max(found) for kind, found in by_kind.items() if found}


def printed_json(notebook: Notebook, index: int) -> dict[str, float]:
    """Run a cell, and read what it prints as JSON."""
    notebook.run(index, timeout=600)
    outputs = notebook.cells()[index]["outputs"]
    printed = "".join("".join(out["text"]) for out in outputs if out.get("name") == "stdout")
    return dict(json.loads(printed))


@contextmanager
def busy_neighbour() -> Iterator[None]:
    """Another process that keeps one core busy while the context lasts."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


# ---------------------------------------------------------------- in the notebook's kernel


def train_v4(steps: int) -> Run:
    """Train the v4 of notebook 04 in the background, under a dashboard."""
    corpus = load_corpus("plain-tales", N_CHARS)
    return train_live(untrained_v4(corpus), corpus, steps)


def train_unseen(model: LanguageModel, corpus: Corpus, steps: int) -> Run:
    """Train in the background with nothing to measure and nothing to show."""
    run = Run(model, NextToken(corpus, BLOCK_SIZE), TrainConfig(steps=steps), "v4")
    Trainer(run).start()
    return run


def speeds() -> dict[str, float]:
    """Mean steps per second without a dashboard ("alone") and with one ("shown"), in alternation."""
    ways = {"alone": partial(steps_per_second, train_unseen), "shown": partial(steps_per_second, train_live)}
    found = run_in_rounds(ways, ROUNDS, "rounds")
    return {name: statistics.mean(values) for name, values in found.items()}


def steps_per_second(start: Callable[[LanguageModel, Corpus, int], Run]) -> float:
    """Steps per second from a run's first step to its last, in a cell that waits as `run.result()` does."""
    corpus = load_corpus("plain-tales", N_CHARS)
    run = start(untrained_v4(corpus), corpus, STEPS)
    run.wait_for_step(1)
    begin = time.perf_counter()
    run.wait_for_step(STEPS)
    end = time.perf_counter()
    run.wait()
    return (STEPS - 1) / (end - begin)
