"""How quickly the live lab answers, and what it costs: through a real browser, in turn with the usual way."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from tqdm import tqdm

from babygpt.browser.lab import Notebook, chromium, course, sheet
from babygpt.browser.lesson import BLOCK_SIZE, fresh, plain_tales, under_a_dashboard
from babygpt.config import TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.device import available_cores
from babygpt.live import run as live_run
from babygpt.live.run import Run, Trainer
from babygpt.models.base import LanguageModel
from babygpt.objectives import NextToken

STEPS, TURNS, N_CHARS = 400, 3, 60_000  # of a run whose speed is measured: as long as those of the notebooks
EXPLORER, USUAL = ".babygpt-explorer", ".jp-CodeCell:has(.widget-interact)"
THE_USUAL_WAY = """
import matplotlib.pyplot as plt
from ipywidgets import interact
from babygpt.live.explorers.rotary import CONTROLS, SIZE, WIDTHS, draw, measure

def show(**values):
    fig, axes = plt.subplots(1, 2, figsize=SIZE, width_ratios=WIDTHS, layout="constrained")
    draw(*axes, measure(**values))
    plt.show()

interact(show, **{control.name: control.widget() for control in CONTROLS});
"""
CELLS = (
    "import json\nfrom babygpt import live\nfrom babygpt.browser import bench",
    "live.rotary()",
    THE_USUAL_WAY,
    "run = bench.v4(steps=100_000)",
    "run.stop(); run.wait()",
    "print(json.dumps(bench.speeds()))",
    "print(json.dumps(bench.speeds_in_company()))",
)


def live(presses: int) -> dict[str, float]:
    """Milliseconds from a key press to changed pixels, and the speed of training under a dashboard.

    presses  key presses of each kind
    returns  medians and 95th percentiles (ms) of an explorer, idle and while v4 trains, and of the usual
             interact + plt.show() cell; speeds are shares: with a dashboard over without one, with a
             busy neighbour process over without one, and with as many threads as cores over the half
             of them that a run takes
    Raises ValueError if there is no Chromium, or presses is below 1.
    """
    if presses < 1:
        raise ValueError(f"presses ({presses}) must be at least 1")
    with chromium() as browser, course({"bench.ipynb": sheet(*CELLS)}) as address:
        notebook = Notebook(browser, address, "bench.ipynb")
        notebook.run(0, 1, 2)
        idle, usual = pressed(notebook, presses, EXPLORER, USUAL)
        notebook.run(3)
        (training,) = pressed(notebook, presses, EXPLORER)
        notebook.run(4)
        speeds = said(notebook, 5)
        with busy_neighbour():
            in_company = said(notebook, 6)
    return {
        **summary("idle_ms", idle),
        **summary("training_ms", training),
        **summary("usual_ms", usual),
        "speed_with_dashboard": round(speeds["shown"] / speeds["alone"], 3),
        "speed_with_neighbour": round(in_company["polite"] / speeds["shown"], 3),
        "all_threads": round(speeds["greedy"] / speeds["shown"], 3),
        "all_threads_with_neighbour": round(in_company["greedy"] / in_company["polite"], 3),
    }


# ---------------------------------------------------------------- on this side of the browser


def said(notebook: Notebook, index: int) -> dict[str, float]:
    """What a cell prints, as JSON."""
    notebook.run(index, timeout=600)
    outputs = notebook.cells()[index]["outputs"]
    printed = "".join("".join(out["text"]) for out in outputs if out.get("name") == "stdout")
    return dict(json.loads(printed))


def pressed(notebook: Notebook, presses: int, *areas: str) -> list[list[float]]:
    """Milliseconds to the answer of each area, ten presses at a time in turn; the first of ten warms up."""
    took: list[list[float]] = [[] for _ in areas]
    for _ in tqdm(range(-(-presses // 9)), desc="presses, in tens", mininterval=5):
        for area, times in zip(areas, took, strict=True):
            for i in range(10):
                answer = notebook.answer(area, "ArrowRight" if i % 2 else "ArrowLeft")  # there and back
                time.sleep(0.2)
                times += [answer] if i else []
    return took


def summary(name: str, times: list[float]) -> dict[str, float]:
    """Median and 95th percentile, rounded."""
    high = sorted(times)[int(0.95 * (len(times) - 1))]
    return {f"{name}_median": round(statistics.median(times), 1), f"{name}_p95": round(high, 1)}


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
    """Steps per second: without a dashboard, with one, and with one and all threads; in turn."""
    shown = partial(speed, under_a_dashboard)
    return in_turn({"alone": partial(speed, alone), "shown": shown, "greedy": partial(shown, greedy=True)})


def speeds_in_company() -> dict[str, float]:
    """The same beside a busy neighbour: politely, and with all threads."""
    shown = partial(speed, under_a_dashboard)
    return in_turn({"polite": shown, "greedy": partial(shown, greedy=True)})


def in_turn(ways: dict[str, Callable[[], float]]) -> dict[str, float]:
    """Mean of each, over some turns, every other turn backwards."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(TURNS):
        for name in list(ways)[:: -1 if turn % 2 else 1]:
            found[name].append(ways[name]())
    return {name: statistics.mean(values) for name, values in found.items()}


def speed(way: Callable[[LanguageModel, Corpus, int], Run], greedy: bool = False) -> float:
    """Steps per second from the first step to the last; if greedy, with as many threads as cores."""
    polite = live_run.polite_threads
    if greedy:
        live_run.polite_threads = available_cores
    try:
        corpus = plain_tales(N_CHARS)
        run = way(fresh(corpus), corpus, STEPS)
        begin = reach(run, 1)
        return (STEPS - 1) / (reach(run, STEPS) - begin)
    finally:
        run.wait()
        live_run.polite_threads = polite


def reach(run: Run, step: int) -> float:
    """When a run has made a step, in seconds."""
    while len(run.history) < step and not run.state.over:
        time.sleep(0.005)
    return time.perf_counter()
