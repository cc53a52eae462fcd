"""A full disk, too little memory, a terminal that is gone, and targets that cannot be written."""

import errno
import os
from pathlib import Path

import pytest

from babygpt.training.loop import Training
from tests.faults.conftest import contents, training_words


@pytest.fixture
def work(tmp_path, monkeypatch):
    """The folder that a command is called in."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


# ---------------------------------------------------------------- disk and memory


def test_a_full_disk_is_told_in_one_line_and_loses_no_checkpoint(run, desk, work, undisturbed, monkeypatch):
    words, calls, fsync = training_words("train", desk), iter(range(100)), os.fsync

    def full(handle):
        if next(calls) >= 2:  # steps 2 and 4 were saved
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        result = run(*words)
    assert result.exit_code == 1
    line = result.output.splitlines()[-1]
    assert "No space left on device" in line
    assert "the checkpoint of step 4 stands at m.safetensors" in line
    assert run(*words, "--resume").exit_code == 0
    assert contents(work) == undisturbed("train")


def test_out_of_memory_is_told_in_one_line_and_loses_no_checkpoint(run, desk, work, undisturbed, monkeypatch):
    words, make_step = training_words("train", desk), Training.make_step

    def refuse(self, *args, **named):
        if self.step == 5:
            raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes.")
        return make_step(self, *args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "make_step", refuse)
        result = run(*words)
    assert result.exit_code == 1
    line = result.output.splitlines()[-1]
    assert "you tried to allocate 9 bytes" in line
    assert "the checkpoint of step 4 stands at m.safetensors" in line
    assert "smaller batch_size" in line
    assert run(*words, "--resume").exit_code == 0
    assert contents(work) == undisturbed("train")


@pytest.mark.slow
def test_the_systems_own_refusal_of_memory_is_understood(start, desk, tmp_path):
    process = start(tmp_path / "work", *training_words("train", desk), plants="starve(5)")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "memory" in err.splitlines()[-1]
    assert "the checkpoint of step 4 stands at m.safetensors" in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("flag", "value"), [("--n-layer", 10**10), ("--n-embd", 10**8), ("--batch-size", 10**12)]
)
def test_what_cannot_fit_into_memory_is_refused_at_once(run, desk, work, flag, value):
    result = run(*training_words("train", desk), flag, value)
    assert result.exit_code == 1
    assert str(value) in result.output
    assert "GB of memory" in result.output
    assert list(work.iterdir()) == []


# ---------------------------------------------------------------- the terminal


@pytest.mark.parametrize("streams", ["unread", pytest.param("full", marks=pytest.mark.slow)])
def test_training_goes_on_when_nobody_reads_what_it_prints(start, desk, undisturbed, tmp_path, streams):
    if streams == "full":
        screen = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, screen = os.pipe()
        os.close(reader)
    folder = tmp_path / "work"
    process = start(folder, *training_words("train", desk), stdout=screen, stderr=screen)
    os.close(screen)
    assert process.wait(120) == 0
    assert contents(folder) == undisturbed("train")


def test_a_text_that_nobody_reads_ends_in_silence(start, desk, tmp_path):
    """As in `python -m babygpt generate ... | head -1`."""
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
PLACES = ["file/below", "/proc/nowhere/m", "x" * 300, "folder/" + "y" * 300]


@pytest.fixture
def refused(run, desk, work, monkeypatch):
    """Check that `train` refuses a target before the first step, and leaves all as it was."""

    def refuse(out):
        with monkeypatch.context() as patch:
            patch.setattr(Training, "make_step", None)  # whoever trains fails
            before = listing(work)
            result = run(*training_words("train", desk), "--out", out)
        assert result.exit_code == 1
        assert "choose another --out" in result.output
        assert listing(work) == before

    return refuse


def listing(folder):
    """Return everything in a folder: names, kinds and sizes."""
    return [(p.name, p.lstat().st_mode, p.lstat().st_size) for p in sorted(folder.rglob("*"))]


@pytest.mark.parametrize("name", OBSTACLES)
def test_a_target_that_is_taken_is_refused_before_the_first_step(refused, work, name):
    OBSTACLES[name](work / "m.safetensors")
    refused("m.safetensors")


def test_a_place_that_cannot_be_written_is_refused_before_the_first_step(refused, work):
    (work / "file").write_text("mine")
    for place in PLACES:
        refused(place)


def test_a_folder_without_permission_is_refused_before_the_first_step(refused, work, monkeypatch):
    """Also where the tests run as root, who may write anywhere."""
    (work / "closed").mkdir()
    (work / "closed").chmod(0o555)
    if os.getuid() == 0:
        touch = Path.touch

        def forbidden(path, *args, **named):
            if path.parent.name == "closed":
                raise PermissionError(errno.EACCES, "Permission denied")
            touch(path, *args, **named)

        monkeypatch.setattr(Path, "touch", forbidden)
    refused("closed/m.safetensors")


def test_a_link_is_followed_to_a_file_that_is_not_there_yet(run, desk, work, undisturbed):
    (work / "m.safetensors").symlink_to(work / "there" / "file.safetensors")
    assert run(*training_words("train", desk)).exit_code == 0
    assert (work / "m.safetensors").is_symlink()
    assert contents(work / "there") == {"file.safetensors": undisturbed("train")["m.safetensors"]}
