"""Benchmarks from the shell: one line of JSON last, with command and machine, kept only if asked for."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result

import benchmarks as benches
from benchmarks.cli import main


def run(*args: object) -> Result:
    return CliRunner().invoke(main, [*map(str, args)])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Nothing is measured; what `step` would have been asked is kept."""
    kept: dict[str, Any] = {}

    def step(**values: Any) -> dict[str, float]:
        kept.update(values)
        return {"share": 0.5}

    monkeypatch.setattr(benches, "step", step)
    return kept


@pytest.fixture
def threads() -> Iterator[int]:
    """As many as there were are there again afterwards."""
    before = torch.get_num_threads()
    yield before
    torch.set_num_threads(before)


def test_the_last_line_names_command_and_machine(asked: dict[str, Any]) -> None:
    result = run("step", "--version", "v7", "--turns", 3)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout.strip().splitlines()[-1])
    assert told["command"] == "python -m babygpt bench step --version v7 --turns 3"
    assert told["machine"] == benches.machine()
    assert told["share"] == 0.5
    assert told["minutes"] >= 0
    assert (asked["version"], asked["turns"], asked["batch_size"]) == ("v7", 3, 12)


def test_nothing_is_kept_unless_told(asked: dict[str, Any], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("step").exit_code == 0
    assert list(tmp_path.iterdir()) == []


def test_what_is_kept_is_what_is_printed(asked: dict[str, Any], tmp_path: Path) -> None:
    result = run("step", "--store", "--folder", tmp_path / "figures")
    kept = (tmp_path / "figures" / "bench_step.json").read_text()
    assert json.loads(kept) == json.loads(result.stdout.strip().splitlines()[-1])
    assert str(tmp_path) not in kept


def test_a_folder_that_cannot_be_is_refused_before_anything_is_measured(asked, tmp_path: Path) -> None:
    (tmp_path / "figures").write_text("a file")
    result = run("step", "--store", "--folder", tmp_path / "figures")
    assert result.exit_code == 1
    assert "is a file; choose another --folder" in result.output
    assert asked == {}


def test_of_a_path_only_the_last_part_is_told(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(benches, "recipe", lambda *_, **__: {"ratio": 2.0})
    (tmp_path / "text.txt").write_text("to be or not to be")
    result = run("recipe", "--corpus", tmp_path / "text.txt")
    assert json.loads(result.stdout)["command"] == "python -m babygpt bench recipe --corpus text.txt"


def test_flags_are_told_without_a_value(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "text.txt").write_text("to be or not to be")
    monkeypatch.setattr(benches, "diffusion", lambda *_, **__: {"ratio": 2.0})
    monkeypatch.setattr(benches, "polar", lambda *_, **__: {"v7": [1.0]})
    told = json.loads(run("diffusion", "--polar", "--corpus", tmp_path / "text.txt").stdout)
    assert told["command"] == "python -m babygpt bench diffusion --corpus text.txt --polar"
    assert (told["ratio"], told["polar"]) == (2.0, {"v7": [1.0]})


def test_threads_are_set_and_told(asked: dict[str, Any], threads: int) -> None:
    assert json.loads(run("step", "--threads", 1).stdout)["machine"]["threads"] == 1
    assert run("step", "--threads", 0).exit_code == 2


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
@pytest.mark.parametrize("command", ["step", "generate"])
def test_a_gpu_that_is_not_there_is_refused(command: str) -> None:
    result = run(command, "--device", "cuda")
    assert result.exit_code == 1
    assert "device (cuda)" in result.output


@pytest.mark.parametrize("command", ["step", "encodings", "generate"])
def test_no_turns_are_refused(command: str) -> None:
    result = run(command, "--turns", 0)
    assert result.exit_code == 1
    assert "turns (0)" in result.output


@pytest.mark.parametrize("command", ["step", "encodings", "generate", "live", "memory", "diffusion"])
def test_every_option_has_its_sentence(command: str) -> None:
    group = main.commands["bench"]
    for option in group.commands[command].params:  # type: ignore[attr-defined]
        assert option.help, option.name  # type: ignore[attr-defined]


def test_another_version_does_not_take_the_place_of_the_usual_one(
    asked: dict[str, Any], tmp_path: Path
) -> None:
    for more in ([], ["--version", "v7"]):
        assert run("step", *more, "--store", "--folder", tmp_path).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench_step.json", "bench_step_v7.json"]


def test_some_notebooks_or_a_neighbour_do_not_take_the_place_of_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import live as bench

    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(bench, "live", lambda *args: asked.append(args) or {"speed_kept": 1.0})
    for more in ([], ["--notebooks", "00,05", "--neighbour"]):
        assert run("live", *more, "--store", "--folder", tmp_path).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "bench_live.json",
        "bench_live_00_05_neighbour.json",
    ]
    assert asked == [(20, bench.NOTEBOOKS, False), (20, ["00", "05"], True)]
