"""A result tells on which machine it was found, and not whose machine that is."""

import getpass
import json
import os
import platform
from pathlib import Path

import pytest
import torch

import benchmarks as bench
from benchmarks.machine import named, processor


def test_a_machine_is_named_by_what_matters_for_speed() -> None:
    found = bench.machine()
    parts = {"processor", "cores", "threads", "instructions", "device", "system", "python", "torch"}
    assert set(found) == parts
    assert all(found.values())
    assert found["threads"] == torch.get_num_threads()
    assert found["torch"] == torch.__version__
    assert found["device"] == "cpu"


def test_it_tells_no_host_no_user_and_no_path() -> None:
    found = [str(value) for value in bench.machine().values()]
    assert platform.node() not in found
    assert getpass.getuser() not in found
    assert not any(os.sep in value for value in found if value != processor())


@pytest.mark.parametrize(
    ("said", "name"),
    [
        (
            "processor\t: 0\nmodel name\t: Fast 9000 @ 3 GHz: new\nmodel name\t: other\n",
            "Fast 9000 @ 3 GHz: new",
        ),
        ("processor\t: 0\nBogoMIPS\t: 48.00\n", ""),  # as on ARM
        ("", ""),
    ],
    ids=["named", "unnamed", "empty"],
)
def test_the_processor_is_named_as_linux_names_it(tmp_path: Path, said: str, name: str) -> None:
    (tmp_path / "cpuinfo").write_text(said)
    assert named(tmp_path / "cpuinfo") == name


def test_results_are_kept_in_place_of_the_last_ones(tmp_path: Path) -> None:
    bench.store("step", {"ms": 1.5}, tmp_path / "figures")
    path = bench.store("step", {"ms": 2.5, "machine": bench.machine()}, tmp_path / "figures")
    assert path == tmp_path / "figures" / "bench_step.json"
    assert json.loads(path.read_text()) == {"ms": 2.5, "machine": bench.machine()}
    assert list(path.parent.iterdir()) == [path]
