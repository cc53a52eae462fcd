"""The live benchmark's own arithmetic, and what it says without a browser. What it measures, it measures."""

from unittest.mock import MagicMock

import pytest
from click.testing import CliRunner

from babygpt.live import Run
from benchmarks import live
from benchmarks.cli import main
from tools import screenshots
from tools.browser.chromium import CHROMIUM_VARIABLE
from tools.browser.server import course_notebook


def test_of_each_kind_of_answer_the_slowest_control_counts():
    controls = {"σ₁": {"idle_ms": 40.0, "training_ms": 60.0}, "σ₂": {"idle_ms": 45.0, "training_ms": 50.0}}
    assert live.slowest(controls) == {"idle_ms": 45.0, "training_ms": 60.0}
    assert live.slowest({}) == {}


def test_the_median_of_each_slider_is_named_by_its_explorer_and_label(monkeypatch):
    """The usual way is there for the first explorer alone."""
    idle = {(0, "σ₁"): [30.0, 50.0, 40.0], (1, "θ"): [20.0]}
    times = iter([idle, {key: [2 * ms for ms in found] for key, found in idle.items()}, {(0, "σ₁"): [200.0]}])
    monkeypatch.setattr(live, "press_sliders", lambda *_: next(times))
    monkeypatch.setattr(live, "wait_for_first_step", lambda _: None)
    assert live.time_sliders(MagicMock(), 3, "05") == {
        "05, explorer 0: σ₁": {"idle_ms": 40.0, "training_ms": 80.0, "usual_ms": 200.0},
        "05, explorer 1: θ": {"idle_ms": 20.0, "training_ms": 40.0},
    }


def test_the_notebooks_of_the_benchmark_are_there():
    assert [course_notebook(number).name.split("_")[0] for number in live.NOTEBOOKS] == list(live.NOTEBOOKS)
    with pytest.raises(ValueError, match="no notebook 99"):
        course_notebook("99")


@pytest.mark.parametrize(
    ("command", "args"), [(main, ["live"]), (screenshots.main, ["--folder", "pictures"])]
)
def test_without_chromium_a_line_says_how_to_get_it(command, args, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(CHROMIUM_VARIABLE, str(tmp_path / "nowhere"))
    result = CliRunner().invoke(command, args)
    assert result.exit_code == 1
    assert "apt install chromium" in result.output


def test_the_speed_is_steps_over_the_time_between_first_and_last(monkeypatch):
    """With a clock that moves by one second each time it is asked."""
    run = MagicMock(spec=Run)
    ticks = iter(range(10))
    monkeypatch.setattr(live.time, "perf_counter", lambda: float(next(ticks)))
    assert live.steps_per_second(lambda model, corpus, steps: run) == live.STEPS - 1
    assert [call.args for call in run.wait_for_step.call_args_list] == [(1,), (live.STEPS,)]
