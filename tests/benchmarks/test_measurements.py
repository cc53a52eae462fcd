"""Times of the parts of a training step and motion of dashboards: numbers computed from them."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.models.versions import build
from babygpt.training import Training
from benchmarks import live, step
from benchmarks.step import MeteredObjective, PartMeter, measure_step
from tools.browser.recording import dashboard_runs, worst

TINY = {"n_layer": 2, "n_head": 2, "n_embd": 16}
BATCH, BLOCK = 3, 8
PLAN = TrainConfig(steps=5, batch_size=BATCH)


# ---------------------------------------------------------------- a training step


def metered(version: str, corpus: Corpus, meter: PartMeter) -> Training:
    torch.manual_seed(0)
    model = build(version, ModelConfig(corpus.tokenizer.vocab_size, BLOCK, **TINY))
    objective = MeteredObjective(step.fixed_size_objective(version, corpus, BLOCK), meter)
    training = Training(model, objective, PLAN)
    step.add_meter_hooks(training, meter)
    return training


@pytest.mark.parametrize("version", ["v1", "v4", "v6"])
def test_every_part_of_a_step_is_timed_once(small_corpus: Corpus, version: str) -> None:
    ticks = itertools.count()
    meter = PartMeter(lambda: float(next(ticks)))
    training = metered(version, small_corpus, meter)
    before = next(ticks)
    parts = meter.measure_step(training.steps())
    after = next(ticks)
    optimizers = {type(optimizer).__name__ for optimizer in training.optimizers}
    assert set(parts) == {"rest", "batch", "loss", "forward", "backward"} | optimizers
    assert sum(parts.values()) == after - before - 2  # nothing is lost, nothing is counted twice
    assert all(taken >= 1 for taken in parts.values())


def test_the_parts_of_a_step_add_up_to_its_time() -> None:
    results = measure_step("v4", BATCH, BLOCK, rounds=1, n_chars=9_000, **TINY)
    assert sum(results["ms"].values()) == pytest.approx(results["step_ms"], abs=0.01)
    assert results["steps"] == 10  # those of the first round warm up
    with pytest.raises(ValueError, match=r"version \(v99\)"):
        measure_step("v99", rounds=1)


# ---------------------------------------------------------------- dashboards


def drawing(t: float, state: str, made: int, frames: int, reading: str = "") -> dict[str, Any]:
    """Return a drawing of a run that began to train at 10 s, t seconds later; told 50 ms before."""
    now = 10_000 + 1000 * t
    known = {"state": state, "made": made, "frames": [frames, 1], "reading": reading}
    return {"t": now, "at": now - 50, "ms": 2.0, **known}


DRAWN = [
    drawing(-2, "waiting", 0, 1),
    drawing(-1, "getting ready", 0, 1),
    drawing(0, "running", 0, 1),
    drawing(0.2, "running", 1, 1),
    drawing(0.3, "running", 1, 1),  # nothing new: a hand moved
    drawing(0.4, "running", 5, 2),
    drawing(1.0, "running", 9, 2),
    drawing(1.7, "running", 9, 2, "64 of 128 windows read"),
    drawing(2.0, "finished", 9, 2),
    drawing(9.0, "finished", 9, 2),
]
BOARD = {"cell": 3, "title": "v5", "watches": 2, "started": 8_500, "drawings": DRAWN}
MESSAGES = [(9_000, 500), (10_100, 1000), (11_000, 3000), (13_000, 9000)]


def test_the_motion_of_a_dashboard_is_read_from_its_drawings() -> None:
    (run,) = dashboard_runs({"boards": [BOARD], "messages": MESSAGES})
    assert (run.cell, run.title, run.steps, run.seconds) == (3, "v5", 9, 2.0)
    assert (run.losses_per_s, run.measurements_per_s, run.drawings_per_s) == (1.5, 0.5, 3.0)
    assert (run.longest_still_s, run.shown_after_ms, run.redraw_ms) == (0.7, 50.0, 2.0)
    assert (run.kb_per_s, run.ready_s, run.first_loss_ms) == (2.0, 0.5, 50.0)


def test_a_later_dashboard_of_a_cell_does_not_count_its_wait_for_the_first_run() -> None:
    first, later = dashboard_runs({"boards": [BOARD, {**BOARD, "title": "v4"}], "messages": MESSAGES})
    assert (first.ready_s, later.ready_s) == (0.5, None)


def test_the_worst_dashboard_is_taken_in_each_respect_and_those_that_never_trained_are_left_out() -> None:
    slow = {**BOARD, "watches": 0, "started": None, "drawings": [*DRAWN[:4], drawing(4, "stopped", 2, 1)]}
    waits = {**BOARD, "drawings": DRAWN[:2]}
    runs = dashboard_runs({"boards": [BOARD, slow, waits], "messages": MESSAGES})
    assert [run.losses_per_s for run in runs] == [1.5, 0.5]
    found = worst(runs)
    assert (found["losses_per_s"], found["measurements_per_s"], found["longest_still_s"]) == (0.5, 0.5, 3.8)
    with pytest.raises(ValueError, match="no dashboard"):
        worst([])


def test_the_share_of_the_speed_that_is_kept_has_its_interval() -> None:
    assert live.share_kept([10, 20], [9, 18]) == {"mean": 0.9, "low": 0.9, "high": 0.9}
    found = live.share_kept([10, 10, 10], [9, 10, 8])
    assert found["low"] < 0.8 < found["mean"] < 0.9 < 1 < found["high"]


def test_the_page_has_the_stored_numbers_of_the_live_lab() -> None:
    root = Path(__file__).resolve().parents[2]
    stored = json.loads((root / "benchmarks/results/live.json").read_text(encoding="utf-8"))
    text = (root / "docs/benchmarks.md").read_text(encoding="utf-8")
    assert live.report(stored) in text, "python -m benchmarks report"
