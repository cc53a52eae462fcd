"""Benchmarks of the live lab in a browser: how dashboards move, what they cost, how soon explorers answer."""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from IPython.display import clear_output, display
from tqdm import tqdm

from babygpt.config import TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.device import pick_device
from babygpt.experiments.paired import critical_t
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import NextToken
from babygpt_course.explorers.formulas import FORMULAS
from babygpt_live.run import Run
from benchmarks.timing import require_rounds, run_in_rounds
from tools.browser.chromium import chromium
from tools.browser.course_models import BLOCK_SIZE, train_live, untrained_v4
from tools.browser.notebook import COMPUTED, Notebook
from tools.browser.recording import DashboardRun, dashboard_runs, worst
from tools.browser.scripts import ENDS, FRAMES
from tools.browser.server import course_notebook, notebook_text, serve_notebooks

if TYPE_CHECKING:
    from playwright.sync_api import Page

NOTEBOOKS = ("00", "04a", "05", "06", "07a", "07b")  # those in which a learner watches a model learn
PAGES = {"as it is": 1, "throttled": 4}  # factor by which the page's processor is slowed down
# A run whose speed is measured is as long as those of the notebooks.
STEPS = 400
N_CHARS = 60_000
VIEWS = {"none": 0, "one": 1, "three": 3}  # dashboards of such a run
MOVES = 65  # moves of each explorer's first handle
SPEEDS, HANDLES = "speeds.ipynb", "handles.ipynb"
PRINT_SPEEDS = "import json\nfrom benchmarks.live import speeds\nprint(json.dumps(speeds({})))"
TRAIN = "from benchmarks.live import train_v4\nrun = train_v4(steps=100_000)\nrun.wait_for_step(1)"
STOP = "run.stop(); run.wait()"
# Each row of the table has a title, and its name in `recording.worst`.
ROWS = {
    "drawings with a new loss, a second": "losses_per_s",
    "drawings with a new measurement of its own watch, a second": "measurements_per_s",
    "frames painted a second": "drawings_per_s",
    "longest time without anything new (s)": "longest_still_s",
    "end of a step → painted (ms)": "shown_after_ms",
    "messages to widgets (kB a second)": "kb_per_s",
    "JavaScript of a drawing (ms)": "redraw_ms",
    "start of the cell → *getting ready* (s)": "ready_s",
    "end of step 1 → its loss is painted (ms)": "first_loss_ms",
}


def measure_live(rounds: int, notebooks: Sequence[str] = NOTEBOOKS) -> dict[str, Any]:
    """Measure how dashboards of notebooks move, the training speed kept, and answer times of explorers.

    rounds     of the training speeds
    notebooks  numbers of the notebooks that are run, once as they are and once in a page that is slowed down
    returns    "notebooks": for each by number, each of PAGES and there "worst" and "runs", see `recording`;
               "steps_per_s": for each of VIEWS the speeds of the rounds; "kept": for one and three dashboards
               the share of the speed without one, with a 95% interval; "handles": see `time_handles`
    Raises BadInput if there is no Chromium or no such notebook, or rounds is below 1; RuntimeError with what
    went wrong in a cell.
    """
    require_rounds(rounds)
    paths = {number: course_notebook(number) for number in notebooks}
    reports: dict[str, dict[str, Any]] = {number: {} for number in notebooks}
    texts = {path.name: path.read_text(encoding="utf-8") for path in paths.values()}
    with chromium() as browser, serve_notebooks(texts) as address:
        for number, page in tqdm([(n, page) for n in notebooks for page in PAGES], desc="notebooks"):
            with Notebook(browser, address, paths[number].name) as notebook:
                runs = record_runs(notebook, PAGES[page])
                reports[number][page] = {"worst": worst(runs), "runs": list(map(asdict, runs))}
    speeds = measure_speeds(rounds)
    shares = {name: share_kept(speeds["none"], speeds[name]) for name in speeds if name != "none"}
    return {"notebooks": reports, "steps_per_s": speeds, "kept": shares, "handles": time_handles()}


def report(results: Mapping[str, Any]) -> str:
    """Return results of `measure_live` as Markdown: worst dashboards, speeds, handles."""
    notebooks, pages = results["notebooks"], list(PAGES)
    lines = [["the worst dashboard; in brackets, in a page four times as slow", *notebooks]]
    for words, name in ROWS.items():
        readings = (
            [pages_of_notebook[page]["worst"].get(name, "–") for page in pages]
            for pages_of_notebook in notebooks.values()
        )
        lines.append([words, *(f"{plain} ({slow})" for plain, slow in readings)])
    speed = f"{statistics.mean(results['steps_per_s']['none']):.1f} steps a second without a dashboard"
    shares = " and ".join(
        f"{share['mean']:.0%} of it with {name} (95%: {share['low']:.0%} to {share['high']:.0%})"
        for name, share in results["kept"].items()
    )
    moves = [["median / 95th percentile (ms)", *results["handles"]["idle"]]]
    for name, words in (("idle", "at rest"), ("training", "a model trains")):
        times = results["handles"][name].values()
        moves.append([words, *(f"{half:.0f} / {most:.0f}" for half, most in times)])
    rounds = len(results["steps_per_s"]["none"])
    trained = f"In {rounds} rounds, v4 made {speed}, {shares}."
    return "\n\n".join([markdown(lines), trained, markdown(moves)])


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown; the first line is its head."""
    head, *rest = lines
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rest))


# ---------------------------------------------------------------- on this side of the browser


def record_runs(notebook: Notebook, slower: int = 1) -> list[DashboardRun]:
    """Run all of a notebook and return how its dashboards moved. Raises RuntimeError if a cell fails.

    slower  by how much the processor of the page is slowed down; not that of the kernel
    """
    devtools = notebook.page.context.new_cdp_session(notebook.page)
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": slower})
    notebook.record()
    notebook.run_all(timeout=900)
    notebook.require_no_errors()
    notebook.page.wait_for_timeout(1000)  # the last drawing is on its way
    return dashboard_runs(notebook.recorded())


def share_kept(alone: Sequence[float], shown: Sequence[float]) -> dict[str, float]:
    """Return the share of a speed that is kept: the mean over rounds of the ratio, with a 95% interval."""
    logs = [math.log(b / a) for a, b in zip(alone, shown, strict=True)]
    mean, half = statistics.mean(logs), math.inf
    if len(logs) > 1:
        half = critical_t(len(logs), 0.95) * statistics.stdev(logs) / math.sqrt(len(logs))
    bounds = {"mean": mean, "low": mean - half, "high": mean + half}
    return {name: round(math.exp(min(end, 9.0)), 3) for name, end in bounds.items()}


def time_handles() -> dict[str, dict[str, list[float]]]:
    """Measure how soon a frame shows that a handle of a computed explorer has moved.

    returns  "idle" and "training" -> explorer -> median and 95th percentile, ms
    """
    shows = [f"explorers.{explore.__name__}()" for explore in FORMULAS]
    cells = ("from babygpt_course import explorers", *shows, TRAIN, STOP)
    with (
        chromium() as browser,
        serve_notebooks({HANDLES: notebook_text(*cells)}) as lab,
        Notebook(browser, lab, HANDLES) as notebook,
    ):
        notebook.run(*range(len(shows) + 1))
        times = {"idle": move_handles(notebook.page)}
        notebook.run(len(shows) + 1)
        times["training"] = move_handles(notebook.page)
        notebook.run(len(shows) + 2)
    return times


def move_handles(page: Page) -> dict[str, list[float]]:
    """Move the first handle of each explorer on a page, there and back, and return the times to the frame."""
    quantiles = {}
    for nth, explore in enumerate(FORMULAS):
        root = page.locator(COMPUTED).nth(nth)
        handle = root.evaluate(ENDS, [0, 3])
        root.evaluate(FRAMES)
        page.mouse.move(*handle["now"]["place"])
        page.mouse.down()
        for i in range(MOVES):
            page.mouse.move(*handle["now" if i % 2 else "then"]["place"])
            page.wait_for_function("n => window.frames_ms.length === n", arg=i + 1)
            time.sleep(7 * i % 17 / 1000)  # the next move comes at any moment of a frame
        page.mouse.up()
        times = page.evaluate("window.frames_ms.slice(5)")  # the first ones warm up
        quantiles[explore.__name__] = [round(statistics.quantiles(times, n=20)[i], 1) for i in (9, 18)]
    return quantiles


def measure_speeds(rounds: int) -> dict[str, list[float]]:
    """Measure `speeds` in a notebook's kernel, with the dashboards on a page."""
    with (
        chromium() as browser,
        serve_notebooks({SPEEDS: notebook_text(PRINT_SPEEDS.format(rounds))}) as address,
        Notebook(browser, address, SPEEDS) as notebook,
    ):
        notebook.run(0, timeout=60 + 120 * rounds)
        outputs = notebook.cells()[0]["outputs"]
    printed = "".join("".join(out["text"]) for out in outputs if out.get("name") == "stdout")
    return dict(json.loads(printed))


# ---------------------------------------------------------------- in the notebook's kernel


def train_v4(steps: int) -> Run:
    """Train the v4 of notebook 04a in the background, under a dashboard."""
    corpus = load_corpus("plain-tales", N_CHARS)
    return train_live(untrained_v4(corpus), corpus, steps)


def train_unseen(model: LanguageModel, corpus: Corpus, steps: int) -> Run:
    """Train in the background with nothing to measure and nothing to show."""
    run = Run(model, NextToken(corpus, BLOCK_SIZE), TrainConfig(steps=steps), "v4")
    run.start_after([])
    return run


def speeds(rounds: int) -> dict[str, list[float]]:
    """Return the steps per second of each round, for each number of dashboards in VIEWS, in alternation."""
    ways = {name: partial(steps_per_second, views) for name, views in VIEWS.items()}
    return run_in_rounds(ways, rounds, "rounds")


def steps_per_second(views: int) -> float:
    """Return the steps per second of a run, in a cell that waits as `run.result()` does.

    views  how many dashboards show it
    """
    clear_output()
    corpus = load_corpus("plain-tales", N_CHARS)
    start: Callable[[LanguageModel, Corpus, int], Run] = train_live if views else train_unseen
    run = start(untrained_v4(corpus).to(pick_device()), corpus, STEPS)
    for _ in range(views - 1):
        display(run.dashboard)
    run.wait_for_step(1)
    begin = time.perf_counter()
    run.wait_for_step(STEPS)
    end = time.perf_counter()
    run.wait()
    return (STEPS - 1) / (end - begin)
