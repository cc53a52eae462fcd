"""Times of the parts of a training step: numbers computed from them, and one small run."""

import itertools

import pytest
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.models.versions import build
from babygpt.training import Training
from benchmarks import step
from benchmarks.step import MeteredObjective, PartMeter, measure_step

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
