"""A full disk, too little memory, and targets that cannot be written."""

import errno
import os
import re

import pytest

from babygpt.training.loop import Training
from tests.faults.conftest import contents, training_words


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Return the folder that a command is called in."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


# ---------------------------------------------------------------- disk and memory


def test_a_full_disk_gives_one_line_and_loses_no_checkpoint(run, desk, work, undisturbed, monkeypatch):
    calls, fsync = iter(range(100)), os.fsync

    def full(handle):
        if next(calls) > 2:  # the folder was probed, and steps 2 and 4 were saved
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        refused_after_step_4(run, desk, "No space left on device")
    resumed_as_if_undisturbed(run, desk, work, undisturbed)


def test_out_of_memory_gives_one_line_and_loses_no_checkpoint(run, desk, work, undisturbed, monkeypatch):
    make_step = Training.make_step

    def refuse(self, *args, **named):
        if self.step == 5:
            raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes.")
        return make_step(self, *args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "make_step", refuse)
        refused_after_step_4(run, desk, "you tried to allocate 9 bytes", "smaller batch_size")
    resumed_as_if_undisturbed(run, desk, work, undisturbed)


def refused_after_step_4(run, desk, *parts):
    result = run(*training_words("train", desk))
    assert result.exit_code == 1
    for part in (*parts, "the checkpoint of step 4 stands at m.safetensors"):
        assert part in result.output.splitlines()[-1]


def resumed_as_if_undisturbed(run, desk, work, undisturbed):
    assert run(*training_words("train", desk), "--resume").exit_code == 0
    assert contents(work) == undisturbed("train")


def test_a_batch_too_large_for_memory_is_refused_before_the_first_step(run, desk, work):
    result = run(*training_words("train", desk), "--batch-size", 10**12)
    assert result.exit_code == 1
    assert "1000000000000 windows (batch_size)" in result.output
    assert "GB of memory" in result.output
    assert list(work.iterdir()) == []


# ---------------------------------------------------------------- the terminal


def test_a_closed_stdout_gives_no_error(start, desk, tmp_path):
    """Close the reader early, as in `python -m babygpt generate ... | head -1`."""
    reader, writer = os.pipe()
    os.close(reader)
    words = ["generate", desk / "v4.safetensors", "--tokens", 4, "--prompt", "the"]
    process = start(tmp_path / "work", *words, stdout=writer)
    os.close(writer)
    assert process.communicate(timeout=60)[1] == ""


# ---------------------------------------------------------------- the target

OBSTACLES = {
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a link to a device": lambda path: path.symlink_to("/dev/null"),
    "a link to itself": lambda path: path.symlink_to(path),
    "the user's own file": lambda path: path.write_bytes(b"mine"),
}
PLACES = ["own/below", "/proc/nowhere/m", "x" * 300, "folder/" + "y" * 300, *(f"{n}.m" for n in OBSTACLES)]


def test_a_target_that_cannot_be_written_is_refused_before_the_first_step(run, desk, work, monkeypatch):
    """Include a folder without permission; tests may run as root, who may write anywhere."""
    (work / "own").write_text("mine")
    for name, make in OBSTACLES.items():
        make(work / f"{name}.m")
    (work / "closed").mkdir()
    (work / "closed").chmod(0o555)
    replace = os.replace

    def forbidden(path, target):
        if target.parent.name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied")
        replace(path, target)

    monkeypatch.setattr(os, "replace", forbidden)
    monkeypatch.setattr(Training, "make_step", None)  # a step would fail
    before = listing(work)
    for out in (*PLACES, "closed/m"):
        result = run(*training_words("train", desk), "--out", out)
        assert result.exit_code == 1, out
        assert "choose another --out" in result.output
        assert listing(work) == before


@pytest.mark.filterwarnings("ignore:flock not supported")
@pytest.mark.parametrize(
    ("call", "error", "line"),
    [
        ("os.fsync", errno.EINVAL, "cannot be written: Invalid argument; choose another --out"),
        ("fcntl.flock", errno.ENOLCK, "No locks available"),
        ("fcntl.flock", errno.ENOSYS, "written by the dead; .* remove .*/work/.m.safetensors.babygpt-lock"),
    ],
)
def test_missing_file_system_calls_are_reported_or_skipped(run, desk, work, monkeypatch, call, error, line):
    def fail(*args, **named):
        raise OSError(error, os.strerror(error))

    (work / ".m.safetensors.babygpt-lock").write_text("the dead")
    monkeypatch.setattr(call, fail)
    assert re.search(line, run(*training_words("train", desk)).output.strip().splitlines()[-1])


def listing(folder):
    """Return everything in a folder: names, kinds and sizes."""
    return [(p.name, p.lstat().st_mode, p.lstat().st_size) for p in sorted(folder.rglob("*"))]
