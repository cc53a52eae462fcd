"""Fixtures that the tests of the commands share: run a command, check its refusal, provide a text."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from babygpt.cli import main

SMALL = ("--n-layer", "1", "--n-head", "2", "--n-embd", "16", "--block-size", "16", "--batch-size", "4")
TEXT = "the cat sat on the mat. " * 40


@pytest.fixture(scope="session")
def small() -> tuple[str, ...]:
    """Return the flags of the smallest model and batch."""
    return SMALL


@pytest.fixture(scope="session")
def run() -> Callable[..., Result]:
    """Run a command in this process."""
    return lambda *args: CliRunner().invoke(main, [str(a) for a in args])


@pytest.fixture(scope="session")
def refused() -> Callable[..., None]:
    """Check that a result is one line on bad input, exit status 1 or 2, no traceback."""

    def look(result: Result, *parts: object) -> None:
        assert result.exit_code in (1, 2), result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        last = result.output.strip().splitlines()[-1]
        for part in parts:
            assert str(part) in last

    return look


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


@pytest.fixture
def train(run, tmp_path: Path, corpus: str) -> Callable[..., Path]:
    """Train a version for some steps, and return its checkpoint's path."""

    def trained(version: str, *args: object, steps: int = 1, name: str = "m") -> Path:
        out = tmp_path / f"{name}.safetensors"
        result = run("train", version, "--corpus", corpus, "--steps", steps, "--out", out, *SMALL, *args)
        assert result.exit_code == 0, result.output
        return out

    return trained


@pytest.fixture(scope="session")
def contents() -> Callable[[Path], tuple[dict, bytes]]:
    """Return all that a checkpoint holds: metadata, and the offsets and bytes of each weight.

    Not the file's bytes: safetensors writes the two keys of its metadata in a random order.
    """

    def split(path: Path) -> tuple[dict, bytes]:
        content = path.read_bytes()
        size = int.from_bytes(content[:8], "little")
        return json.loads(content[8 : 8 + size]), content[8 + size :]

    return split
