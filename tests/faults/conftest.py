"""What the tests of faults share: the process that forks, what commands read, and undisturbed runs."""

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.faults.harness import Ended, Faults, Server, serving
from tests.faults.outcome import Whole, disturb, make_desk, undisturbed
from tests.faults.table import TABLE

if sys.platform != "linux":
    collect_ignore_glob = ["test_*.py"]  # they need /proc, /dev/full and fork


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def desk(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text and small models, which commands read and never write to."""
    folder = tmp_path_factory.mktemp("desk")
    make_desk(server, folder)
    return folder


@pytest.fixture(scope="session")
def whole(server: Server, desk: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Whole]:
    """What a command of the table is when nobody disturbs it."""
    return cache(lambda name: undisturbed(server, TABLE[name], desk, tmp_path_factory.mktemp("whole")))


@pytest.fixture
def stopped(
    server: Server, desk: Path, whole: Callable[[str], Whole], tmp_path: Path
) -> Callable[..., tuple[Ended, int]]:
    """Run a command into these faults, then go on undisturbed: how it ended, and the steps made in all.

    Looks that what stands meanwhile can be read, and that in the end all is as if nothing had happened.
    """

    def stop(name: str, **faults: Any) -> tuple[Ended, int]:
        command, folder, log = TABLE[name], tmp_path / "work", tmp_path / "steps"
        folder.mkdir()
        planted = Faults(**faults)
        ended, wrong = disturb(server, command, desk, folder, whole(name), [planted], log)
        assert wrong == [], ended
        return ended[0], len(log.read_bytes())

    return stop
