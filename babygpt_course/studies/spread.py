"""Where the runs of a sweep are made: one after the other, in processes of this machine, or on a cluster.

An engine takes runs by name and yields what each measured as soon as it is over, in any order. A run that
loses its process is made again, and takes no other along. One that fails is left out until all others are
over, so that whoever keeps what is yielded keeps those; then its error is raised.
"""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import torch

from babygpt.device import threads_were_chosen
from babygpt.errors import BadInput
from babygpt.quotas import available_cores
from babygpt.screen import echo
from babygpt.training.records import QUIET

Measured = Mapping[str, Any]
Run = Callable[[], Measured]
Runs = Mapping[str, Run]
Finished = Generator[tuple[str, Measured], None, None]
Engine = Callable[[Runs], Finished]

ATTEMPTS = 3  # at a run whose process is lost
MINUTES = 24 * 60  # that a job of a cluster may take, unless its options say otherwise
CANCEL_SECONDS = 20.0  # that jobs are given to end when nobody waits for them any more
IDLE_SECONDS = 10  # after which a process without work ends: whoever was to give it some may be gone
POLL_SECONDS = 0.1  # between two looks at what is under way
MOST_WORKERS = 1024


class Outcome(NamedTuple):
    """What became of a run: what it measured, or its error."""

    measured: Measured | None
    error: Exception | None


class Lost(Exception):
    """A process ended and left no outcome; the message says where more is to be read, if anywhere."""


class Attempt(NamedTuple):
    """A run that is under way.

    over     whether it has ended, one way or the other
    outcome  what became of it; raises Lost
    """

    over: Callable[[], bool]
    outcome: Callable[[], Outcome]


def in_turn(runs: Runs) -> Finished:
    """Make one run after the other in this process; an error ends it at once."""
    for name, run in runs.items():
        yield name, run()


def made(run: Run, threads: int | None) -> Outcome:
    """Make a run in a process of its own, without a progress bar.

    threads  of PyTorch; None for as many as a job may have, which only the job itself can find out
    """
    torch.set_num_threads(threads or threads_of_job())
    QUIET.set(True)  # bars of several processes would write over each other
    try:
        return Outcome(run(), None)
    except Exception as error:
        return Outcome(None, error if survives_pickling(error) else RuntimeError(repr(error)))


def survives_pickling(error: Exception) -> bool:
    """Whether another process can be given an error as it is."""
    try:
        return isinstance(pickle.loads(pickle.dumps(error)), type(error))
    except Exception:
        return False


def threads_of_each(workers: int) -> int:
    """How many threads each of several workers takes: those that a process alone would take, shared out."""
    return max(1, min(torch.get_num_threads(), available_cores() // workers))


def threads_of_job() -> int:
    """How many threads a job of Slurm takes: those somebody chose, or one for each core it was given."""
    if threads_were_chosen():
        return torch.get_num_threads()
    return min(available_cores(), int(os.environ.get("SLURM_CPUS_PER_TASK", "1")))


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


def until_made(runs: Runs, workers: int, start: Callable[[Run], Attempt]) -> Finished:
    """Have runs made, so many at once, and those whose process is lost again.

    start  begins a run
    Raises the error of the first run that failed, in the order asked, with the run's name, once all others
    are over; for one that loses its process ATTEMPTS times that is a BadInput.
    """
    waiting, under_way = list(runs), dict[str, Attempt]()
    begun, failed, n_made = Counter[str](), dict[str, Exception](), 0
    while waiting or under_way:
        while waiting and len(under_way) < workers:
            name = waiting.pop(0)
            begun[name] += 1
            under_way[name] = start(runs[name])
        time.sleep(POLL_SECONDS)
        for name in [name for name, attempt in under_way.items() if attempt.over()]:
            try:
                measured, error = under_way.pop(name).outcome()
            except Lost as lost:
                if begun[name] < ATTEMPTS:
                    echo(f"{name}: lost its process, and is made again")
                    waiting.append(name)
                else:
                    failed[name] = BadInput(f"the process of {name} was lost {ATTEMPTS} times. {lost}")
                continue
            if measured is None:
                assert error is not None
                error.add_note(f"in the run {name}")
                failed[name] = error
                continue
            n_made += 1
            echo(f"{name}: made, {n_made} of {len(runs)}")
            yield name, measured
    for name in runs:
        if name in failed:
            raise failed[name]


# ---------------------------------------------------------------- processes of this machine


def processes(workers: int) -> Engine:
    """An engine that makes so many runs at once, each in a process of its own, by joblib's loky.

    The cores are shared out. Two runs are equal to the last digit only with equally many threads, so that
    OMP_NUM_THREADS=1 gives the same numbers here and in turn.

    workers  processes, at least 1
    Raises BadInput for another number, or if joblib is not installed.
    """
    require_workers(workers)
    require_installed("joblib")
    threads = threads_of_each(workers)

    def engine(runs: Runs) -> Finished:
        with single_processes(threads) as start:
            yield from until_made(runs, workers, start)

    return engine


@contextmanager
def single_processes(threads: int) -> Iterator[Callable[[Run], Attempt]]:
    """What begins runs in pools of one process each: whoever is killed takes no neighbour along."""
    from joblib.externals.loky import ProcessPoolExecutor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    idle, all_pools = list[Any](), list[Any]()

    def new_pool() -> Any:
        pool = ProcessPoolExecutor(
            1,
            timeout=IDLE_SECONDS,
            env={"OMP_NUM_THREADS": str(threads)},
            initializer=signal.signal,  # Ctrl-C is for the one who waits; he ends them
            initargs=(signal.SIGINT, signal.SIG_IGN),
        )
        all_pools.append(pool)
        return pool

    def start(run: Run) -> Attempt:
        pool = idle.pop() if idle else new_pool()
        future = pool.submit(made, run, threads)

        def outcome() -> Outcome:
            try:
                found: Outcome = future.result()
            except BrokenProcessPool:
                raise Lost("Is there memory enough for it?") from None
            idle.append(pool)
            return found

        return Attempt(future.done, outcome)

    try:
        yield start
    finally:
        for pool in all_pools:
            pool.shutdown(wait=True, kill_workers=True)


# ---------------------------------------------------------------- a cluster


def cluster(kind: str, folder: Path, workers: int = 1, options: Mapping[str, Any] | None = None) -> Engine:
    """An engine that makes each run as a job of a cluster, by submitit.

    kind     "slurm", or "local" for processes of this machine that are started in the same way
    folder   where jobs are written down, and leave what they print; all nodes must see it
    workers  jobs that are under way at once
    options  of submitit, by name: slurm_partition, timeout_min, cpus_per_task, ...; local takes timeout_min
    Raises BadInput for another kind, number or option, or if submitit is not installed.
    """
    require_workers(workers)
    submitit = require_installed("submitit")
    options = dict(options or {})
    if kind == "local" and (unknown := [name for name in options if name != "timeout_min"]):
        raise BadInput(f"cluster (local): it takes timeout_min alone, and not {', '.join(unknown)}")
    given = {"timeout_min": MINUTES, **({} if kind == "local" else {"cpus_per_task": 1}), **options}

    def executor_in(where: Path) -> Any:
        try:
            executor = submitit.AutoExecutor(folder=str(where), cluster=kind)
            executor.update_parameters(**given)
        except Exception as error:  # submitit's own checks: another kind or option, no Slurm here
            raise BadInput(f"cluster ({kind}): {error}") from error
        return executor

    executor_in(folder)  # what it refuses it refuses now
    threads = threads_of_each(workers) if kind == "local" else None

    def engine(runs: Runs) -> Finished:
        folder.mkdir(parents=True, exist_ok=True)
        # A folder of its own, for jobs are numbered: an earlier one's answer is not to be taken for theirs.
        where = Path(tempfile.mkdtemp(prefix=time.strftime("%Y-%m-%d-%H%M-"), dir=folder))
        with jobs(executor_in(where), kind, threads) as start:
            yield from until_made(runs, workers, start)
        with suppress(OSError):  # what jobs without an outcome have left
            where.rmdir()

    return engine


@contextmanager
def jobs(executor: Any, kind: str, threads: int | None) -> Iterator[Callable[[Run], Attempt]]:
    """What begins runs as jobs; those that are not over at the end are cancelled."""
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    begun: list[Any] = []

    def start(run: Run) -> Attempt:
        try:
            job = executor.submit(made, run, threads)
        except (FailedJobError, FailedSubmissionError) as error:
            raise BadInput(f"cluster ({kind}): {str(error).strip()}") from None
        begun.append(job)

        def outcome() -> Outcome:
            begun.remove(job)
            error = job.exception()
            if isinstance(error, FailedJobError):  # before or after `made`: no environment there, a full disk
                return Outcome(None, RuntimeError(str(error)))
            if error is not None:
                raise Lost(f"Was it out of memory, or of time? {job.paths.stderr} has what it said last")
            found: Outcome = job.result()
            for path in files_of(job):
                path.unlink(missing_ok=True)
            return found

        return Attempt(job.done, outcome)

    try:
        yield start
    finally:
        for job in begun:
            job.cancel()
        end = time.monotonic() + CANCEL_SECONDS
        while time.monotonic() < end and not all(job.done() for job in begun):
            time.sleep(POLL_SECONDS)


def files_of(job: Any) -> tuple[Path, ...]:
    """What a job leaves in its folder: megabytes, where a run brings its corpus along."""
    paths = job.paths
    written = (paths.submission_file, paths.submitted_pickle, paths.result_pickle)
    return *written, paths.stdout, paths.stderr
