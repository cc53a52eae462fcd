"""Commands run in this process, or in processes of their own with a fault planted in them."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from babygpt.cli import main
from babygpt.training import checkpoint

ROOT = Path(__file__).resolve().parents[2]
TEXT = "the cat sat on the mat. " * 40
SHAPE = "--n-layer 1 --n-head 2 --n-embd 16 --block-size 16 --batch-size 4".split()
CODE = """
import runpy, sys
if {plants!r}:
    from tests.faults.plants import *
    {plants}
sys.argv[1:] = {words!r}
runpy.run_module("babygpt", run_name="__main__", alter_sys=True)
"""
TIMES = {"seconds_per_step", "minutes", "seconds"}

if sys.platform != "linux":
    collect_ignore_glob = ["test_stopped.py", "test_machine.py"]  # they need /proc, /dev/full and signals


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a text, small models, and files that are neither; commands read them only."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    (folder / "binary").write_bytes(bytes(range(256)))
    (folder / "empty").touch()
    (folder / "folder").mkdir()
    for version in ("v4", "v7-rope"):
        words = ["train", version, "--corpus", folder / "text.txt", "--steps", 1, *SHAPE]
        run_here(*words, "--out", folder / f"{version}.safetensors")
    return folder


def run_here(*words: object) -> Result:
    """Run a command in this process, and check that it succeeds or ends with one line."""
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code in (0, 1, 2), result.output
    if result.exit_code:
        errors = [line for line in result.output.splitlines() if line.startswith("Error: ")]
        assert len(errors) == 1, result.output
    return result


@pytest.fixture(scope="session")
def start() -> Callable[..., subprocess.Popen]:
    """Start a command in a process of its own, in a folder, with planted faults."""

    def begin(folder: Path, *words: object, plants: str = "", **streams: Any) -> subprocess.Popen:
        code = CODE.format(plants=plants, words=[str(word) for word in words])
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | streams
        env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        folder.mkdir(exist_ok=True)
        return subprocess.Popen([sys.executable, "-c", code], cwd=folder, env=env, **streams)

    return begin


# ---------------------------------------------------------------- files that a training leaves


def training_words(desk: Path) -> list[str]:
    """Return the words of a training of 8 steps that saves after every second step."""
    words = ["train", "v4", "--steps", "8", "--out", "m.safetensors", "--save-every", "2"]
    return [*words, "--corpus", str(desk / "text.txt"), *SHAPE]


def contents(folder: Path) -> Any:
    """Return what the only file of a folder holds, but for times."""
    (path,) = folder.iterdir()
    held = checkpoint.load(path)
    weights = {name: p.numpy().tobytes() for name, p in held.model.state_dict().items()}
    untimed = {name: value for name, value in held.info.items() if name not in TIMES}
    info = json.dumps(untimed, sort_keys=True)
    return path.name, held.version, held.options, info, held.training is None, weights


@pytest.fixture(scope="session")
def undisturbed(desk: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the file of a training without any fault."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run_here(*training_words(desk), "--out", folder / "m.safetensors").exit_code == 0
    return contents(folder)
