"""Where the runs of a sweep are made: one after the other, in processes of this machine, or on a cluster.

An engine takes runs by name and yields what each measured as soon as it is over, in any order. A run that
loses its process is made again. One that fails is left out until all others are over, so that whoever keeps
what is yielded keeps those; then its error is raised.
"""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import torch

from babygpt.errors import BadInput
from babygpt.quotas import available_cores
from babygpt.screen import say
from babygpt.training.records import QUIET

Measured = Mapping[str, Any]
Runs = Mapping[str, Callable[[], Measured]]
Finished = Generator[tuple[str, Measured], None, None]
Engine = Callable[[Runs], Finished]

ATTEMPTS = 3  # at a run whose process was killed
MINUTES = 24 * 60  # that a job of a cluster may take, unless its options say otherwise
CANCEL_SECONDS = 20.0  # that jobs are given to end when nobody waits for them any more
POLL_SECONDS = 0.2  # between two looks at the jobs of a cluster
MOST_WORKERS = 1024


class Outcome(NamedTuple):
    """What became of a run: what it measured, or its error."""

    name: str
    measured: Measured | None
    error: Exception | None


def in_turn(runs: Runs) -> Finished:
    """Make one run after the other in this process; an error ends it at once."""
    for name, run in runs.items():
        yield name, run()


def made(name: str, run: Callable[[], Measured], threads: int) -> Outcome:
    """Make a run with so many threads of PyTorch, in a process of its own, without a progress bar."""
    torch.set_num_threads(threads)
    QUIET.set(True)  # bars of several processes would write over each other
    try:
        return Outcome(name, run(), None)
    except Exception as error:
        return Outcome(name, None, error if survives_pickling(error) else RuntimeError(repr(error)))


def survives_pickling(error: Exception) -> bool:
    """Whether another process can be given an error as it is."""
    try:
        return isinstance(pickle.loads(pickle.dumps(error)), type(error))
    except Exception:
        return False


def threads_of_each(workers: int) -> int:
    """How many threads each of several workers takes: those that a process alone would take, shared out."""
    return max(1, min(torch.get_num_threads(), available_cores() // workers))


def require_workers(workers: int) -> None:
    """Raise BadInput unless a number of workers is one that can be started."""
    if not 1 <= workers <= MOST_WORKERS:
        raise BadInput(f"workers ({workers}) must lie between 1 and {MOST_WORKERS}")


def require_installed(name: str) -> Any:
    """Import a package of the extra `sweep`. Raises BadInput with what to install."""
    try:
        return __import__(name)
    except ImportError:
        raise BadInput(f"{name} is not installed: pip install 'babygpt[sweep]'") from None


# ---------------------------------------------------------------- until all are made


def until_made(runs: Runs, start: Callable[[Runs], Generator[Outcome, None, None]]) -> Finished:
    """Have runs made, and those whose process was killed again.

    start  begins runs and yields their outcomes; of killed ones it yields none
    Raises the error of the first run that failed, in the order asked, with the run's name, once all others
    are over; BadInput if a run loses its process ATTEMPTS times.
    """
    left, failed, total = dict(runs), dict[str, Exception | None](), len(runs)
    for attempt in range(ATTEMPTS):
        if attempt:
            say(f"{len(left)} runs lost their process, and are made again")
        with closing(start(left)) as outcomes:  # so that nothing runs on if we are left
            for name, measured, error in outcomes:
                del left[name]
                if measured is None:
                    failed[name] = error
                    continue
                say(f"{name}: made, {total - len(left) - len(failed)} of {total}")
                yield name, measured
        if not left:
            break
    for name in (name for name in runs if name in failed):  # whichever was over first
        error = failed[name]
        assert error is not None
        error.add_note(f"in the run {name}")
        raise error
    if left:
        killed = f"the process of {', '.join(left)} was killed {ATTEMPTS} times"
        raise BadInput(f"{killed}: is there memory enough for it?")


# ---------------------------------------------------------------- processes of this machine


def processes(workers: int) -> Engine:
    """An engine that makes so many runs at once, each in a process of its own, through joblib.

    The cores are shared out. Two runs are equal to the last digit only with equally many threads, so that
    OMP_NUM_THREADS=1 gives the same numbers here and in turn.

    workers  processes, at least 1
    Raises BadInput for another number, or if joblib is not installed.
    """
    require_workers(workers)
    joblib = require_installed("joblib")
    threads = threads_of_each(workers)

    def start(runs: Runs) -> Generator[Outcome, None, None]:
        from joblib.externals.loky import get_reusable_executor
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        tasks = [joblib.delayed(made)(name, run, threads) for name, run in runs.items()]
        with joblib.parallel_config("loky", inner_max_num_threads=threads):
            outcomes = joblib.Parallel(workers, return_as="generator_unordered", batch_size=1)(tasks)
            try:
                for outcome in outcomes:  # noqa: UP028 (it would be closed where its warning is heard)
                    yield outcome
            except TerminatedWorkerError:
                return  # those that are left are begun again
            finally:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # that the rest is not made: it is what we mean
                    outcomes.close()
                get_reusable_executor().shutdown(wait=True, kill_workers=True)

    return lambda runs: until_made(runs, start)


# ---------------------------------------------------------------- a cluster


def cluster(kind: str, folder: Path, workers: int = 1, options: Mapping[str, Any] | None = None) -> Engine:
    """An engine that makes each run as a job of a cluster, through submitit.

    kind     "slurm", or "local" for processes of this machine that are started in the same way
    folder   where jobs and their logs are kept; all nodes must see it
    workers  jobs that are under way at once
    options  of submitit, by name: slurm_partition, timeout_min, cpus_per_task, ...
    Raises BadInput for another kind, number or option, or if submitit is not installed.
    """
    require_workers(workers)
    submitit = require_installed("submitit")
    try:
        executor = submitit.AutoExecutor(folder=str(folder), cluster=kind)
        executor.update_parameters(**{"timeout_min": MINUTES, **(options or {})})
    except Exception as error:  # submitit's own checks: another kind or option, no Slurm here
        raise BadInput(f"cluster ({kind}): {error}") from error
    threads = int((options or {}).get("cpus_per_task", 0)) or threads_of_each(workers)

    def start(runs: Runs) -> Generator[Outcome, None, None]:
        waiting, jobs = list(runs.items()), list[Any]()
        try:
            while waiting or jobs:
                while waiting and len(jobs) < workers:
                    name, run = waiting.pop(0)
                    jobs.append(executor.submit(made, name, run, threads))
                time.sleep(POLL_SECONDS)
                over = [job for job in jobs if job.done()]
                jobs = [job for job in jobs if job not in over]
                yield from (job.result() for job in over if job.exception() is None)
        finally:
            for job in jobs:
                job.cancel()
            end = time.monotonic() + CANCEL_SECONDS
            while time.monotonic() < end and not all(job.done() for job in jobs):
                time.sleep(POLL_SECONDS)

    return lambda runs: until_made(runs, start)
