"""What is written is counted right. How long it takes is for the benchmark to say."""

from benchmarks.generation import THRESHOLDS, measure_generation, median_speeds

TINY = {"n_layer": 1, "n_head": 2, "n_embd": 16}


def test_all_ways_to_write_are_measured() -> None:
    results = measure_generation((3, 6), rounds=1, steps=2, tokens=40, n_chars=9_000, **TINY)
    diffusion = results.pop("diffusion")
    assert set(results) == {f"{what}_{n}" for what in ("cached", "uncached", "ratio") for n in (3, 6)}
    assert all(number >= 0 for number in results.values())
    assert set(diffusion) == set(THRESHOLDS)
    assert all(way["tokens_per_s"] >= 0 for way in diffusion.values())
    steps = [way["steps"] for way in diffusion.values()]
    assert steps[0] == 40  # one by one
    assert steps == sorted(steps, reverse=True)  # a lower threshold never takes more of them
    assert steps[-1] >= 2  # a block of half a window, and what is left


def test_speeds_are_medians_of_what_was_timed() -> None:
    speeds = median_speeds(10, cached=[0.5, 0.25, 9.0], uncached=[2.0, 5.0, 0.1])
    assert speeds == {"cached_10": 20.0, "uncached_10": 5.0, "ratio_10": 4.0}
