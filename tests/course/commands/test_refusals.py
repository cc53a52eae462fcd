"""Bad input to the commands of the course: one line that names it, and no file is written or changed."""

import os
import shlex
import subprocess
import sys

import pytest

REFUSED = [  # words after `figures names --folder drawn`, pieces of the line
    ("--workers 0", "workers (0) must be at least 1"),
    ("--workers 2 --redraw", "--redraw trains nothing"),
    ("--seeds 1,x", "seeds (1,x) must be whole numbers"),
    ("--cluster-option timeout_min=3", "and belongs to a --cluster"),
    ("--cluster local --cluster-option timeout_min", "(timeout_min) must be NAME=VALUE"),
    ("--cluster local --cluster-option no_such=1", "cluster (local): "),
    ("--folder damaged --redraw", "names.json holds no results"),
    ("--results text.txt", "text.txt is a file"),
]


@pytest.fixture(scope="module")
def drawn_folder(tmp_path_factory):
    """Make a folder of a text and of files where a command would write."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "text.txt").write_text("the cat sat on the mat. " * 40, encoding="utf-8")
    (folder / "damaged").mkdir()
    (folder / "damaged" / "names.json").write_text('{"names": ')
    (folder / "drawn" / "jobs").mkdir(parents=True)  # submitit makes it before it refuses an option
    return folder


def contents(folder):
    """Return each path in a folder, with the bytes of a file."""
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize(("wrong", "says"), [pytest.param(words, says, id=words) for words, *says in REFUSED])
def test_bad_input_gets_one_line_and_changes_no_file(drawn_folder, run, refused, monkeypatch, wrong, says):
    monkeypatch.chdir(drawn_folder)
    before = contents(drawn_folder)
    refused(run("figures", "names", "--folder", "drawn", *shlex.split(wrong)), *says)
    assert contents(drawn_folder) == before


def test_an_unknown_matplotlib_backend_does_no_harm(tmp_path):
    """Run a command with a wrong backend: no command opens a window, and none may fail for it."""
    words = [sys.executable, "-m", "babygpt", "figures", "names", "--redraw", "--folder", str(tmp_path)]
    environment = {**os.environ, "MPLBACKEND": "nonsense"}
    assert subprocess.run(words, env=environment, capture_output=True, check=False).returncode == 0
    assert (tmp_path / "names.png").exists()


def test_a_command_leaves_the_environment_of_its_caller_alone(run, tmp_path):
    """Keep the backend out of the environment: a kernel that inherits it shows no figures."""
    before = dict(os.environ)
    assert run("figures", "names", "--redraw", "--folder", tmp_path).exit_code == 0
    assert dict(os.environ) == before
