"""What can never be written is refused before the first step: every command here would train for years."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.harness import Faults
from tests.faults.outcome import contents, done, go_on
from tests.faults.table import FOREVER, TABLE, TRAINS, WRITES

PATIENCE = 6.0  # seconds; whoever begins to train takes longer
FILES = {  # what every command that trains writes at the end, or between
    "train": ["out/m.safetensors"],
    "pretrain": ["out/pretrain.safetensors"],
    "compare encodings": [
        "out/ablation_results.json",
        "out/weights/ablation/rope_seed1.safetensors",
        "out/weights/ablation/polar_seed2.safetensors",
        "out/ablation_plots/summary_bars.png",
    ],
    "compare generation": ["out/written.json", "weights/judge.safetensors"],
    "compare stretch": ["out/stretched.json"],
    "figures": ["out/roles.json", "out/roles.png"],
}
REPLACED = (".png", "roles.json")  # what is measured or drawn anew takes the place of what was there
OBSTACLES = {
    "a folder": lambda path: path.mkdir(),
    "a FIFO": os.mkfifo,
    "a link to a device": lambda path: path.symlink_to("/dev/null"),
    "a link to nowhere that can be": lambda path: path.symlink_to("/proc/nowhere/file"),
    "a link to itself": lambda path: path.symlink_to(path),
    "the user's own file": lambda path: path.write_bytes(b"mine"),
}


@pytest.fixture
def refused(server, desk, tmp_path):
    """Call a command that would train for years: it says no, in one line, and does nothing."""

    def refuse(name, out="", user=0):
        command, log, folder = TABLE[name], tmp_path / "steps", tmp_path / "work"
        if command.before == "small_figure":
            command = replace(command, before="endless_figure")
        before, faults = listing(folder), command.faults(Faults(steps=str(log), user=user))
        ended = server.start(command.args(desk, out, FOREVER), folder, faults).wait(PATIENCE)
        assert (ended.status, log.read_bytes()) == (1, b""), ended
        assert ended.err.startswith("Error: "), ended
        assert len(ended.err.splitlines()) == 1, ended
        assert listing(folder) == before

    (tmp_path / "work").mkdir()
    return refuse


def listing(folder):
    """Everything in a folder: names, kinds and sizes, and what links point to."""
    paths = sorted([folder, *folder.rglob("*")])
    return [(str(p), p.lstat().st_mode, p.lstat().st_size, p.is_symlink() and os.readlink(p)) for p in paths]


CASES = [
    pytest.param(name, file, what, id=f"{Path(file).name}-{what}")
    for name, files in FILES.items()
    for file in files
    for what in OBSTACLES
    if what != "the user's own file" or not file.endswith(REPLACED)
]


@pytest.mark.parametrize(("name", "file", "what"), CASES)
@pytest.mark.survives(
    "where a command that trains will write stands a folder, a pipe, a device, a link to nowhere, or a file "
    "of your own",
    "one line says so before the first step, and all is left as it was",
)
def test_what_stands_in_the_way(refused, tmp_path, name, file, what):
    path = tmp_path / "work" / file
    path.parent.mkdir(parents=True)
    OBSTACLES[what](path)
    refused(name)


@pytest.mark.parametrize("name", TRAINS)
@pytest.mark.survives(
    "a target below a file, in a folder that nobody can write to, or with a name of 300 bytes",
    "one line says so before the first step",
)
def test_a_place_that_cannot_be(refused, tmp_path, name):
    (tmp_path / "work" / "file").write_text("mine")
    for place in ("file/below", "/proc/nowhere", "/dev/null/x", "x" * 300, "folder/" + "y" * 300):
        refused(name, out=place)


@pytest.mark.parametrize("name", TRAINS)
def test_a_folder_without_permission(refused, tmp_path, desk, name):
    """The one who runs the tests may be root, who may write anywhere: the command is run by nobody."""
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent, desk, desk.parent):
        if folder.stat().st_uid == os.getuid():
            folder.chmod(folder.stat().st_mode | 0o055)
    (tmp_path / "steps").touch()
    (tmp_path / "steps").chmod(0o666)
    (tmp_path / "work").chmod(0o555)
    refused(name, user=65534 if os.getuid() == 0 else 0)


@pytest.mark.parametrize("size", [240, 255])
@pytest.mark.parametrize("name", ["train", "pretrain", "compare generation"])
def test_a_long_name_works_or_is_refused(server, desk, tmp_path, name, size):
    """File systems hold names of 255 bytes: up to there it has to work."""
    command, out = TABLE[name], "n" * size
    done(server.run(command.args(desk, out), tmp_path, command.faults()))
    assert (tmp_path / out / command.result).is_file()
    assert not list(tmp_path.rglob(".*"))


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("name", ["train", "compare encodings", "compare generation"])
@pytest.mark.survives(
    "the target is a link to a file that is not there yet, or to a run that was killed",
    "it is followed: what it points to is written, and the link stays",
)
def test_a_link_is_followed(server, desk, whole, tmp_path, name, killed):
    command, there, work = TABLE[name], tmp_path / "there", tmp_path / "work"
    (work / command.file).parent.mkdir(parents=True)
    (work / command.file).symlink_to(there / "file")
    if killed:
        moment = whole(name).training[1]
        server.run(command.args(desk), work, command.faults(Faults(moments=[(moment, "SIGKILL")])))
    done(go_on(server, command, desk, work))
    assert (work / command.file).is_symlink()
    assert contents(work) == whole(name).left
    assert [path.name for path in there.iterdir()] == ["file"]


MASKS = [*((name, 0o077, 0o600) for name in WRITES), ("train", 0o022, 0o644), ("train", 0o007, 0o660)]


@pytest.mark.parametrize(("name", "umask", "mode"), MASKS)
@pytest.mark.survives("a umask of your own", "every file that is written has the permissions that it leaves")
def test_permissions_are_the_users(server, desk, tmp_path, name, umask, mode):
    done(server.run(TABLE[name].args(desk), tmp_path, TABLE[name].faults(Faults(umask=umask))))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in files} == {
        path.name: mode for path in files
    }


@pytest.mark.parametrize("name", ["train", "pretrain"])
def test_a_file_that_is_replaced_keeps_its_permissions(server, desk, whole, tmp_path, name):
    command, moment = TABLE[name], whole(name).training[1]
    server.run(command.args(desk), tmp_path, Faults(moments=[(moment, "SIGKILL")]))
    (tmp_path / command.file).chmod(0o640)
    done(go_on(server, command, desk, tmp_path))
    assert stat.S_IMODE((tmp_path / command.file).stat().st_mode) == 0o640
