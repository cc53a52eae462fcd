"""What is written is counted right. How long it takes is for the benchmark to say."""

import pytest

import benchmarks as bench
from benchmarks.generation import THRESHOLDS, speeds

TINY = {"n_layer": 1, "n_head": 2, "n_embd": 16}


def test_a_benchmark_of_generation_tells_of_all_ways() -> None:
    told = bench.generation((3, 6), turns=1, steps=2, tokens=40, n_chars=9_000, **TINY)
    diffusion = told.pop("diffusion")
    assert set(told) == {f"{what}_{n}" for what in ("cached", "uncached", "ratio") for n in (3, 6)}
    assert all(number >= 0 for number in told.values())
    assert set(diffusion) == set(THRESHOLDS)
    assert all(way["tokens_per_s"] >= 0 for way in diffusion.values())
    steps = [way["steps"] for way in diffusion.values()]
    assert steps[0] == 40  # one by one
    assert steps == sorted(steps, reverse=True)  # a lower threshold never takes more of them
    assert steps[-1] >= 2  # a block of half a window, and what is left


def test_speeds_are_medians_of_what_was_timed() -> None:
    told = speeds(10, cached=[0.5, 0.25, 9.0], uncached=[2.0, 5.0, 0.1])
    assert told == {"cached_10": 20.0, "uncached_10": 5.0, "ratio_10": 4.0}


def test_no_turns_are_refused() -> None:
    with pytest.raises(ValueError, match=r"turns \(0\)"):
        bench.generation((3,), turns=0, **TINY)
