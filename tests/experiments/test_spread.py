"""Runs side by side are the runs in turn: the same numbers, whoever finishes first, whoever is killed."""

import builtins
import os
import signal
import time
from pathlib import Path

import pytest
import torch

from babygpt.config import TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.errors import BadInput
from babygpt.experiments import spread
from babygpt.experiments.spread import cluster, processes
from babygpt.experiments.sweep import kept_runs, made_by, small_config, sweep, train_from_seed
from babygpt.objectives import NextToken

ENGINES = ("processes", "jobs")


@pytest.fixture
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> spread.Engine:
    """Two workers: processes of this machine, or jobs that submitit's local executor starts."""
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


@pytest.mark.parametrize("engine", ["processes"], indirect=True)
def test_a_run_that_is_always_killed_is_named_and_the_others_are_kept(
    engine: spread.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, counted = tmp_path / "kept.json", tmp_path / "counted"
    counted.mkdir()

    def run(variant: str, seed: int) -> dict[str, int]:
        if variant == "b":
            time.sleep(1.0)  # so that the other is over
            os.kill(os.getpid(), signal.SIGKILL)
        (counted / f"{variant}{seed}").touch(exist_ok=False)  # made once
        return {"value": seed}

    monkeypatch.setattr(spread, "ATTEMPTS", 2)
    said = r"the process of 'b', seed 1 was killed 2 times"
    with pytest.raises(BadInput, match=said), made_by(engine), kept_runs(path):
        sweep(("a", "b"), (1,), run)
    with kept_runs(path):
        assert sweep(("a",), (1,), lambda *_: pytest.fail("it was made before")) == {"a": {"value": [1]}}


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
    from babygpt.experiments import sweep as module

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


def test_options_that_a_cluster_does_not_know_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cluster \(local\): .*not_an_option"):
        cluster("local", tmp_path, 1, {"not_an_option": 3})


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
