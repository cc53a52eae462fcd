"""Files are written whole and by one process at a time; the commands' own faults are in tests/faults."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from babygpt.errors import BadInput
from babygpt.files import LOCK, PART, file_lock, hidden_sibling, require_writable, write_atomically

HOLD = """
import sys, time
from pathlib import Path
from babygpt.files import file_lock
with file_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def holder(path: Path) -> subprocess.Popen:
    """Start another process that holds the lock of a file."""
    words = [sys.executable, "-c", HOLD, str(path)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ---------------------------------------------------------------- one writer


def test_a_second_process_is_refused_with_the_holders_name_and_a_lock_dies_with_it(tmp_path: Path):
    with holder(tmp_path / "a") as process:
        with pytest.raises(BadInput, match=f"process {process.pid} on .* since"), file_lock(tmp_path / "a"):
            pass
        process.kill()
    with file_lock(tmp_path / "a"):
        assert names(tmp_path) == [f".a{LOCK}"]
        assert str(os.getpid()) in (tmp_path / f".a{LOCK}").read_text()
    assert names(tmp_path) == []


def test_a_link_and_its_file_have_one_lock(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with (
        file_lock(tmp_path / "a"),
        pytest.raises(BadInput, match="being written by"),
        file_lock(tmp_path / "link"),
    ):
        pass


def test_folders_are_created_and_removed_again_if_they_stay_empty(tmp_path: Path):
    path = tmp_path / "x" / "y" / "a"
    require_writable(path)
    with file_lock(path):
        assert path.parent.is_dir()
    assert names(tmp_path) == []
    with file_lock(path):
        write_atomically(path, b"1")
    assert names(path.parent) == ["a"]


# ---------------------------------------------------------------- writing


def test_a_new_file_has_the_umasks_permissions(tmp_path: Path):
    path, before = tmp_path / "a", os.umask(0o027)
    try:
        write_atomically(path, b"1")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_an_error_keeps_the_old_file_and_a_killed_write_is_replaced(tmp_path: Path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    hidden_sibling(path, PART).write_bytes(b"half of a file that a killed process left")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space left on device; the earlier content is untouched"):
            write_atomically(path, b"new")
    assert (path.read_bytes(), names(tmp_path)) == (b"old", ["a"])
    write_atomically(path, b"new")
    assert (path.read_bytes(), names(tmp_path)) == (b"new", ["a"])


def test_a_link_is_followed(tmp_path: Path):
    path, target = tmp_path / "link", tmp_path / "elsewhere" / "a"
    path.symlink_to(target)
    for content in (b"0", b"1"):
        require_writable(path)
        write_atomically(path, content)
        assert path.is_symlink()
        assert target.read_bytes() == content


# ---------------------------------------------------------------- refusals


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_a_path_that_cannot_be_written_is_named(tmp_path: Path):
    for name in ("folder", "folder2"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    wrong = {
        "folder": "is a folder or a device",
        "file/below": "cannot be made: .*file is a file",
        "circle": "cannot be written",
        "n" * 256: "too long",
        "/dev/null": "is a folder or a device",
        "/proc/nowhere/a": "cannot be written",
    }
    for name, message in wrong.items():
        with pytest.raises(BadInput, match=message):
            require_writable(tmp_path / name)
    assert names(tmp_path) == ["circle", "file", "folder", "folder2"]
