"""Long use: what an hour of training under a dashboard, and many runs one after the other, do to memory."""

from __future__ import annotations

import gc
import math
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from typing import Any

import psutil

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.live.controls import Scale
from babygpt.live.run import Run
from babygpt.live.train import train
from babygpt.live.watches.base import heads
from babygpt.models.base import LanguageModel
from babygpt.models.versions import build
from babygpt.objectives import NextToken

READINGS = 120  # of a long run
WARM_UP = 1 / 6  # of the readings: allocator, caches and the first pictures fill up before anything is fitted
BLOCK_SIZE = 64


def require(minutes: float, runs: int) -> None:
    """Raise a ValueError unless so long a run and so many runs can be measured."""
    if not 0 < minutes < math.inf:
        raise BadInput(f"minutes ({minutes}) must be a number above 0")
    if runs < 3:
        raise BadInput(f"runs ({runs}) must be at least 3: the first ones warm up, and growth needs two more")


@dataclass(frozen=True)
class Reading:
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


def read(start: float, steps: int) -> Reading:
    """Look at this process: `start` is when the measurement began, in seconds of the monotonic clock."""
    process = psutil.Process()
    files = process.num_handles() if hasattr(process, "num_handles") else process.num_fds()
    return Reading(
        minutes=round((time.monotonic() - start) / 60, 3),
        steps=steps,
        mib=round(process.memory_info().rss / 2**20, 2),
        blocks=sys.getallocatedblocks(),
        files=files,
        threads=process.num_threads(),
    )


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The rise of y for 1 of x, along the straight line through the points with the least squares.

    Raises ValueError if x stands still.
    """
    return statistics.linear_regression(x, y).slope


def settled(readings: Sequence[Reading]) -> list[Reading]:
    """The readings after the warm-up. Raises ValueError if fewer than two are left."""
    kept = list(readings[round(WARM_UP * len(readings)) :])
    if len(kept) < 2:
        raise BadInput(f"{len(readings)} readings are too few: two must be left after the warm-up")
    return kept


@contextmanager
def silent() -> Iterator[None]:
    """Without a front end, IPython prints what it is to display: whole pictures, in letters."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        yield


def fresh(corpus: Corpus) -> LanguageModel:
    """The v4 of notebook 04, untrained."""
    return build("v4", ModelConfig(corpus.tokenizer.vocab_size, BLOCK_SIZE, n_layer=2, n_head=4, n_embd=96))


def begin(model: LanguageModel, corpus: Corpus, steps: int, batch_size: int = 12) -> Run:
    """Train in the background under all that a notebook shows: loss, floor, every head, a slider."""
    idx = corpus.val[:24]
    watch, knob = heads(corpus.tokenizer, corpus.tokenizer.decode(idx)), Scale("theta", 1e4, 10.0, 1e5)
    floors = {"floor": corpus.floor} if corpus.floor else {}
    plan = TrainConfig(steps=steps, batch_size=batch_size, eval_every=max(1, steps // 40))
    return train(model, NextToken(corpus, BLOCK_SIZE), plan, "v4", floors, [watch], [knob])


def endurance(corpus: Corpus, minutes: float, n: int = READINGS) -> dict[str, Any]:
    """Train v4 under a dashboard for so long, and watch what the process holds.

    corpus   what it trains on
    minutes  how long, above 0
    n        readings, evenly spread over the time
    returns  "mib_per_hour", "blocks_per_step", "files_gained", "threads_gained": after
             the warm-up; and "readings", each a Reading as a dict
    Raises ValueError if minutes is not above 0, and what went wrong in the run.
    """
    require(minutes, 3)
    with silent():
        steps = 2 * round(speed(corpus) * minutes * 60) + 1  # twice as many as it will come to
        start = time.monotonic()
        run = begin(fresh(corpus), corpus, steps)
        readings = [read(start, len(run.history)) for _ in ticks(run, start, minutes, n)]
        run.stop()
        run.result()
    return {**growth(settled(readings)), "readings": [asdict(reading) for reading in readings]}


def speed(corpus: Corpus, steps: int = 30) -> float:
    """Steps a second under a dashboard; the watches of a run look now and then in the steps it has."""
    run = begin(fresh(corpus), corpus, steps)
    return steps / run.result()[-1].seconds


def ticks(run: Run, start: float, minutes: float, n: int) -> Iterator[int]:
    """Wait for the moments at which to read, evenly spread over the time, or fewer if the run ends first."""
    for i in range(n):
        if run.wait(max(0.0, start + (i + 1) * minutes * 60 / n - time.monotonic())):
            return
        yield i


def growth(readings: Sequence[Reading]) -> dict[str, Any]:
    """What became more, in numbers, between the first of these readings and the last."""
    first, last = readings[0], readings[-1]
    hours = [reading.minutes / 60 for reading in readings]
    return {
        "minutes": last.minutes,
        "steps": last.steps,
        "mib_at_first": first.mib,
        "mib_at_last": last.mib,
        "mib_per_hour": round(slope(hours, [reading.mib for reading in readings]), 2),
        "blocks_per_step": round(slope([r.steps for r in readings], [float(r.blocks) for r in readings]), 2),
        "files_gained": last.files - first.files,
        "threads_gained": last.threads - first.threads,
    }


def many_runs(corpus: Corpus, n: int = 50, steps: int = 20) -> dict[str, Any]:
    """Train model after model in one process, each under its own dashboard, as in a notebook.

    corpus   what they train on
    n        runs, at least 3
    steps    of each
    returns  "mib_per_run" after the warm-up, and what else was gained by then; "readings", one a run
    Raises ValueError if n is below 3.
    """
    require(1.0, n)
    start, readings = time.monotonic(), []
    with silent():
        for i in range(n):
            run = begin(fresh(corpus), corpus, steps)
            run.result()
            gc.collect()  # what only waits to be collected is no leak
            readings.append(read(start, (i + 1) * steps))
    kept = settled(readings)
    per_run = slope(range(len(kept)), [reading.mib for reading in kept])
    found = growth(kept) | {"runs": n, "mib_per_run": round(per_run, 3)}
    found["blocks_per_run"] = round(found.pop("blocks_per_step") * steps, 1)
    del found["mib_per_hour"]
    return {**found, "readings": [asdict(reading) for reading in readings]}
