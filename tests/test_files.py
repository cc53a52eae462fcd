"""One writer at a time, whole files, and who is told what; the commands' own faults are in tests/faults."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from babygpt.errors import BadInput
from babygpt.files import (
    LOCK,
    PART,
    InUse,
    claim,
    hidden_name,
    require_writable,
    write_atomically,
)

HOLD = """
import sys, time
from pathlib import Path
from babygpt.files import claim
with claim(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def holder(path: Path, seconds: float = 60.0) -> subprocess.Popen:
    """Another process that has claimed a file."""
    words = [sys.executable, "-c", HOLD, str(path), str(seconds)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ---------------------------------------------------------------- one writer


def test_a_claimed_file_is_refused_to_another_process_by_the_name_of_its_holder(tmp_path: Path) -> None:
    with holder(tmp_path / "a") as process:
        with pytest.raises(InUse, match=f"process {process.pid} on .* since"), claim(tmp_path / "a"):
            pass
        process.kill()


def test_a_lock_dies_with_its_process_and_leaves_nothing(tmp_path: Path) -> None:
    with holder(tmp_path / "a") as process:
        process.kill()
    assert left(tmp_path) == [f".a{LOCK}"]
    with claim(tmp_path / "a"):
        assert left(tmp_path) == [f".a{LOCK}"]
    assert left(tmp_path) == []


def test_who_waits_gets_the_file_when_the_other_is_done(tmp_path: Path) -> None:
    with holder(tmp_path / "a", 0.3), claim(tmp_path / "a", wait=60):
        assert str(os.getpid()) in (tmp_path / f".a{LOCK}").read_text()


def test_a_link_and_the_file_it_points_to_are_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with claim(tmp_path / "a"), pytest.raises(InUse), claim(tmp_path / "link"):
        pass


@pytest.mark.parametrize("name", ["a", "名" * 73, "a" * 255, "a*[b]?"])
def test_what_a_dead_process_left_is_removed_and_the_rest_is_not(tmp_path: Path, name: str) -> None:
    path, other = tmp_path / name, tmp_path / "another"
    mine = [tmp_path / hidden_name(path, f".0123456{i}{PART}") for i in range(2)]
    kept = [tmp_path / hidden_name(other, f".01234567{PART}"), tmp_path / f".{PART}", other]
    for file in (*mine, *kept):
        file.touch()
    with claim(path):
        assert not any(file.exists() for file in mine)
    assert all(file.exists() for file in kept)


def test_folders_are_made_and_those_that_stay_empty_go_again(tmp_path: Path) -> None:
    with claim(tmp_path / "x" / "y" / "a"):
        assert (tmp_path / "x" / "y").is_dir()
    assert left(tmp_path) == []
    (tmp_path / "x").mkdir()
    with claim(tmp_path / "x" / "y" / "a"):
        write_atomically(tmp_path / "x" / "y" / "a", b"1")
    assert left(tmp_path / "x" / "y") == ["a"]


COUNT = """
import sys
from pathlib import Path
from babygpt.files import claim, write_atomically
path = Path(sys.argv[1])
for _ in range(40):
    with claim(path, wait=120):
        write_atomically(path, str(int(path.read_text()) + 1).encode())
"""


def test_no_count_is_lost_among_four_processes(tmp_path: Path) -> None:
    """Each reads, adds one and writes; the lock files come and go meanwhile."""
    path = tmp_path / "count"
    path.write_text("0")
    many = [subprocess.Popen([sys.executable, "-c", COUNT, str(path)]) for _ in range(4)]
    assert [process.wait(120) for process in many] == [0] * 4
    assert path.read_text() == "160"
    assert left(tmp_path) == ["count"]


# ---------------------------------------------------------------- writing


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_the_umask_decides(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "a", b"1")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    path.chmod(0o640)
    write_atomically(path, b"1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("stands", [True, False])
def test_a_link_is_followed(tmp_path: Path, stands: bool) -> None:
    path, target = tmp_path / "link", tmp_path / "elsewhere" / "a"
    path.symlink_to(target)
    if stands:
        target.parent.mkdir()
        target.write_bytes(b"0")
    require_writable(path)
    write_atomically(path, b"1")
    assert path.is_symlink()
    assert target.read_bytes() == b"1"


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_refused(tmp_path: Path, make) -> None:
    make(tmp_path / "a")
    with pytest.raises(BadInput, match=r"is a (folder|device or a pipe), and a file is meant"):
        require_writable(tmp_path / "a")


@pytest.mark.parametrize("path", ["/dev/null", "/proc/a", "/dev/null/a"])
def test_what_the_system_keeps_for_itself_is_refused(path: str) -> None:
    with pytest.raises(BadInput, match=path):
        require_writable(Path(path))


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(BadInput, match="cannot be written"):
        require_writable(tmp_path / "a")


def test_names_of_any_length_that_the_system_takes_work_and_others_are_refused(tmp_path: Path) -> None:
    for length in (1, 200, 221, 247, 255):
        path = tmp_path / ("n" * length)
        require_writable(path)
        with claim(path):
            write_atomically(path, b"1")
        assert left(tmp_path) == [path.name]
        path.unlink()
    with pytest.raises(BadInput, match="too long"):
        require_writable(tmp_path / ("n" * 256))


def test_a_probe_leaves_nothing(tmp_path: Path) -> None:
    require_writable(tmp_path / "x" / "y" / "a")
    assert left(tmp_path) == []


def test_who_ends_does_not_remove_a_lock_that_is_another_process_s(tmp_path: Path) -> None:
    """Somebody has removed the first one's, and a second process has made one of its own."""
    note = tmp_path / f".a{LOCK}"
    with claim(tmp_path / "a"):
        note.unlink()
        second = holder(tmp_path / "a")
    with second:
        with pytest.raises(InUse, match=f"process {second.pid}"), claim(tmp_path / "a"):
            pass
        second.kill()


@pytest.mark.survives(
    "a folder on a file system that knows no locks", "a file that names the process stands for one"
)
def test_without_locks_of_the_system_a_file_stands_for_one(tmp_path: Path, monkeypatch) -> None:
    def missing(*_: object) -> None:
        raise OSError(errno.ENOSYS, "no locks here")

    monkeypatch.setattr("fcntl.flock", missing)
    with pytest.warns(UserWarning, match="flock"), claim(tmp_path / "a"), pytest.raises(InUse):  # noqa: SIM117
        with claim(tmp_path / "a"):
            pass
    assert left(tmp_path) == []
