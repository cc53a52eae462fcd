"""The live benchmark's own arithmetic, and what it says without a browser. What it measures, it measures."""

import pytest
from click.testing import CliRunner

from babygpt.browser import bench, lab, lesson
from babygpt.cli import main
from babygpt.data.corpus import load_corpus


def test_the_summary_is_median_and_95th_percentile():
    assert bench.summary("ms", [float(n) for n in range(1, 102)]) == {"ms_median": 51.0, "ms_p95": 96.0}


def test_what_is_compared_runs_in_turn_and_every_other_turn_backwards():
    order = []
    ways = {name: lambda n=name: order.append(n) or len(order) for name in ("a", "b")}
    found = bench.in_turn(ways)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert found == {"a": (1 + 4 + 5) / 3, "b": (2 + 3 + 6) / 3}


@pytest.mark.parametrize("presses", ["0", "-3"])
def test_no_presses_are_refused(presses: str):
    told = CliRunner().invoke(main, ["bench", "live", "--presses", presses])
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
