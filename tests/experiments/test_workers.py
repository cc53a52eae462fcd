"""Workers: runs side by side give the numbers of runs in turn, and a crash loses one run only."""

import os
import signal
import sys
import time

import pytest
import torch
from click.testing import CliRunner

from babygpt.cli import main
from babygpt.errors import BadInput
from babygpt.experiments import workers as module
from babygpt.experiments.sweep import keep_runs, sweep
from babygpt.experiments.workers import cluster, processes
from babygpt.packages import install_command, requirements


@pytest.fixture(params=["processes", "jobs"])
def two(request, tmp_path, monkeypatch):
    """Return two workers: processes of this machine, or jobs that submitit's local executor starts."""
    if request.param == "processes":
        return processes(2)
    submitit = pytest.importorskip("submitit")
    monkeypatch.setattr(submitit.Job, "_results_timeout_s", 1)  # a lost job's answer is waited for so long
    return cluster("local", tmp_path / "jobs", 2)


def test_a_killed_run_is_named_and_loses_no_other_run(two, tmp_path):
    path, calls = tmp_path / "kept.json", []

    def run(variant, seed):
        if variant == "b" and seed == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(1.0 if seed == 1 else 0.0)  # during which the other one is killed
        return {"pid": os.getpid(), "threads": torch.get_num_threads(), "value": torch.ones(2).sum().item()}

    with pytest.raises(BadInput, match="'b', seed 1 failed, and the same command makes it again"):
        sweep(("b", "a"), (1, 2), run, keep_runs(path, two))

    def again(variant, seed):
        calls.append((variant, seed))
        return {"pid": 0, "threads": 1, "value": 2.0}

    columns = sweep(("b", "a"), (1, 2), again, keep_runs(path))
    assert calls == [("b", 1)]
    assert {name: each["value"] for name, each in columns.items()} == {"b": [2.0, 2.0], "a": [2.0, 2.0]}
    pids = [*columns["a"]["pid"], columns["b"]["pid"][1]]
    assert len({*pids, os.getpid()}) == 4  # each run has a process of its own
    assert set(columns["a"]["threads"]) == {module.threads_of_each(2)}


def test_a_sweep_stops_when_a_run_cannot_be_stored(tmp_path, monkeypatch):
    def run(variant, seed):
        (tmp_path / f"made {seed}").touch()
        return {"value": seed}

    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("babygpt.experiments.sweep.write_atomically", full)
    with pytest.raises(OSError, match="No space left"):
        sweep(("a",), range(1, 20), run, keep_runs(tmp_path / "kept.json", processes(1)))
    assert len(list(tmp_path.glob("made *"))) <= 2  # the first one, and one under way


def test_a_missing_submitit_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    result = CliRunner().invoke(main, ["figures", "names", "--cluster", "local"])
    assert result.exit_code == 1
    words = "Error: submitit is not installed, and comes with the extra `sweep`: run `"
    assert result.stderr == f"{words}{install_command('sweep', requirements('sweep'))}`\n"


@pytest.mark.parametrize(("cores", "workers", "each"), [(8, 2, 4), (8, 3, 2), (2, 4, 1), (1, 1, 1)])
def test_cores_are_divided_among_workers(cores, workers, each, monkeypatch):
    monkeypatch.setattr(module, "cpu_count", lambda: cores)
    monkeypatch.setattr(module.torch, "get_num_threads", lambda: cores)
    assert module.threads_of_each(workers) == each
