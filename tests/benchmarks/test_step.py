"""What is said of a training step's time adds up, and the share is what it says."""

import pytest

from benchmarks import step
from benchmarks.profiling import Parts
from benchmarks.step import describe_step, mean_of_middle_half, measure_step

TINY = {"n_layer": 1, "n_head": 2, "n_embd": 16}
BATCH, BLOCK = 3, 8


def test_the_middle_half_adds_up() -> None:
    steps: list[Parts] = [{"a": 1.0 * n, "rest": 2.0 * n} for n in (8, 1, 7, 2, 6, 3, 5, 4)]
    assert mean_of_middle_half(steps) == {"a": 4.5, "rest": 9.0}
    assert mean_of_middle_half(steps[:1]) == steps[0]


def test_a_share_is_of_the_fastest_product() -> None:
    seconds, flop = {"rest": 0.001, "forward": 0.002}, {"forward": 3e6, "rest": 0.0}
    results = describe_step(seconds, flop, {"a": 2.0, "b": 4.0})
    assert list(results["ms"].items()) == [("forward", 2.0), ("rest", 1.0)]  # what is left over stands last
    assert (results["step_ms"], results["gflop_per_step"]) == (3.0, 0.003)
    assert results["gflop"] == {"forward": 0.003}
    assert (results["gflop_per_s"], results["share"]) == (1.0, 0.25)


def test_a_step_is_measured_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "SQUARES", {"cpu": (32, 48)})
    monkeypatch.setattr(step, "TIMEABLE_FLOP", {"cpu": 1e6})
    results = measure_step("v4", BATCH, BLOCK, rounds=1, n_chars=9_000, **TINY)
    assert sum(results["ms"].values()) == pytest.approx(results["step_ms"], abs=0.01)
    assert sum(results["gflop"].values()) == pytest.approx(results["gflop_per_step"], abs=0.001)
    assert results["steps"] == 10  # those of the first round warm up
    assert {f"{BATCH * BLOCK}x16x64", "48x48x48"} <= set(results["matmul_gflop_per_s"])
    assert all(rate > 0 for rate in results["matmul_gflop_per_s"].values())
    assert 0 < sum(results["operators"].values()) <= 1.01
    assert list(results["operators"].values()) == sorted(results["operators"].values(), reverse=True)


def test_a_version_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match=r"version \(v99\)"):
        measure_step("v99", rounds=1)
