"""Benchmarks from the shell: one line of JSON last, with command and machine, stored only if asked for."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result

from benchmarks.cli import main
from benchmarks.machine import describe_machine

ROOT = Path(__file__).resolve().parents[2]


def run(*args: object) -> Result:
    return CliRunner().invoke(main, [*map(str, args)])


def last_line(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout.strip().splitlines()[-1])


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the arguments with which `step` would have been measured, and measure nothing."""
    arguments: dict[str, Any] = {}

    def measure_step(**values: Any) -> dict[str, float]:
        arguments.update(values)
        return {"step_ms": 0.5}

    monkeypatch.setattr("benchmarks.step.measure_step", measure_step)
    return arguments


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("to be or not to be " * 50)
    return path


def test_help_lists_the_commands_without_torch_and_every_option_has_its_sentence() -> None:
    code = "import sys\nfrom benchmarks.cli import main\nmain(['--help'], standalone_mode=False)\n"
    code += "assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in main.commands)
    options = [option for command in main.commands.values() for option in command.params]
    assert [option.name for option in options if not option.help] == []  # type: ignore[attr-defined]


def test_the_last_line_names_command_and_machine(measured: dict[str, Any]) -> None:
    results = last_line(run("step", "--version", "v7", "--rounds", 3))
    assert results["command"] == "python -m benchmarks step --version v7 --rounds 3"
    assert results["machine"] == describe_machine()
    assert results["step_ms"] == 0.5
    assert results["minutes"] >= 0
    assert (measured["version"], measured["rounds"], measured["batch_size"]) == ("v7", 3, 12)


def test_store_writes_the_printed_results_and_no_other_call_writes_any(
    measured: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("step").exit_code == 0
    assert list(tmp_path.iterdir()) == []
    path = tmp_path / "results" / "step.json"
    path.parent.mkdir()
    path.write_text("earlier")
    results = last_line(run("step", "--store", "--folder", path.parent))
    assert json.loads(path.read_text()) == results
    assert str(tmp_path) not in path.read_text()
    assert list(path.parent.iterdir()) == [path]
    assert run("step", "--version", "v7", "--store", "--folder", path.parent).exit_code == 0
    assert sorted(found.name for found in path.parent.iterdir()) == ["step.json", "step_v7.json"]


NUMBERS = [
    (name, option.opts[0], value)
    for name, command in sorted(main.commands.items())
    for option in command.params
    for value in {"integer": (0, -1), "float": ("nan", "inf")}.get(option.type.name, ())
]


def test_useless_numbers_are_refused_before_anything_is_measured(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.timing.run_in_rounds", pytest.fail)
    for command, option, value in NUMBERS:
        corpus = ["--corpus", text] if command in ("recipe", "diffusion") else []
        result = run(command, option, value, *corpus)
        assert result.exit_code == 1, (command, option, value)
        assert option.removeprefix("--").replace("-", "_") in result.stderr
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
@pytest.mark.parametrize("args", [["step", "--device", "cuda"], ["gpu"], ["gpu", "--device", "cpu"]])
def test_a_missing_gpu_gives_one_line(args: list[str]) -> None:
    result = run(*args)
    assert result.exit_code == 1
    assert "device (c" in result.output
    assert len(result.stderr.splitlines()) == 1
