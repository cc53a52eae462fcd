"""Times of steps, encodings, texts and sliders: what is computed from them, and one small run of each."""

import getpass
import itertools
import platform
from unittest.mock import MagicMock

import pytest
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.live import Run
from babygpt.models.versions import VERSIONS, build
from babygpt.training import Training, train
from benchmarks import live, step
from benchmarks.encodings import MEASURED, baseline_of, describe_times, measure_encodings
from benchmarks.generation import THRESHOLDS, measure_generation, median_speeds
from benchmarks.machine import describe_machine
from benchmarks.profiling import MeteredObjective, PartMeter, add_meter_hooks, count_flop
from benchmarks.step import describe_step, fixed_size_objective, mean_of_middle_half, measure_step
from benchmarks.timing import run_in_rounds, time_in_rounds
from tools.browser.server import course_notebook

TINY = {"n_layer": 2, "n_head": 2, "n_embd": 16}
BATCH, BLOCK = 3, 8
PLAN = TrainConfig(steps=5, batch_size=BATCH)


def test_a_machine_is_described_by_what_matters_for_speed_and_not_by_whose_it_is() -> None:
    machine = describe_machine()
    parts = {"processor", "cores", "threads", "instructions", "device", "system", "python", "torch"}
    assert set(machine) == parts
    assert all(machine.values())
    assert platform.node() not in machine.values()
    assert getpass.getuser() not in machine.values()


def test_tasks_take_turns_there_and_back_and_their_times_are_what_the_clock_says() -> None:
    called: list[str] = []
    tasks = {name: lambda name=name: called.append(name) or len(called) for name in "abc"}
    assert run_in_rounds(tasks, 3, "rounds") == {"a": [1, 6, 7], "b": [2, 5, 8], "c": [3, 4, 9]}
    assert called == list("abccbaabc")
    ticks = itertools.count()
    assert time_in_rounds({"a": lambda: None}, 2, "rounds", lambda: float(next(ticks))) == {"a": [1.0, 1.0]}


# ---------------------------------------------------------------- a training step


def metered(version: str, corpus: Corpus, meter: PartMeter) -> Training:
    torch.manual_seed(0)
    model = build(version, ModelConfig(corpus.tokenizer.vocab_size, BLOCK, **TINY))
    training = Training(model, MeteredObjective(fixed_size_objective(version, corpus, BLOCK), meter), PLAN)
    add_meter_hooks(training, meter)
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


def test_a_share_is_of_the_fastest_product_and_the_middle_half_adds_up() -> None:
    seconds, flop = {"rest": 0.001, "forward": 0.002}, {"forward": 3e6, "rest": 0.0}
    results = describe_step(seconds, flop, {"a": 2.0, "b": 4.0})
    assert list(results["ms"].items()) == [("forward", 2.0), ("rest", 1.0)]  # what is left over stands last
    assert (results["step_ms"], results["gflop_per_step"]) == (3.0, 0.003)
    assert (results["gflop_per_s"], results["share"]) == (1.0, 0.25)
    steps = [{"a": 1.0 * n, "rest": 2.0 * n} for n in (8, 1, 7, 2, 6, 3, 5, 4)]
    assert mean_of_middle_half(steps) == {"a": 4.5, "rest": 9.0}


def test_a_step_is_measured_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "SQUARES", {"cpu": (32, 48)})
    monkeypatch.setattr(step, "TIMEABLE_FLOP", {"cpu": 1e6})
    results = measure_step("v4", BATCH, BLOCK, rounds=1, n_chars=9_000, **TINY)
    assert sum(results["ms"].values()) == pytest.approx(results["step_ms"], abs=0.01)
    assert sum(results["gflop"].values()) == pytest.approx(results["gflop_per_step"], abs=0.001)
    assert results["steps"] == 10  # those of the first round warm up
    assert {f"{BATCH * BLOCK}x16x64", "48x48x48"} <= set(results["matmul_gflop_per_s"])
    assert 0 < sum(results["operators"].values()) <= 1.01
    with pytest.raises(ValueError, match=r"version \(v99\)"):
        measure_step("v99", rounds=1)


# ---------------------------------------------------------------- an encoding, a text


def test_each_encoding_is_measured_beside_a_body_that_reads_in_the_same_direction() -> None:
    assert set(VERSIONS) - set(MEASURED) == {"v1", "v2"}
    assert all(VERSIONS[baseline_of(version)].masks == VERSIONS[version].masks for version in MEASURED)
    versions = ("nope", "v6", "v7")
    results = measure_encodings(versions, rounds=2, batch_size=4, block_size=8, n_chars=9_000, **TINY)
    for key in ("added", "quartiles", "step_ms"):
        assert set(results[key]) == set(versions)
    with pytest.raises(ValueError, match=r"version \(v1\)"):
        measure_encodings(("v4", "v1"), rounds=1)


def test_added_is_the_median_of_what_each_round_adds() -> None:
    seconds = {
        "even": ([1.0, 2.0, 4.0], [1.1, 2.2, 4.4]),  # the machine slows down, both alike
        "dear": ([1.0, 1.0, 1.0], [1.2, 1.3, 9.0]),
        "free": ([2.0, 2.0, 2.0], [2.0, 2.0, 2.0]),
    }
    results = describe_times(seconds)
    assert results["added"] == {"even": 0.1, "dear": 0.3, "free": 0.0}
    assert results["quartiles"]["dear"] == [0.25, 4.15]
    assert results["above"] == ["dear"]
    assert results["step_ms"] == {"even": 2200.0, "dear": 1300.0, "free": 2000.0}


def test_all_ways_to_write_are_measured() -> None:
    results = measure_generation((3, 6), rounds=1, steps=2, tokens=40, n_chars=9_000, **TINY)
    diffusion = results.pop("diffusion")
    assert set(results) == {f"{what}_{n}" for what in ("cached", "uncached", "ratio") for n in (3, 6)}
    steps = [diffusion[way]["steps"] for way in THRESHOLDS]
    assert steps[0] == 40  # one by one
    assert steps == sorted(steps, reverse=True)  # a lower threshold never takes more of them
    speeds = median_speeds(10, cached=[0.5, 0.25, 9.0], uncached=[2.0, 5.0, 0.1])
    assert speeds == {"cached_10": 20.0, "uncached_10": 5.0, "ratio_10": 4.0}


# ---------------------------------------------------------------- the live lab


def test_the_median_of_each_slider_is_named_by_its_explorer_and_label(monkeypatch) -> None:
    """The usual way is there for the first explorer alone; of each kind the slowest slider counts."""
    idle = {(0, "σ₁"): [30.0, 50.0, 40.0], (1, "θ"): [20.0]}
    times = iter([idle, {key: [2 * ms for ms in found] for key, found in idle.items()}, {(0, "σ₁"): [200.0]}])
    monkeypatch.setattr(live, "press_sliders", lambda *_: next(times))
    monkeypatch.setattr(live, "wait_for_first_step", lambda _: None)
    controls = live.time_sliders(MagicMock(), 3, "05")
    assert controls == {
        "05, explorer 0: σ₁": {"idle_ms": 40.0, "training_ms": 80.0, "usual_ms": 200.0},
        "05, explorer 1: θ": {"idle_ms": 20.0, "training_ms": 40.0},
    }
    assert live.slowest(controls) == {"idle_ms": 40.0, "training_ms": 80.0, "usual_ms": 200.0}


def test_the_speed_is_steps_over_the_time_between_first_and_last(monkeypatch) -> None:
    """With a clock that moves by one second each time it is asked."""
    run = MagicMock(spec=Run)
    ticks = itertools.count()
    monkeypatch.setattr(live.time, "perf_counter", lambda: float(next(ticks)))
    assert live.steps_per_second(lambda model, corpus, steps: run) == live.STEPS - 1
    assert [call.args for call in run.wait_for_step.call_args_list] == [(1,), (live.STEPS,)]


def test_the_notebooks_of_the_benchmark_are_there() -> None:
    assert [course_notebook(number).name.split("_")[0] for number in live.NOTEBOOKS] == list(live.NOTEBOOKS)
    with pytest.raises(ValueError, match="no notebook 99"):
        course_notebook("99")
