"""A quota of one core: whom it is compared with, and the group that is made for it."""

import os
import sys
from pathlib import Path

import pytest

from babygpt.errors import BadInput
from benchmarks import quota


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where control groups are; a group of the system goes with its files, and so does one here."""
    monkeypatch.setattr(Path, "rmdir", lambda group: [*map(os.unlink, group.iterdir()), os.rmdir(group)])
    top = tmp_path / "sys/fs/cgroup"
    top.mkdir(parents=True)
    return top


@pytest.mark.parametrize(
    ("top", "files"),
    [
        ("", {"cpu.max": "100000 100000"}),
        ("cpu", {"cpu.cfs_quota_us": "100000", "cpu.cfs_period_us": "100000"}),
    ],
)
def test_a_group_of_one_core_is_made_and_removed(
    top: str, files: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    (folder / top).mkdir(exist_ok=True)
    with quota.group_of_one_core(tmp_path) as group:
        assert group.parent == folder / top
        assert {path.name: path.read_text() for path in group.iterdir()} == files
    assert not group.exists()


@pytest.mark.parametrize("top", ["", "sys/fs/cgroup/cpu"])
def test_whoever_may_make_no_group_is_told(top: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no folder for it, and where the group has no such limit."""
    (tmp_path / top).mkdir(parents=True, exist_ok=True)

    def refuse(*_: object) -> None:
        raise PermissionError("not permitted")

    monkeypatch.setattr(quota, "allow_one_core", refuse)
    with (
        pytest.raises(BadInput, match="control group of one core is needed"),
        quota.group_of_one_core(tmp_path),
    ):
        pass
    assert not [*tmp_path.rglob("babygpt-*")]


def test_a_training_under_a_quota_is_compared_with_one_core(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = {(False, "1"): [20.0, 50.0, 30.0], (True, ""): [28.0, 29.0, 27.0], (True, "6"): [9.0, 1.0, 12.0]}
    make = quota.group_of_one_core
    monkeypatch.setattr(quota, "group_of_one_core", lambda: make(tmp_path))
    monkeypatch.setattr(quota, "bound_cores", lambda: 6)
    monkeypatch.setattr(
        quota, "train_apart", lambda steps, group, threads: rates[group is not None, threads].pop()
    )
    assert quota.measure_quota(3, steps=7) == {
        "steps_per_second": {"one_core": 30.0, "quota": 28.0, "quota_all_threads": 9.0},
        "kept": 0.93,
        "kept_with_all_threads": 0.3,
    }


def test_a_training_has_the_threads_it_is_told_and_is_in_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    fake = tmp_path / "python"
    fake.write_text(f"#!{sys.executable}\nimport os, sys\nprint(os.environ.get('OMP_NUM_THREADS', 0))\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    assert [quota.train_apart(1, tmp_path, threads) for threads in ("", "3")] == [0, 3]
    monkeypatch.undo()
    assert quota.train_apart(1, tmp_path, "1") > 0
    assert (tmp_path / "cgroup.procs").read_text().isdecimal()


@pytest.mark.parametrize(("rounds", "steps", "cores"), [(1, 0, 4), (1, 5, 1), (0, 5, 4)])
def test_what_cannot_be_measured_is_refused(
    rounds: int, steps: int, cores: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = quota.group_of_one_core
    monkeypatch.setattr(quota, "group_of_one_core", lambda: make(tmp_path))
    monkeypatch.setattr(quota, "bound_cores", lambda: cores)
    with pytest.raises(BadInput, match="must be at least"):
        quota.measure_quota(rounds, steps)
