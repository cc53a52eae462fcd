"""The live benchmark's own arithmetic, and what it says without a browser. What it measures, it measures."""

from unittest.mock import MagicMock

import pytest
from click.testing import CliRunner

from babygpt.data.corpus import load_corpus
from benchmarks import live as bench
from benchmarks.cli import main
from tools.browser import lab, lesson


def test_of_each_kind_of_answer_the_slowest_control_counts():
    controls = {"σ₁": {"idle_ms": 40.0, "training_ms": 60.0}, "σ₂": {"idle_ms": 45.0, "training_ms": 50.0}}
    assert bench.slowest(controls) == {"idle_ms": 45.0, "training_ms": 60.0}
    assert bench.slowest({}) == {}


def test_the_median_of_each_slider_is_told_by_its_explorer_and_name(monkeypatch):
    """The usual way is there for the first explorer alone."""
    idle = {(0, "σ₁"): [30.0, 50.0, 40.0], (1, "θ"): [20.0]}
    times = iter([idle, {key: [2 * ms for ms in found] for key, found in idle.items()}, {(0, "σ₁"): [200.0]}])
    monkeypatch.setattr(bench, "pressed", lambda *_: next(times))
    monkeypatch.setattr(bench, "until_it_trains", lambda _: None)
    assert bench.answers(MagicMock(), 3, "05") == {
        "05, explorer 0: σ₁": {"idle_ms": 40.0, "training_ms": 80.0, "usual_ms": 200.0},
        "05, explorer 1: θ": {"idle_ms": 20.0, "training_ms": 40.0},
    }


def test_the_notebooks_of_the_benchmark_are_there():
    assert [lab.lesson(number).name[:2] for number in bench.NOTEBOOKS] == list(bench.NOTEBOOKS)
    with pytest.raises(ValueError, match="no notebook 99"):
        lab.lesson("99")


def test_what_is_compared_runs_in_turn_and_every_other_turn_backwards():
    order = []
    ways = {name: lambda n=name: order.append(n) or len(order) for name in ("a", "b")}
    found = bench.in_turn(ways)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert found == {"a": (1 + 4 + 5) / 3, "b": (2 + 3 + 6) / 3}


@pytest.mark.parametrize("presses", ["0", "-3"])
def test_no_presses_are_refused(presses: str):
    told = CliRunner().invoke(main, ["live", "--presses", presses])
    assert told.exit_code == 1
    assert f"presses ({presses}) must be at least 1" in told.output


@pytest.mark.parametrize("command", [["bench", "live"], ["screenshots", "--folder", "pictures"]])
def test_without_chromium_a_line_says_how_to_get_it(command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(lab.CHROMIUM_VARIABLE, str(tmp_path / "nowhere"))
    told = CliRunner().invoke(main, command)
    assert told.exit_code == 1
    assert "apt install chromium" in told.output


def test_the_lesson_is_the_small_world_of_notebooks_03_and_04():
    corpus = lesson.plain_tales(n_chars=20_000)
    assert {name[-2:] for name in corpus.grammar.words["name"]} == {"la", "ra"}
    assert corpus.floor < load_corpus("tales", n_chars=20_000).floor
    assert len(lesson.watches(corpus)) == 2


def test_the_speed_is_steps_over_the_time_between_first_and_last(monkeypatch):
    """With a clock that moves by one second each time it is asked."""

    class Done:
        history, state = range(bench.STEPS), type("S", (), {"over": True})

        def wait(self):
            pass

    ticks = iter(range(10))
    monkeypatch.setattr(bench.time, "perf_counter", lambda: float(next(ticks)))
    assert bench.speed(lambda model, corpus, steps: Done()) == bench.STEPS - 1
