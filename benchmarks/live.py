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
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.live.run import Run, Trainer
from babygpt.live.waiting import wait_and_serve
from babygpt.models.base import LanguageModel
from babygpt.objectives import NextToken
from tools.browser.lab import DASHBOARD, EXPLORER, Notebook, chromium, course, lesson, opened, sheet
from tools.browser.lesson import BLOCK_SIZE, fresh, plain_tales, under_a_dashboard
from tools.browser.recording import Seen, seen, worst

NOTEBOOKS = ("00", "01", "03", "04", "05", "06", "07")  # those in which a learner watches a model learn
HANDLED = {"05": "gaussian", "07": "polar"}  # the first explorer of those whose sliders are timed
STEPS, TURNS, N_CHARS = 400, 3, 60_000  # of a run whose speed is measured: as long as those of the notebooks
USUAL = ".jp-CodeCell:has(.widget-interact)"
ANSWERS = ("idle_ms", "training_ms", "usual_ms")
SPEEDS = "speeds.ipynb"
MEASURE_SPEEDS = "import json\nfrom benchmarks import live as bench\nprint(json.dumps(bench.speeds()))"
TRAIN = "from benchmarks import live as bench\nrun = bench.v4(steps=100_000)"
STOP = "run.stop(); run.wait()"
THE_USUAL_WAY = """
import matplotlib.pyplot as plt
import numpy as np
from ipywidgets import interact
from babygpt import live

lent = live.{explorer}()  # its controls, its measuring and its drawing, and nothing else
for control in lent.controls.values():
    control.unobserve_all("value")
size, axes = lent.canvas.figure.get_size_inches(), lent.canvas.axes
widths = axes[0].get_gridspec().get_width_ratios()

def show(**values):
    fig, axes = plt.subplots(1, len(widths), figsize=size, width_ratios=widths, layout="constrained")
    lent.draw_on(*np.ravel(axes), lent.measure(**values))
    plt.show()

interact(show, **lent.controls);
"""


def live(presses: int, notebooks: Sequence[str] = NOTEBOOKS, neighbour: bool = False) -> dict[str, Any]:
    """How every run of the notebooks moves, training speed kept, and the answer times of sliders.

    presses    key presses of each slider, idle and training
    notebooks  numbers of the notebooks that are run; sliders are timed in 05 and 07, if they are among them
    neighbour  whether another process keeps a core busy while the notebooks run
    returns    the worst dashboard's numbers of `recording.worst`; speed_kept, the steps per second with a
               dashboard over those without one; medians (ms) from key press to changed picture of the worst
               slider, idle, while v4 trains, and with the usual interact + plt.show(); then each notebook
               and each control for itself
    Raises ValueError if there is no Chromium or no such notebook, or presses is below 1; RuntimeError with
    what went wrong in a cell.
    """
    if presses < 1:
        raise BadInput(f"presses ({presses}) must be at least 1")
    sheets = {path.name: path.read_text(encoding="utf-8") for path in map(lesson, notebooks)}
    runs: dict[str, list[Seen]] = {}
    controls: dict[str, dict[str, float]] = {}
    with chromium() as browser, course({**sheets, SPEEDS: sheet(MEASURE_SPEEDS)}) as address:
        for name in tqdm(sheets, desc="notebooks", mininterval=5):
            with opened(browser, address, name) as notebook:
                with busy_neighbour() if neighbour else nullcontext():
                    runs[name] = watched(notebook)
                if name[:2] in HANDLED:
                    controls |= answers(notebook, presses, name[:2])
        with opened(browser, address, SPEEDS) as notebook:
            speeds = said(notebook, 0)
    kept = {"speed_kept": round(speeds["shown"] / speeds["alone"], 3)}
    told = {name: [asdict(run) for run in found] for name, found in runs.items()}
    everything = worst([run for found in runs.values() for run in found])
    return {**everything, **kept, **slowest(controls), "notebooks": told, "controls": controls}


# ---------------------------------------------------------------- on this side of the browser


def watched(notebook: Notebook) -> list[Seen]:
    """Run all of a notebook, and tell what was seen of its runs. Raises RuntimeError if a cell fails."""
    notebook.record()
    notebook.run_all(timeout=600)
    if errors := notebook.errors():
        raise RuntimeError("; ".join(errors))
    notebook.page.wait_for_timeout(1000)  # the last picture is on its way
    return seen(notebook.recorded())


def answers(notebook: Notebook, presses: int, number: str) -> dict[str, dict[str, float]]:
    """Answer times of each slider of a notebook's explorers: at rest, beside a training, and the usual way.

    returns  for each slider, the medians of ANSWERS in ms; of the first explorer alone the usual one, too
    """
    idle = pressed(notebook, presses, EXPLORER)
    notebook.run(notebook.add_cell(TRAIN))
    until_it_trains(notebook)
    training = pressed(notebook, presses, EXPLORER)
    notebook.run(notebook.add_cell(STOP))
    notebook.run(notebook.add_cell(THE_USUAL_WAY.format(explorer=HANDLED[number])))
    notebook.page.wait_for_selector(f"{USUAL} img")
    usual = pressed(notebook, presses, USUAL)
    found = zip(ANSWERS, (idle, training, usual), strict=True)
    medians = {
        kind: {key: round(statistics.median(ms), 1) for key, ms in all_ms.items()} for kind, all_ms in found
    }
    return {
        f"{number}, explorer {nth}: {name}": {
            kind: times[nth, name] for kind, times in medians.items() if (nth, name) in times
        }
        for nth, name in idle
    }


def until_it_trains(notebook: Notebook) -> None:
    """Wait until the last dashboard's run has made a step."""
    last = f"[...document.querySelectorAll('{DASHBOARD}')].at(-1)"
    notebook.page.wait_for_function(f"/running.*step [1-9]/s.test({last}?.textContent)")


def pressed(notebook: Notebook, presses: int, area: str) -> dict[tuple[int, str], list[float]]:
    """Milliseconds to the answer of each slider, by area and name; one press before the others warms up."""
    took: dict[tuple[int, str], list[float]] = {}
    for nth in range(notebook.page.locator(area).count()):
        for handle in notebook.sliders(area, nth):
            times = took[nth, handle.name] = []
            for i in range(presses + 1):
                answer = notebook.answer(area, handle.keys[i % 2], nth, handle.slider)  # there and back
                time.sleep(0.2)
                times += [answer] if i else []
    return took


def slowest(controls: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Of each kind of answer the slowest control's."""
    kinds = {kind: [one[kind] for one in controls.values() if kind in one] for kind in ANSWERS}
    return {kind: max(found) for kind, found in kinds.items() if found}


def said(notebook: Notebook, index: int) -> dict[str, float]:
    """What a cell prints, as JSON."""
    notebook.run(index, timeout=600)
    outputs = notebook.cells()[index]["outputs"]
    printed = "".join("".join(out["text"]) for out in outputs if out.get("name") == "stdout")
    return dict(json.loads(printed))


@contextmanager
def busy_neighbour() -> Iterator[None]:
    """Another process that keeps one core busy."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


# ---------------------------------------------------------------- in the notebook's kernel


def v4(steps: int) -> Run:
    """The v4 of notebook 04 in training, under a dashboard."""
    corpus = plain_tales(N_CHARS)
    return under_a_dashboard(fresh(corpus), corpus, steps)


def alone(model: LanguageModel, corpus: Corpus, steps: int) -> Run:
    """Train in the background with nothing to measure and nothing to show."""
    run = Run(model, NextToken(corpus, BLOCK_SIZE), TrainConfig(steps=steps), "v4")
    Trainer(run).start()
    return run


def speeds() -> dict[str, float]:
    """Steps per second without a dashboard and with one, in turn."""
    return in_turn({"alone": partial(speed, alone), "shown": partial(speed, under_a_dashboard)})


def in_turn(ways: dict[str, Callable[[], float]]) -> dict[str, float]:
    """Mean of each, over some turns, every other turn backwards."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(TURNS):
        for name in list(ways)[:: -1 if turn % 2 else 1]:
            found[name].append(ways[name]())
    return {name: statistics.mean(values) for name, values in found.items()}


def speed(way: Callable[[LanguageModel, Corpus, int], Run]) -> float:
    """Steps per second from the first step to the last, in a cell that waits as `run.result()` does."""
    corpus = plain_tales(N_CHARS)
    run = way(fresh(corpus), corpus, STEPS)
    begin = reach(run, 1)
    end = reach(run, STEPS)
    run.wait()
    return (STEPS - 1) / (end - begin)


def reach(run: Run, step: int) -> float:
    """When a run has made a step, in seconds; the page is served meanwhile."""

    def made(timeout: float) -> bool:
        time.sleep(min(timeout, 0.005))
        return len(run.history) >= step or run.state.over

    wait_and_serve(made)
    return time.perf_counter()
