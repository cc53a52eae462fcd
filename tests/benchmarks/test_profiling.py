"""The parts of a training step add up, and its operations are those of its matrices."""

import itertools

import pytest
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.models.versions import build
from babygpt.training import Training, train
from benchmarks.profiling import MeteredObjective, PartMeter, add_meter_hooks, count_flop
from benchmarks.step import fixed_size_objective

TINY = {"n_layer": 2, "n_head": 2, "n_embd": 16}
BATCH, BLOCK = 3, 8
PLAN = TrainConfig(steps=5, batch_size=BATCH)


def metered(version: str, corpus: Corpus, meter: PartMeter) -> Training:
    torch.manual_seed(0)
    model = build(version, ModelConfig(corpus.tokenizer.vocab_size, BLOCK, **TINY))
    training = Training(model, MeteredObjective(fixed_size_objective(version, corpus, BLOCK), meter), PLAN)
    add_meter_hooks(training, meter)
    return training


def test_time_belongs_to_the_part_that_was_entered_last() -> None:
    now = iter([10, 13, 20, 24, 30])
    meter = PartMeter(lambda: next(now))

    def step():
        meter.enter("a")
        meter.enter("b")
        meter.enter("a")
        yield

    assert meter.measure_step(step()) == {"rest": 3, "a": 7 + 6, "b": 4}  # 10 to 30


@pytest.mark.parametrize("version", ["v1", "v4", "v6"])
def test_every_part_of_a_step_is_met_and_none_twice(small_corpus: Corpus, version: str) -> None:
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


def test_a_meter_changes_no_step(small_corpus: Corpus) -> None:
    losses = [step.loss for step in metered("v4", small_corpus, PartMeter(lambda: 0.0)).steps()]
    torch.manual_seed(0)
    model = build("v4", ModelConfig(small_corpus.tokenizer.vocab_size, BLOCK, **TINY))
    plain = train(model, fixed_size_objective("v4", small_corpus, BLOCK), PLAN)
    assert losses == [step.loss for step in plain]


@pytest.mark.parametrize(("version", "wider"), [("v4", 1), ("v7-quadrature", 2)])
def test_operations_are_those_of_the_matrices(
    small_corpus: Corpus, small_masked_corpus: Corpus, version: str, wider: int
) -> None:
    """Two for each number of each matrix and each token, and attention's own two products.

    The way back goes through each matrix twice. Attention on the CPU is one operator where q, k and v are
    alike, and separate products where q and k are twice as wide.
    """
    meter = PartMeter(lambda: 0.0)
    training = metered(version, small_masked_corpus if wider == 2 else small_corpus, meter)
    flop = count_flop(training, meter)
    tokens = BATCH * BLOCK
    tables = [p for name, p in training.model.named_parameters() if p.ndim == 2 and "embedding" not in name]
    matrices = 2 * tokens * sum(p.numel() for p in tables)
    scores, values = (2 * tokens * BLOCK * TINY["n_embd"] * TINY["n_layer"] * n for n in (wider, 1))
    assert flop["forward"] == matrices + scores + values
    again = scores if wider == 1 else 0  # the one operator takes the scores anew
    assert flop["backward"] == 2 * (matrices + scores + values) + again
    assert flop.get("batch", 0) == flop.get("AdamW", 0) == 0
    assert sum(meter.measure_step(training.steps()).values()) == 0.0  # by the clock again, which stands still
