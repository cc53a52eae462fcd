"""Long use: what an hour of training under a dashboard, and many runs one after the other, do to memory."""

from __future__ import annotations

import gc
import math
import os
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from typing import Any

import psutil

from babygpt.config import TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.live import Run, Scale, heads, train
from babygpt.objectives import NextToken
from tools.browser.course_models import BLOCK_SIZE, untrained_v4

SAMPLES = 120  # of a long run
WARM_UP = 1 / 6  # of the samples: allocator, caches and the first pictures fill up before anything is fitted


def measure_memory(minutes: float, runs: int) -> dict[str, Any]:
    """Watch what this process holds in one long run under a dashboard, and then in many short ones.

    minutes  of the long run, above 0
    runs     how many short ones, at least 3
    returns  "one_run": see `measure_long_run`; "many_runs": see `measure_many_runs`
    Raises BadInput before anything is trained if minutes or runs is too small.
    """
    require_measurable(minutes, runs)
    text = load_corpus("plain-tales", 100_000)
    return {"one_run": measure_long_run(text, minutes), "many_runs": measure_many_runs(text, runs)}


def require_measurable(minutes: float, runs: int) -> None:
    """Raise BadInput unless so long a run and so many runs can be measured."""
    if not 0 < minutes < math.inf:
        raise BadInput(f"minutes ({minutes}) must be a number above 0")
    if runs < 3:
        raise BadInput(f"runs ({runs}) must be at least 3: the first ones warm up, and growth needs two more")


@dataclass(frozen=True)
class MemorySample:
    """What a process holds at one moment.

    minutes  since the measurement began
    steps    of training made by then
    mib      memory in use (resident set), MiB
    blocks   of memory that Python has handed out: counted without touching what is in them, for
             `gc.get_objects` holds tuples that another thread is just making, and breaks it
    files    and sockets that are open
    threads  that are alive
    """

    minutes: float
    steps: int
    mib: float
    blocks: int
    files: int
    threads: int


def sample_memory(start: float, steps: int) -> MemorySample:
    """Sample this process.

    start  when the measurement began, in seconds of the monotonic clock
    steps  of training made so far
    """
    process = psutil.Process()
    files = process.num_handles() if hasattr(process, "num_handles") else process.num_fds()
    return MemorySample(
        minutes=round((time.monotonic() - start) / 60, 3),
        steps=steps,
        mib=round(process.memory_info().rss / 2**20, 2),
        blocks=sys.getallocatedblocks(),
        files=files,
        threads=process.num_threads(),
    )


def after_warm_up(samples: Sequence[MemorySample]) -> list[MemorySample]:
    """The samples without the first sixth. Raises BadInput if fewer than two are left."""
    settled = list(samples[round(WARM_UP * len(samples)) :])
    if len(settled) < 2:
        raise BadInput(f"{len(samples)} samples are too few: two must be left after the warm-up")
    return settled


def growth(samples: Sequence[MemorySample]) -> dict[str, Any]:
    """How much more a process holds at the last of some samples than at the first, and the slopes."""
    first, last = samples[0], samples[-1]
    hours, steps = [sample.minutes / 60 for sample in samples], [sample.steps for sample in samples]
    return {
        "minutes": last.minutes,
        "steps": last.steps,
        "mib_at_first": first.mib,
        "mib_at_last": last.mib,
        "mib_per_hour": round(slope(hours, [sample.mib for sample in samples]), 2),
        "blocks_per_step": round(slope(steps, [float(sample.blocks) for sample in samples]), 2),
        "files_gained": last.files - first.files,
        "threads_gained": last.threads - first.threads,
    }


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """How much y rises when x rises by 1, by least squares."""
    return statistics.linear_regression(x, y).slope


@contextmanager
def nothing_printed() -> Iterator[None]:
    """Print nothing meanwhile: without a front end, IPython prints the pictures that it is to display."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        yield


def start_run(corpus: Corpus, steps: int) -> Run:
    """Train a fresh v4 in the background under all that a notebook shows: loss, floor, heads, a slider."""
    watch = heads(corpus.tokenizer, corpus.tokenizer.decode(corpus.val[:24]))
    floors = {"floor": corpus.floor} if corpus.floor else {}
    plan = TrainConfig(steps=steps, batch_size=12, eval_every=max(1, steps // 40))
    controls = [Scale("theta", 1e4, 10.0, 1e5)]
    return train(untrained_v4(corpus), NextToken(corpus, BLOCK_SIZE), plan, "v4", floors, [watch], controls)


def measure_long_run(corpus: Corpus, minutes: float, n_samples: int = SAMPLES) -> dict[str, Any]:
    """Train v4 under a dashboard for so long, and watch what the process holds.

    corpus     what it trains on
    minutes    how long after its first step, above 0
    n_samples  evenly distributed over the time
    returns    "mib_per_hour", "blocks_per_step", "files_gained", "threads_gained": after the warm-up; and
               "readings", each a MemorySample as a dict
    Raises BadInput if minutes is not above 0, and what went wrong in the run.
    """
    require_measurable(minutes, 3)
    with nothing_printed():
        steps = 2 * round(steps_per_second(corpus) * minutes * 60) + 1  # twice as many as it will come to
        run = start_run(corpus, steps)
        run.wait_for_step(1)
        start, samples = time.monotonic(), []
        for i in range(n_samples):
            if run.wait(max(0.0, start + (i + 1) * minutes * 60 / n_samples - time.monotonic())):
                break  # it has come to its end
            samples.append(sample_memory(start, len(run.history)))
        run.stop()
        run.result()
    return {**growth(after_warm_up(samples)), "readings": [asdict(sample) for sample in samples]}


def steps_per_second(corpus: Corpus, steps: int = 30) -> float:
    """Training steps a second under a dashboard, in a short run."""
    return steps / start_run(corpus, steps).result()[-1].seconds


def wait_for_threads(seconds: float = 5.0) -> None:
    """Wait for the lab's threads that are just ending: trainer and painter outlive a run by a moment."""
    for thread in threading.enumerate():
        if thread.name.startswith("babygpt "):
            thread.join(seconds)


def measure_many_runs(corpus: Corpus, n: int = 50, steps: int = 20) -> dict[str, Any]:
    """Train model after model in one process, each under its own dashboard, as in a notebook.

    corpus   what they train on
    n        runs, at least 3
    steps    of each
    returns  "mib_per_run" after the warm-up, and what else was gained by then; "readings", a MemorySample
             as a dict for each run
    Raises BadInput if n is below 3.
    """
    require_measurable(1.0, n)
    start, samples = time.monotonic(), []
    with nothing_printed():
        for i in range(n):
            start_run(corpus, steps).result()
            wait_for_threads()
            gc.collect()  # what only waits to be collected is no leak
            samples.append(sample_memory(start, (i + 1) * steps))
    settled = after_warm_up(samples)
    per_run = slope(range(len(settled)), [sample.mib for sample in settled])
    results = growth(settled) | {"runs": n, "mib_per_run": round(per_run, 3)}
    results["blocks_per_run"] = round(results.pop("blocks_per_step") * steps, 1)
    del results["mib_per_hour"]
    return {**results, "readings": [asdict(sample) for sample in samples]}
