"""The measurement of long use says what grows, and by how much."""

import json
import threading

import pytest

from benchmarks import memory
from benchmarks.memory import MemorySample, after_warm_up, growth


def sample(minutes, mib=500.0, blocks=1000, steps=0, **more):
    return MemorySample(minutes, steps, mib, blocks, **{"files": 5, "threads": 2, **more})


def test_growth_is_the_slope_of_what_was_sampled():
    samples = [sample(m, mib=100 + 2 * m, blocks=50 + 30 * m, steps=10 * m) for m in range(30)]
    found = growth(samples)
    assert found["mib_per_hour"] == pytest.approx(120)
    assert found["blocks_per_step"] == pytest.approx(3)
    assert (found["minutes"], found["steps"]) == (29, 290)
    gained = growth([sample(0), sample(1, steps=1, files=4, threads=7)])
    assert [gained[f"{name}_gained"] for name in ("files", "threads")] == [-1, 5]


def test_noise_around_a_level_is_no_growth():
    samples = [sample(m, mib=100 + (-1) ** m, steps=m) for m in range(60)]
    assert abs(growth(samples)["mib_per_hour"]) < 1


def test_the_warm_up_is_left_out():
    samples = [sample(m, mib=500.0 if m >= 2 else 100.0, steps=m) for m in range(12)]
    assert growth(after_warm_up(samples))["mib_per_hour"] == pytest.approx(0)
    with pytest.raises(ValueError, match="1 samples are too few"):
        after_warm_up(samples[:1])


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(minutes):
    with pytest.raises(ValueError, match=r"minutes \("):
        memory.require_measurable(minutes, 50)


def test_too_few_runs_are_refused(small_corpus):
    with pytest.raises(ValueError, match=r"runs \(2\)"):
        memory.measure_many_runs(small_corpus, n=2)


def test_long_use_is_measured_and_nothing_is_printed(small_corpus, capsys):
    found = memory.measure_long_run(small_corpus, minutes=0.02, n_samples=4)
    assert found["steps"] > 0
    assert [set(one) for one in found["readings"][:1]] == [set(MemorySample.__dataclass_fields__)]
    many = memory.measure_many_runs(small_corpus, n=3, steps=1)
    assert (many["runs"], len(many["readings"]), many["threads_gained"]) == (3, 3, 0)
    json.dumps([found, many])
    assert capsys.readouterr().out == ""
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("babygpt trainer")]
