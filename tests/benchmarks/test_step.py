"""The parts of a step add up, its operations are those of its matrices, and the share is what it says."""

import itertools

import pytest
import torch

import benchmarks as bench
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.models.versions import build
from babygpt.training import Training, train
from benchmarks.parts import Laps, Parts, Watched, watch
from benchmarks.step import count, middle_half, rate, suited, summary

TINY = {"n_layer": 2, "n_head": 2, "n_embd": 16}
BATCH, BLOCK = 3, 8


def watched(version: str, corpus: Corpus, laps: Laps) -> Training:
    torch.manual_seed(0)
    model = build(version, ModelConfig(corpus.tokenizer.vocab_size, BLOCK, **TINY))
    objective = Watched(suited(version, corpus, BLOCK), laps)
    training = Training(model, objective, TrainConfig(steps=5, batch_size=BATCH))
    watch(training, laps)
    return training


def test_laps_belong_to_the_part_that_was_entered_last() -> None:
    now = iter([0, 10, 13, 20, 24, 30])
    laps = Laps(lambda: next(now))
    assert laps.since == 0

    def step():
        laps.enter("a")
        laps.enter("b")
        laps.enter("a")
        yield

    assert laps.take(step()) == {"rest": 3, "a": 7 + 6, "b": 4}  # 10 to 30


@pytest.mark.parametrize("version", ["v1", "v4", "v6"])
def test_every_part_of_a_step_is_met_and_none_twice(small_corpus: Corpus, version: str) -> None:
    ticks = itertools.count()
    laps = Laps(lambda: float(next(ticks)))
    training = watched(version, small_corpus, laps)
    before = next(ticks)
    parts = laps.take(training.steps())
    after = next(ticks)
    moving = {type(optimizer).__name__ for optimizer in training.optimizers}
    assert set(parts) == {"rest", "batch", "loss", "forward", "backward"} | moving
    assert sum(parts.values()) == after - before - 2  # nothing is lost, nothing is counted twice
    assert all(taken >= 1 for taken in parts.values())


def test_watching_changes_no_step(small_corpus: Corpus) -> None:
    seen = [step.loss for step in watched("v4", small_corpus, Laps(lambda: 0.0)).steps()]
    torch.manual_seed(0)
    model = build("v4", ModelConfig(small_corpus.tokenizer.vocab_size, BLOCK, **TINY))
    plan = TrainConfig(steps=5, batch_size=BATCH)
    assert seen == [step.loss for step in train(model, suited("v4", small_corpus, BLOCK), plan)]


@pytest.mark.parametrize(("version", "wider"), [("v4", 1), ("v7-quadrature", 2)])
def test_operations_are_those_of_the_matrices(
    small_corpus: Corpus, small_masked_corpus: Corpus, version: str, wider: int
) -> None:
    """Two for each number of each matrix and each token, and attention's own two products.

    The way back goes through each matrix twice. Attention on the CPU is one operator where q, k and v are
    alike, and separate products where q and k are twice as wide.
    """
    laps = Laps(lambda: 0.0)
    training = watched(version, small_masked_corpus if wider == 2 else small_corpus, laps)
    flop = count(training, laps)
    tokens = BATCH * BLOCK
    tables = [p for name, p in training.model.named_parameters() if p.ndim == 2 and "embedding" not in name]
    matrices = 2 * tokens * sum(p.numel() for p in tables)
    scores, values = (2 * tokens * BLOCK * TINY["n_embd"] * TINY["n_layer"] * n for n in (wider, 1))
    assert flop["forward"] == matrices + scores + values
    again = scores if wider == 1 else 0  # the one operator takes the scores anew
    assert flop["backward"] == 2 * (matrices + scores + values) + again
    assert flop.get("batch", 0) == flop.get("AdamW", 0) == 0


def test_counting_gives_the_clock_back(small_corpus: Corpus) -> None:
    laps = Laps(lambda: 7.0)
    count(watched("v1", small_corpus, laps), laps)
    assert laps.read() == 7.0


def test_the_middle_half_adds_up() -> None:
    taken: list[Parts] = [{"a": 1.0 * n, "rest": 2.0 * n} for n in (8, 1, 7, 2, 6, 3, 5, 4)]
    assert middle_half(taken) == {"a": 4.5, "rest": 9.0}
    assert middle_half(taken[:1]) == taken[0]


def test_a_share_is_of_the_fastest_product() -> None:
    told = summary({"rest": 0.001, "forward": 0.002}, {"forward": 3e6, "rest": 0.0}, {"a": 2.0, "b": 4.0})
    assert list(told["ms"].items()) == [("forward", 2.0), ("rest", 1.0)]  # what is left over stands last
    assert (told["step_ms"], told["gflop_per_step"], told["gflop"]) == (3.0, 0.003, {"forward": 0.003})
    assert (told["gflop_per_s"], told["share"]) == (1.0, 0.25)


def test_a_product_has_a_rate() -> None:
    assert rate(64, 32, 16, torch.device("cpu")) > 0


def test_a_benchmark_of_a_step_tells_all_of_it() -> None:
    told = bench.step("v4", BATCH, BLOCK, turns=1, n_chars=9_000, **TINY)
    assert sum(told["ms"].values()) == pytest.approx(told["step_ms"], abs=0.01)
    assert sum(told["gflop"].values()) == pytest.approx(told["gflop_per_step"], abs=0.001)
    assert told["steps"] == 10  # those of the first turn warm up
    assert f"{BATCH * BLOCK}x16x64" in told["matmul_gflop_per_s"]
    assert "1024x1024x1024" in told["matmul_gflop_per_s"]
    assert 0 < sum(told["operators"].values()) <= 1.01
    assert list(told["operators"].values()) == sorted(told["operators"].values(), reverse=True)


@pytest.mark.parametrize(
    ("version", "turns", "says"), [("v4", 0, r"turns \(0\)"), ("v99", 1, r"version \(v99\)")]
)
def test_what_cannot_be_measured_is_refused(version: str, turns: int, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        bench.step(version, turns=turns)
