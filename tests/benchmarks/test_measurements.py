"""Times of the parts of a training step: what is computed from them, and one small run."""

import itertools

import pytest
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.models.versions import build
from babygpt.training import Training
from benchmarks import step
from benchmarks.step import MeteredObjective, PartMeter, count_flop, measure_step

TINY = {"n_layer": 2, "n_head": 2, "n_embd": 16}
BATCH, BLOCK = 3, 8
PLAN = TrainConfig(steps=5, batch_size=BATCH)


# ---------------------------------------------------------------- a training step


def metered(version: str, corpus: Corpus, meter: PartMeter) -> Training:
    torch.manual_seed(0)
    model = build(version, ModelConfig(corpus.tokenizer.vocab_size, BLOCK, **TINY))
    training = Training(
        model, MeteredObjective(step.fixed_size_objective(version, corpus, BLOCK), meter), PLAN
    )
    step.add_meter_hooks(training, meter)
    return training


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


def test_a_step_is_measured_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "SQUARES", {"cpu": (32, 48)})
    monkeypatch.setattr(step, "TIMEABLE_FLOP", {"cpu": 1e6})
    results = measure_step("v4", BATCH, BLOCK, rounds=1, n_chars=9_000, **TINY)
    assert sum(results["ms"].values()) == pytest.approx(results["step_ms"], abs=0.01)
    assert sum(results["gflop"].values()) == pytest.approx(results["gflop_per_step"], abs=0.001)
    assert results["steps"] == 10  # those of the first round warm up
    assert {f"{BATCH * BLOCK}x16x64", "48x48x48"} <= set(results["matmul_gflop_per_s"])
    with pytest.raises(ValueError, match=r"version \(v99\)"):
        measure_step("v99", rounds=1)
