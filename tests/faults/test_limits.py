"""A disk that is full and a memory that is too small: one line, and what was saved stands."""

import pytest

from tests.faults.table import TABLE, TRAINS

STARVE = ("tests.faults.small", "starve")


SECOND = [(name, 2) for name in TRAINS if name != "compare stretch"]  # which writes but one file


@pytest.mark.parametrize(("name", "nth"), [*SECOND, ("compare stretch", 1), ("train", 1), ("train", 4)])
@pytest.mark.survives(
    "the disk is full, from one file on of those that it writes",
    "one line says so; what was saved stands, and the same command goes on when there is room",
)
def test_a_full_disk(stopped, whole, name, nth):
    """The steps since the last checkpoint are lost, and no others."""
    ended, steps = stopped(name, failing=[("fsync", nth, "ENOSPC")])
    assert ended.status == 1, ended
    assert "No space left on device" in ended.line, ended
    assert ended.err.count("Error: ") == 1
    assert steps <= whole(name).steps + TABLE[name].every


@pytest.mark.parametrize("name", ["train", "compare generation"])
def test_files_that_may_not_grow(stopped, name):
    """No stand-in for the disk: the system itself stops the writing of a checkpoint half-way."""
    ended, _ = stopped(name, limits={"RLIMIT_FSIZE": 5_000})
    assert ended.status == 1
    assert "File too large" in ended.line, ended


@pytest.mark.parametrize("name", TRAINS)
@pytest.mark.survives(
    "the memory does not do for a step in the middle of training",
    "one line says so, and where the last checkpoint stands; the same command goes on from there",
)
def test_out_of_memory(stopped, whole, name):
    ended, steps = stopped(name, before=[STARVE])
    assert ended.status == 1
    assert "out of memory" in ended.line, ended
    assert ended.err.count("Error: ") == 1
    assert steps <= whole(name).steps + TABLE[name].every
