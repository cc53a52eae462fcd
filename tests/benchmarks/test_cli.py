"""Benchmarks from the shell: one line of JSON last, with command and machine, stored only if asked for."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result

from benchmarks import live
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
    """What `step` would have measured; nothing is."""
    arguments: dict[str, Any] = {}

    def measure_step(**values: Any) -> dict[str, float]:
        arguments.update(values)
        return {"share": 0.5}

    monkeypatch.setattr("benchmarks.step.measure_step", measure_step)
    return arguments


@pytest.fixture
def _threads_kept() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("to be or not to be " * 50)
    return path


def test_help_lists_the_commands_without_torch() -> None:
    code = "import sys\nfrom benchmarks.cli import main\nmain(['--help'], standalone_mode=False)\n"
    code += "assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in main.commands)


def test_the_last_line_names_command_and_machine(measured: dict[str, Any]) -> None:
    results = last_line(run("step", "--version", "v7", "--rounds", 3))
    assert results["command"] == "python -m benchmarks step --version v7 --rounds 3"
    assert results["machine"] == describe_machine()
    assert results["share"] == 0.5
    assert results["minutes"] >= 0
    assert (measured["version"], measured["rounds"], measured["batch_size"]) == ("v7", 3, 12)


def test_nothing_is_stored_unless_asked_for(measured: dict[str, Any], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("step").exit_code == 0
    assert list(tmp_path.iterdir()) == []


def test_what_is_stored_is_what_is_printed_in_place_of_earlier_numbers(
    measured: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "results" / "step.json"
    path.parent.mkdir()
    path.write_text("earlier")
    results = last_line(run("step", "--store", "--folder", path.parent))
    assert json.loads(path.read_text()) == results
    assert str(tmp_path) not in path.read_text()
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_that_cannot_be_is_refused_before_anything_is_measured(measured, tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    result = run("step", "--store", "--folder", tmp_path / "results")
    assert result.exit_code == 1
    assert "is a file; choose another --folder" in result.output
    assert measured == {}


def test_the_command_has_of_a_path_the_last_part_and_a_flag_without_a_value(text: Path, monkeypatch) -> None:
    monkeypatch.setattr("benchmarks.recipe.compare", lambda *_: {"ratio_tuned": 2.0})
    results = last_line(run("diffusion", "--seeds", "1,2", "--corpus", text))
    assert results["command"] == "python -m benchmarks diffusion --corpus text.txt --seeds 1,2"
    assert results["ratio_tuned"] == 2.0
    monkeypatch.setattr(live, "measure_live", lambda *_: {"speed_kept": 1.0})
    assert last_line(run("live", "--neighbour"))["command"] == "python -m benchmarks live --neighbour"


@pytest.mark.parametrize("race", ["recipe", "diffusion"])
def test_each_tuning_is_stored_by_itself(race: str, text: Path, tmp_path: Path, monkeypatch) -> None:
    tuned: list[Any] = []
    monkeypatch.setattr("benchmarks.recipe.tune", lambda _, recipe: tuned.append(recipe) or {"runs": []})
    for name in ("ours", "tuned"):
        more = ["--race", race, "--name", name, "--corpus", text]
        assert run("tune", *more, "--store", "--folder", tmp_path).exit_code == 0
    stored = sorted(path.name for path in tmp_path.glob("*.json"))
    assert stored == [f"tune_{race}_ours.json", f"tune_{race}_tuned.json"]
    assert [recipe.body for recipe in tuned] == ["ours", "plain"]


@pytest.mark.usefixtures("_threads_kept")
def test_threads_are_set_and_stated(measured: dict[str, Any]) -> None:
    assert last_line(run("step", "--threads", 1))["machine"]["threads"] == 1
    assert "threads" not in measured


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there_is_refused() -> None:
    result = run("step", "--device", "cuda")
    assert result.exit_code == 1
    assert "device (cuda)" in result.output


@pytest.mark.parametrize(
    ("command", "option", "value", "says"),
    [
        ("step", "--rounds", 0, "rounds (0)"),
        ("encodings", "--rounds", 0, "rounds (0)"),
        ("generate", "--rounds", 0, "rounds (0)"),
        ("live", "--presses", 0, "presses (0)"),
        ("memory", "--runs", 2, "runs (2)"),
        ("shapes", "--seconds", 0, "seconds (0.0)"),
        ("recipe", "--target", "nan", "target (nan)"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(command, option, value, says, text: Path) -> None:
    corpus = ["--corpus", text] if command in ("shapes", "recipe", "diffusion") else []
    result = run(command, option, value, *corpus)
    assert result.exit_code == 1
    assert says in result.output
    assert len(result.stderr.splitlines()) == 1


NUMBERS = [
    (name, option.opts[0], value)
    for name, command in sorted(main.commands.items())
    for option in command.params
    for value in {"integer": (0, -1), "float": ("nan", "inf")}.get(option.type.name, ())
]


@pytest.mark.survives(
    "a benchmark of 0 steps, of infinite seconds, of a hundred thousand threads", "it is refused in one line"
)
@pytest.mark.parametrize(("command", "option", "value"), [*NUMBERS, ("step", "--threads", 100_000)])
def test_every_number_that_measures_nothing_is_refused_before_anything_is_measured(
    command: str, option: str, value: object, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.timing.time_in_rounds", pytest.fail)
    monkeypatch.setattr("benchmarks.generation.time_next_token", pytest.fail)
    corpus = ["--corpus", text] if command in ("shapes", "recipe", "diffusion") else []
    result = run(command, option, value, *corpus)
    assert result.exit_code == 1
    assert option.removeprefix("--").replace("-", "_") in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", sorted(main.commands))
def test_every_option_has_its_sentence(command: str) -> None:
    for option in main.commands[command].params:
        assert option.help, option.name  # type: ignore[attr-defined]


def test_another_version_does_not_take_the_place_of_the_usual_one(
    measured: dict[str, Any], tmp_path: Path
) -> None:
    for more in ([], ["--version", "v7"]):
        assert run("step", *more, "--store", "--folder", tmp_path).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step.json", "step_v7.json"]


def test_some_notebooks_or_a_neighbour_do_not_take_the_place_of_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[tuple[Any, ...]] = []
    monkeypatch.setattr(live, "measure_live", lambda *args: called.append(args) or {"speed_kept": 1.0})
    for more in ([], ["--notebooks", "00,05", "--neighbour"]):
        assert run("live", *more, "--store", "--folder", tmp_path).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["live.json", "live_00_05_neighbour.json"]
    assert called == [(20, live.NOTEBOOKS, False), (20, ["00", "05"], True)]
