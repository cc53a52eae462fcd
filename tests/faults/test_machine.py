"""A full disk, too little memory, and targets that cannot be written."""

import errno
import os
import re

import pytest

from babygpt.training.loop import Training
from tests.faults.conftest import contents, run_here, training_words


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Return the folder that a command is called in."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


# ---------------------------------------------------------------- disk and memory


def full_disk(patch):
    """Let the disk be full after step 4 was saved."""
    calls, fsync = iter(range(100)), os.fsync

    def full(handle):
        if next(calls) > 2:  # the folder was probed, and steps 2 and 4 were saved
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    patch.setattr(os, "fsync", full)


def out_of_memory(patch):
    """Let a step fail for want of memory after step 4 was saved."""
    make_step = Training.make_step

    def refuse(self, *args, **named):
        if self.step == 5:
            raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes.")
        return make_step(self, *args, **named)

    patch.setattr(Training, "make_step", refuse)


@pytest.mark.parametrize(
    ("plant", "says"),
    [(full_disk, "No space left on device"), (out_of_memory, "you tried to allocate 9 bytes")],
)
def test_a_full_machine_gives_one_line_and_loses_no_checkpoint(
    desk, work, undisturbed, monkeypatch, plant, says
):
    with monkeypatch.context() as patch:
        plant(patch)
        result = run_here(*training_words(desk))
    assert result.exit_code == 1
    for part in (says, "the checkpoint of step 4 stands at m.safetensors"):
        assert part in result.output.splitlines()[-1]
    assert run_here(*training_words(desk), "--resume").exit_code == 0
    assert contents(work) == undisturbed


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
PLACES = ["own/below", "/proc/nowhere/m", "x" * 300, *(f"{name}.m" for name in OBSTACLES)]


def test_a_target_that_cannot_be_written_is_refused_before_the_first_step(desk, work, monkeypatch):
    (work / "own").write_text("mine")
    for name, make in OBSTACLES.items():
        make(work / f"{name}.m")
    monkeypatch.setattr(Training, "make_step", None)  # a step would fail
    before = listing(work)
    for out in PLACES:
        result = run_here(*training_words(desk), "--out", out)
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
def test_missing_file_system_calls_are_reported_or_skipped(desk, work, monkeypatch, call, error, line):
    def fail(*args, **named):
        raise OSError(error, os.strerror(error))

    (work / ".m.safetensors.babygpt-lock").write_text("the dead")
    monkeypatch.setattr(call, fail)
    assert re.search(line, run_here(*training_words(desk)).output.strip().splitlines()[-1])


def listing(folder):
    """Return everything in a folder: names, kinds and sizes."""
    return [(p.name, p.lstat().st_mode, p.lstat().st_size) for p in sorted(folder.rglob("*"))]
