"""What a quota of one core takes from a training: with the package's threads, and with one for every core."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from babygpt.errors import BadInput
from babygpt.quotas import MACHINE, bound_cores
from benchmarks.timing import require_rounds, run_in_rounds

CHOSEN = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
WARM_UP = 10  # steps that are not timed
PERIOD = 100_000  # microseconds, within which a quota is spent


def measure_quota(rounds: int, steps: int) -> dict[str, Any]:
    """Train v4 in processes of their own, in turn: without a quota, with one, and with all threads under it.

    rounds   how often each, at least 1
    steps    of a training that are timed, at least 1
    returns  "steps_per_second": name -> median over the rounds; "kept": what share of one core's speed a
             training keeps under a quota of one core; "kept_with_all_threads": if it took a thread a core
    Raises BadInput for numbers below 1, one core, or if this process may not make a control group.
    """
    require_rounds(rounds)
    if steps < 1:
        raise BadInput(f"steps ({steps}) must be at least 1")
    if (cores := bound_cores()) < 2:
        raise BadInput(f"the cores here ({cores}) must be at least 2: else a quota of one takes nothing away")
    with group_of_one_core() as group:
        ways = {
            "one_core": partial(train_apart, steps, None, "1"),
            "quota": partial(train_apart, steps, group, ""),
            "quota_all_threads": partial(train_apart, steps, group, str(cores)),
        }
        rates = run_in_rounds(ways, rounds, "trainings")
    medians = {name: statistics.median(each) for name, each in rates.items()}
    return {
        "steps_per_second": {name: round(rate, 1) for name, rate in medians.items()},
        "kept": round(medians["quota"] / medians["one_core"], 2),
        "kept_with_all_threads": round(medians["quota_all_threads"] / medians["one_core"], 2),
    }


@contextmanager
def group_of_one_core(root: Path = MACHINE) -> Iterator[Path]:
    """The folder of a new control group that is allowed one core, removed afterwards.

    root  the folder in which sys is
    Raises BadInput if this process may not make one.
    """
    first, second = root / "sys/fs/cgroup/cpu", root / "sys/fs/cgroup"  # of version 1, of version 2
    folder = (first if first.is_dir() else second) / f"babygpt-{os.getpid()}"
    try:
        folder.mkdir()
        try:
            allow_one_core(folder, first.is_dir())
        except OSError:
            folder.rmdir()
            raise
    except OSError as error:
        raise BadInput(
            f"a control group of one core is needed, which root may make on Linux: {error}"
        ) from error
    try:
        yield folder
    finally:
        folder.rmdir()


def allow_one_core(folder: Path, first: bool) -> None:
    """Write into a control group's folder, of version 1 if `first`, that it may use as much as one core."""
    if first:
        (folder / "cpu.cfs_period_us").write_text(str(PERIOD), encoding="utf-8")
        (folder / "cpu.cfs_quota_us").write_text(str(PERIOD), encoding="utf-8")
    else:
        (folder / "cpu.max").write_text(f"{PERIOD} {PERIOD}", encoding="utf-8")


def train_apart(steps: int, group: Path | None, threads: str) -> float:
    """Steps per second of a training in a process of its own, in a control group, with so many threads."""
    environment = {name: value for name, value in os.environ.items() if name not in CHOSEN}
    if threads:
        environment["OMP_NUM_THREADS"] = threads
    words = [sys.executable, "-m", "benchmarks.quota", str(steps), *([str(group)] if group else [])]
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, encoding="utf-8", check=True
    )
    return float(done.stdout)


def train_here(steps: int) -> float:
    """Steps per second of a small v4, after a few that are not timed."""
    from babygpt.config import ModelConfig, TrainConfig  # here, when the process is in its group
    from babygpt.data.corpus import load_corpus
    from babygpt.models.versions import build
    from babygpt.objectives import NextToken
    from babygpt.training import train

    text = load_corpus("tales", 100_000)
    config = ModelConfig(text.tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=64)
    plan = TrainConfig(steps + WARM_UP + 1)  # it never comes to its end, and validation
    history = train(build("v4", config), NextToken(text, 64), plan)
    for _ in range(WARM_UP):
        next(history)
    start = time.perf_counter()
    for _ in range(steps):
        next(history)
    return steps / (time.perf_counter() - start)


if __name__ == "__main__":
    if sys.argv[2:]:
        (Path(sys.argv[2]) / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")
    print(train_here(int(sys.argv[1])))
