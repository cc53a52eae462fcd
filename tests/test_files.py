"""Files are written whole and by one process at a time; the commands' own faults are in tests/faults."""

import os
import stat
from pathlib import Path

import pytest

from babygpt.errors import BadInput
from babygpt.files import PART, file_lock, hidden_sibling, require_writable, write_atomically


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ---------------------------------------------------------------- one writer


def test_a_link_and_its_file_have_one_lock(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with (
        file_lock(tmp_path / "a"),
        pytest.raises(BadInput, match="being written by"),
        file_lock(tmp_path / "link"),
    ):
        pass
    assert names(tmp_path) == ["link"]


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
