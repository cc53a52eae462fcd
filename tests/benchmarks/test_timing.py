"""Tasks take turns, there and back; their times are what the clock says."""

import pytest

from benchmarks.timing import quartiles, run_in_rounds, time_in_rounds


def test_every_other_round_goes_backwards_and_results_stay_in_order() -> None:
    called: list[str] = []
    tasks = {name: lambda name=name: called.append(name) or len(called) for name in "abc"}
    results = run_in_rounds(tasks, 3, "rounds")
    assert called == list("abccbaabc")
    assert results == {"a": [1, 6, 7], "b": [2, 5, 8], "c": [3, 4, 9]}


def test_a_time_is_what_the_clock_moved_on() -> None:
    now = [0.0]

    def takes(seconds: float) -> None:
        now[0] += seconds

    tasks = {"quick": lambda: takes(1.0), "slow": lambda: takes(4.0)}
    assert time_in_rounds(tasks, 2, "rounds", lambda: now[0]) == {"quick": [1.0, 1.0], "slow": [4.0, 4.0]}


def test_no_rounds_are_refused() -> None:
    with pytest.raises(ValueError, match=r"rounds \(0\)"):
        run_in_rounds({}, 0, "rounds")


@pytest.mark.parametrize(
    ("values", "expected"),
    [([5.0, 1.0, 3.0, 2.0, 4.0], [2.0, 3.0, 4.0]), ([7.0], [7.0] * 3)],
    ids=["five", "one"],
)
def test_quartiles_and_median(values: list[float], expected: list[float]) -> None:
    assert quartiles(values) == expected
