"""Workers for a sweep: processes (joblib) or jobs of a cluster (submitit); a crash loses one run only."""

import io
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path
from typing import Any

import torch
from joblib import cpu_count
from joblib.externals.loky import ProcessPoolExecutor

from babygpt.device import threads_were_chosen
from babygpt.errors import BadInput
from babygpt.experiments.sweep import FailedRuns, RunFunction, RunNumbers, Runs, Workers


def make_run(run: RunFunction, threads: int) -> RunNumbers:
    """Make a run in this process with `threads` threads of PyTorch, and without a progress bar."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent cancels
    torch.set_num_threads(threads)
    with redirect_stderr(io.StringIO()):  # bars of several processes would overwrite each other
        return run()


def threads_of_each(workers: int) -> int:
    """Return the number of threads of each worker: PyTorch's, or its share of the cores."""
    if workers < 1:
        raise BadInput(f"workers ({workers}) must be at least 1")
    return max(1, min(torch.get_num_threads(), cpu_count() // workers))


def side_by_side(
    workers: int, start: Callable[[RunFunction], Any], runs: Runs
) -> Iterator[tuple[str, RunNumbers]]:
    """Make runs, `workers` at a time; `start` returns a job with done, exception, result and cancel."""
    waiting, jobs, errors = list(runs), dict[str, Any](), dict[str, BaseException]()
    try:
        while waiting or jobs:
            while waiting and len(jobs) < workers:
                name = waiting.pop(0)
                jobs[name] = start(runs[name])
            time.sleep(0.1)  # jobs of a cluster can only be polled
            for name in [name for name, job in jobs.items() if job.done()]:
                job = jobs.pop(name)
                error = job.exception()
                if error:
                    errors[name] = error
                else:
                    yield name, job.result()
    finally:
        for job in jobs.values():
            job.cancel()
    # Errors are raised at the end, so that one failed run does not stop the others.
    if errors:
        raise FailedRuns(errors) from next(iter(errors.values()))


def processes(workers: int) -> Workers:
    """Return workers that make `workers` runs at once, each in a process of its own, and divide the cores."""
    threads = threads_of_each(workers)

    def start(run: RunFunction) -> Any:
        # A pool for each run: a process that dies breaks its pool, and no other run.
        pool = ProcessPoolExecutor(1, env={"OMP_NUM_THREADS": str(threads)})
        job = pool.submit(make_run, run, threads)
        job.add_done_callback(lambda _: pool.shutdown(wait=False))
        job.cancel = lambda: pool.shutdown(kill_workers=True)
        return job

    return partial(side_by_side, workers, start)


def cluster(kind: str, folder: Path, workers: int = 1, options: dict[str, Any] | None = None) -> Workers:
    """Return workers that make each run as a job of a cluster.

    kind     "slurm", or "local" for processes of this machine
    folder   of the jobs' files and logs; all nodes must see it
    options  of submitit, by name: slurm_partition, timeout_min, cpus_per_task, ...
    Raises BadInput for another kind or option, or where there is no Slurm.
    """
    from submitit import AutoExecutor

    parameters: dict[str, Any] = {"timeout_min": 24 * 60, "cpus_per_task": 1} | (options or {})
    try:
        chosen = torch.get_num_threads() if threads_were_chosen() else int(parameters["cpus_per_task"])
        threads = chosen if kind == "slurm" else threads_of_each(workers)
        executor = AutoExecutor(folder=folder, cluster=kind)
        executor.update_parameters(**parameters)
    except Exception as error:  # submitit's own checks
        raise BadInput(f"cluster ({kind}): {error}") from error
    return partial(side_by_side, workers, lambda run: executor.submit(make_run, run, threads))
