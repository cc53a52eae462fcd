"""Runs side by side are the runs in turn: the same numbers, whoever finishes first, whoever is killed."""

import builtins
import os
import signal
import time
from pathlib import Path

import pytest
import submitit
import torch

from babygpt import device
from babygpt.config import TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.errors import BadInput
from babygpt.objectives import NextToken
from babygpt_course.studies import spread
from babygpt_course.studies.spread import cluster, processes
from babygpt_course.studies.sweep import kept_runs, made_by, small_config, sweep, train_from_seed

ENGINES = ("processes", "jobs")


@pytest.fixture
def engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> spread.Engine:
    """Two workers: processes of this machine, or jobs that submitit's local executor starts."""
    monkeypatch.setattr(submitit.Job, "_results_timeout_s", 1)  # for which a lost one's answer is waited
    return processes(2) if request.param == "processes" else cluster("local", tmp_path / "jobs", 2)


def both(test):
    return pytest.mark.parametrize("engine", ENGINES, indirect=True)(test)


@both
def test_numbers_and_their_order_are_those_of_runs_in_turn(
    engine: spread.Engine, capfd: pytest.CaptureFixture[str]
) -> None:
    corpus = load_corpus("plain-tales", 9_000)
    config, objective = small_config(corpus, 16), NextToken(corpus, 16)

    def run(version: str, seed: int) -> dict[str, object]:
        time.sleep(0.5 if version == "v4" else 0.0)  # the first one asked for is not the first one made
        model, history = train_from_seed(version, config, objective, TrainConfig(steps=3, seed=seed))
        return {"losses": [step.loss for step in history], "head": model.head.weight.sum().item()}

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as many as each worker has
    try:
        in_turn = sweep(("v4", "v3"), (1, 2), run)
        assert "it/s" in capfd.readouterr().err  # a bar
        with made_by(engine):
            spread_out = sweep(("v4", "v3"), (1, 2), run)
    finally:
        torch.set_num_threads(threads)
    printed = capfd.readouterr()
    assert "it/s" not in printed.err
    assert printed.out.splitlines()[-1].endswith("made, 4 of 4")
    assert list(spread_out) == list(in_turn)
    assert spread_out == in_turn


@pytest.mark.survives(
    "kill -9 of a worker, or of a job of a cluster, during a study",
    "its run is made again, to the same numbers",
)
@both
def test_a_killed_run_is_made_again(engine: spread.Engine, tmp_path: Path) -> None:
    killed = tmp_path / "killed"

    def run(variant: str, seed: int) -> dict[str, int]:
        if variant == "b" and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return {"pid": os.getpid(), "value": len(variant) + seed}

    with made_by(engine):
        found = sweep(("a", "b"), (1,), run)
    assert killed.exists()
    assert {name: each["value"] for name, each in found.items()} == {"a": [2], "b": [2]}
    assert all(os.getpid() not in each["pid"] for each in found.values())


@both
def test_a_run_that_is_always_killed_is_named_and_takes_no_neighbour_along(
    engine: spread.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, counted = tmp_path / "kept.json", tmp_path / "counted"
    counted.mkdir()

    def run(variant: str, seed: int) -> dict[str, int]:
        if variant == "b":
            os.kill(os.getpid(), signal.SIGKILL)
        (counted / f"{variant}{seed}").touch(exist_ok=False)  # made once
        time.sleep(1.0)  # during which the other one is killed
        return {"value": seed}

    monkeypatch.setattr(spread, "ATTEMPTS", 2)
    said = r"the process of 'b', seed 1 was lost 2 times\. (Is there memory|Was it out of memory, or of time)"
    with pytest.raises(BadInput, match=said) as caught, made_by(engine), kept_runs(path):
        sweep(("b", "a"), (1, 2), run)
    if "has what it said last" in str(caught.value):
        assert next(Path(word) for word in str(caught.value).split() if word.endswith(".err")).exists()
    with kept_runs(path):
        found = sweep(("a",), (1, 2), lambda *_: pytest.fail("it was made before"))
    assert found == {"a": {"value": [1, 2]}}


def test_one_worker_is_a_process_too() -> None:
    with made_by(processes(1)):
        found = sweep(("a",), (1, 2), lambda *_: {"pid": os.getpid()})
    assert os.getpid() not in found["a"]["pid"]
    assert len(set(found["a"]["pid"])) == 1  # which begins once: PyTorch takes seconds to load


def test_a_job_s_folder_is_its_own_and_goes_with_it(tmp_path: Path) -> None:
    engine, seen = cluster("local", tmp_path / "jobs"), []
    for _ in range(2):
        with made_by(engine):
            found = sweep(("a",), (1,), lambda *_: {"in": os.environ["SUBMITIT_FOLDER"]})
        seen += found["a"]["in"]
    assert len(set(seen)) == 2
    assert not list((tmp_path / "jobs").iterdir())


def test_a_job_that_cannot_begin_is_told_and_is_not_tried_again(tmp_path: Path, monkeypatch) -> None:
    module = tmp_path / "only_here.py"
    module.write_text("def run(*_):\n    return {}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here  # type: ignore[import-not-found]

    module.unlink()  # as on a node that has another environment
    monkeypatch.setattr(spread, "ATTEMPTS", 1)
    with (
        pytest.raises(RuntimeError, match="No module named 'only_here'"),
        made_by(cluster("local", tmp_path)),
    ):
        sweep(("a",), (1,), only_here.run)


@both
def test_an_error_has_the_name_of_its_run_and_takes_no_other_along(
    engine: spread.Engine, tmp_path: Path
) -> None:
    path = tmp_path / "kept.json"

    def run(variant: str, seed: int) -> dict[str, int]:
        if variant == "a":
            raise BadInput("no such thing")
        return {"value": seed}

    with pytest.raises(BadInput, match="no such thing") as caught, made_by(engine), kept_runs(path):
        sweep(("a", "b"), (1, 2), run)
    assert caught.value.__notes__ == ["in the run 'a', seed 1"]
    with kept_runs(path):
        found = sweep(("b",), (1, 2), lambda *_: pytest.fail("it was made before"))
    assert found == {"b": {"value": [1, 2]}}


@pytest.mark.parametrize("engine", ["processes"], indirect=True)
def test_an_error_that_cannot_travel_is_told_in_words(engine: spread.Engine) -> None:
    class Local(Exception):
        def __init__(self, one: int, two: int) -> None:
            super().__init__(f"{one} and {two}")

    def run(variant: str, seed: int) -> dict[str, int]:
        raise Local(1, 2)

    with pytest.raises(RuntimeError, match=r"Local\('1 and 2'\)"), made_by(engine):
        sweep(("a",), (1,), run)


@pytest.mark.survives(
    "a full disk during a study in several processes", "what is kept stays; it goes on later"
)
@both
def test_nothing_runs_on_when_what_is_made_cannot_be_kept(
    engine: spread.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, writes = tmp_path / "kept.json", []
    from babygpt_course.studies import sweep as module

    write = module.write_atomically

    def write_once(path: Path, data: bytes) -> None:
        writes.append(data)
        if len(writes) > 1:
            raise OSError(28, "No space left on device")
        write(path, data)

    def run(variant: str, seed: int) -> dict[str, int]:
        time.sleep(0.2 * seed)
        (tmp_path / f"made {seed}").touch()
        return {"value": seed}

    monkeypatch.setattr(module, "write_atomically", write_once)
    with pytest.raises(OSError, match="No space left"), made_by(engine), kept_runs(path):
        sweep(("a",), range(1, 40), run)
    made = len(list(tmp_path.glob("made *")))
    assert made < 39
    monkeypatch.setattr(module, "write_atomically", write)
    with kept_runs(path):
        calls: list[int] = []
        found = sweep(("a",), (1, 2, 3), lambda _, seed: calls.append(seed) or {"value": seed})
    assert found == {"a": {"value": [1, 2, 3]}}
    assert len(calls) == 2
    assert len(list(tmp_path.glob("made *"))) <= made + 2  # those under way, at most


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("workers", [0, -1, 100_000])
def test_numbers_of_workers_that_cannot_be_started_are_refused(workers: int, tmp_path: Path) -> None:
    for make in (processes, lambda n: cluster("local", tmp_path, n)):
        with pytest.raises(BadInput, match=rf"workers \({workers}\) must lie between 1 and"):
            make(workers)


@pytest.mark.parametrize("option", ["not_an_option", "cpus_per_task", "slurm_partition"])
def test_options_that_would_change_nothing_are_refused(option: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=rf"cluster \(local\): .*{option}"):
        cluster("local", tmp_path, 1, {option: 3})


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Slurm that writes down what it is given, and refuses it."""
    commands = tmp_path / "bin"
    commands.mkdir()
    refuse = f'cp "$1" {tmp_path}/given.sh; echo "Requested time limit is invalid" >&2; exit 1'
    for name, script in (("sbatch", refuse), ("srun", "exit 1")):
        (commands / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "given.sh"


def test_what_slurm_refuses_is_told_in_its_words(slurm: Path, tmp_path: Path) -> None:
    engine = cluster("slurm", tmp_path / "jobs", 2, {"slurm_partition": "short"})
    with pytest.raises(BadInput, match=r"cluster \(slurm\): .*time limit is invalid"), made_by(engine):
        sweep(("a",), (1,), lambda *_: {})
    given = slurm.read_text(encoding="utf-8")
    assert "--cpus-per-task=1\n" in given  # or a job has as many threads as the machine it was sent from
    assert "--partition=short\n" in given


def test_a_job_takes_the_cores_it_was_given_or_the_threads_somebody_chose(monkeypatch) -> None:
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(device, "bound_cores", lambda: 64)
    monkeypatch.setattr(spread, "available_cores", lambda: 64)
    monkeypatch.setattr(spread.torch, "get_num_threads", lambda: 64)
    assert spread.threads_of_job() == 1
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "4")
    assert spread.threads_of_job() == 4
    monkeypatch.setattr(spread, "available_cores", lambda: 2)
    assert spread.threads_of_job() == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(spread.torch, "get_num_threads", lambda: 1)
    assert spread.threads_of_job() == 1


@pytest.mark.parametrize("package", ["joblib", "submitit"])
def test_a_package_that_is_missing_is_named(package: str, tmp_path: Path, monkeypatch) -> None:
    there = builtins.__import__

    def gone(name: str, *rest: object) -> object:
        if name == package:
            raise ImportError(name)
        return there(name, *rest)

    monkeypatch.setattr(builtins, "__import__", gone)
    with pytest.raises(BadInput, match=rf"{package} is not installed: pip install"):
        processes(1) if package == "joblib" else cluster("local", tmp_path)


@pytest.mark.parametrize(("cores", "workers", "each"), [(8, 2, 4), (8, 3, 2), (2, 4, 1), (1, 1, 1)])
def test_cores_are_shared_out(cores: int, workers: int, each: int, monkeypatch) -> None:
    monkeypatch.setattr(spread, "available_cores", lambda: cores)
    monkeypatch.setattr(spread.torch, "get_num_threads", lambda: cores)
    assert spread.threads_of_each(workers) == each
