"""Workers for a sweep: several processes of this machine (joblib), or jobs of a cluster (submitit).

Each run has a process of its own, so that a crash loses one run only; its error is raised when all are over.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import torch
from joblib import cpu_count

from babygpt.device import threads_were_chosen
from babygpt.errors import BadInput
from babygpt_course.studies.sweep import Measured, Run, Runs, Workers


def make_run(run: Run, threads: int) -> Measured:
    """Make a run with so many threads; 0 for one a core of a Slurm job, unless the user chose a number."""
    if not threads and not threads_were_chosen():
        threads = min(cpu_count(), int(os.environ.get("SLURM_CPUS_PER_TASK", "1")))
    torch.set_num_threads(threads or torch.get_num_threads())
    # Bars of several processes would overwrite each other.
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):
        return run()


def threads_of_each(workers: int) -> int:
    """Return how many threads each of several workers takes: PyTorch's, or its share of the cores."""
    if workers < 1:
        raise BadInput(f"workers ({workers}) must be at least 1")
    return max(1, min(torch.get_num_threads(), cpu_count() // workers))


def side_by_side(workers: int, start: Callable[[Run], Any]) -> Workers:
    """Return workers that keep so many runs under way; `start` returns a job with done, result and cancel."""

    def make(runs: Runs) -> Iterator[tuple[str, Measured]]:
        waiting, under_way, failed = list(runs), dict[str, Any](), dict[str, Exception]()
        try:
            while waiting or under_way:
                while waiting and len(under_way) < workers:
                    name = waiting.pop(0)
                    under_way[name] = start(runs[name])
                time.sleep(0.1)
                for name in [name for name, job in under_way.items() if job.done()]:
                    try:
                        measured = under_way.pop(name).result()
                    except Exception as error:
                        failed[name] = error
                    else:
                        yield name, measured
        finally:
            for job in under_way.values():
                job.cancel()
        for name, reason in failed.items():
            raise BadInput(f"{name} failed, and the same command makes it again: {reason!r}") from reason

    return make


def processes(workers: int) -> Workers:
    """Return workers that make so many runs at once, each in a process of its own, and share out the cores.

    With equally many threads, as by OMP_NUM_THREADS=1, the numbers are bit for bit those of runs in turn.
    """
    from joblib.externals.loky import ProcessPoolExecutor

    threads = threads_of_each(workers)
    ignore = {"initializer": signal.signal, "initargs": (signal.SIGINT, signal.SIG_IGN)}  # the parent cancels

    def start(run: Run) -> Any:
        pool = ProcessPoolExecutor(1, env={"OMP_NUM_THREADS": str(threads)}, **ignore)
        job = pool.submit(make_run, run, threads)
        job.add_done_callback(lambda _: pool.shutdown(wait=False))
        job.cancel = lambda: pool.shutdown(kill_workers=True)
        return job

    return side_by_side(workers, start)


def cluster(kind: str, folder: Path, workers: int = 1, options: dict[str, Any] | None = None) -> Workers:
    """Return workers that make each run as a job of a cluster.

    kind     "slurm", or "local" for processes of this machine that are started in the same way
    folder   where jobs are written down, and leave what they print; all nodes must see it
    options  of submitit, by name: slurm_partition, timeout_min, cpus_per_task, ...
    Raises BadInput for another kind or option, or where there is no Slurm.
    """
    from submitit import AutoExecutor

    threads = threads_of_each(workers) if kind == "local" else 0
    given: dict[str, Any] = {"timeout_min": 24 * 60, **({} if kind == "local" else {"cpus_per_task": 1})}
    try:
        executor = AutoExecutor(folder=folder, cluster=kind)
        executor.update_parameters(**given | (options or {}))
    except Exception as error:  # submitit's own checks
        raise BadInput(f"cluster ({kind}): {error}") from error
    return side_by_side(workers, lambda run: executor.submit(make_run, run, threads))
