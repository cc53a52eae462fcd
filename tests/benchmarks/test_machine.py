"""A result says on which machine it was found, and not whose machine that is."""

import getpass
import os
import platform
from pathlib import Path

import pytest
import torch

from benchmarks.machine import describe_machine, processor_name


def test_a_machine_is_described_by_what_matters_for_speed() -> None:
    machine = describe_machine()
    parts = {"processor", "cores", "threads", "instructions", "device", "system", "python", "torch"}
    assert set(machine) == parts
    assert all(machine.values())
    assert machine["threads"] == torch.get_num_threads()
    assert machine["torch"] == torch.__version__
    assert machine["device"] == "cpu"


def test_no_host_no_user_and_no_path_is_in_it() -> None:
    machine = {key: str(value) for key, value in describe_machine().items()}
    assert platform.node() not in machine.values()
    assert getpass.getuser() not in machine.values()
    assert not any(os.sep in value for key, value in machine.items() if key != "processor")


@pytest.mark.parametrize(
    ("content", "name"),
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
def test_the_processor_is_named_as_linux_names_it(tmp_path: Path, content: str, name: str) -> None:
    (tmp_path / "cpuinfo").write_text(content)
    assert processor_name(tmp_path / "cpuinfo") == name
