"""Bad input to the commands of the course: one line that names it, and no file is written or changed."""

import os
import shlex
import subprocess
import sys

import pytest

SMALL = "--n-layer 1 --n-head 2 --n-embd 16 --block-size 16 --batch-size 4"
COMMANDS = {  # words before the wrong ones; each runs in the folder `made`
    "figures": "figures names --folder drawn",
    "compare": f"compare encodings --corpus text.txt --out-dir out --max-iters 4 --eval-iters 2 {SMALL}",
}
REFUSED = [  # command, wrong words, pieces of the line
    ("figures", "--workers 0", "workers (0) must be at least 1"),
    ("figures", "--workers 2 --redraw", "--redraw trains nothing"),
    ("figures", "--seeds 1,x", "seeds (1,x) must be whole numbers"),
    ("figures", "--cluster-option timeout_min=3", "and belongs to a --cluster"),
    ("figures", "--cluster local --cluster-option timeout_min", "(timeout_min) must be NAME=VALUE"),
    ("figures", "--cluster local --cluster-option no_such=1", "cluster (local): "),
    ("figures", "--folder damaged --redraw", "names.json holds no results"),
    ("figures", "--results text.txt", "text.txt is a file"),
    ("compare", "--seeds 1,x", "--seeds (1,x)", "'x'", "whole numbers"),
    ("compare", "--seeds ''", "0 seeds and 2 variants"),
    ("compare", "--variants rope,v4", "variant (v4)", "rope, nope, alibi"),
    ("compare", "--eval-iters 0", "eval_iters (0) must be at least 1"),
    ("compare", "--block-size 100000", "block_size (100000)"),
    ("compare", "--corpus no/such/file.txt", "no/such/file.txt"),
    ("compare", "--out-dir text.txt", "is a file"),
    ("compare", "--out-dir taken", "weights is a file", "--out-dir"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make a folder of a text and of files where a command would write."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "text.txt").write_text("the cat sat on the mat. " * 40, encoding="utf-8")
    for name, content in (("taken/weights", "mine"), ("damaged/names.json", '{"names": ')):
        (folder / name).parent.mkdir()
        (folder / name).write_text(content)
    (folder / "drawn" / "jobs").mkdir(parents=True)  # submitit makes it before it refuses an option
    return folder


def contents(folder):
    """Return each path in a folder, with the bytes of a file."""
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize(
    ("command", "wrong", "says"), [pytest.param(a, b, c, id=f"{a} {b}") for a, b, *c in REFUSED]
)
def test_bad_input_gets_one_line_and_changes_no_file(made, run, refused, monkeypatch, command, wrong, says):
    monkeypatch.chdir(made)
    before = contents(made)
    refused(run(*shlex.split(COMMANDS[command]), *shlex.split(wrong)), *says)
    assert contents(made) == before


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
