"""Ways take turns, there and back; what is told of their times is what was read."""

import pytest

from benchmarks.turns import in_turn, middle


def test_every_other_turn_goes_backwards() -> None:
    done: list[str] = []
    took = in_turn({name: lambda name=name: done.append(name) for name in "abc"}, 3, "turns")
    assert done == list("abccbaabc")
    assert {name: len(times) for name, times in took.items()} == {"a": 3, "b": 3, "c": 3}


def test_a_time_is_what_the_clock_moved_on() -> None:
    now = [0.0]

    def takes(seconds: float) -> None:
        now[0] += seconds

    ways = {"quick": lambda: takes(1.0), "slow": lambda: takes(4.0)}
    assert in_turn(ways, 2, "turns", lambda: now[0]) == {"quick": [1.0, 1.0], "slow": [4.0, 4.0]}


def test_no_turns_are_refused() -> None:
    with pytest.raises(ValueError, match=r"turns \(0\)"):
        in_turn({}, 0, "turns")


@pytest.mark.parametrize(
    ("values", "quartiles"),
    [([5.0, 1.0, 3.0, 2.0, 4.0], [2.0, 3.0, 4.0]), ([7.0], [7.0] * 3)],
    ids=["five", "one"],
)
def test_the_middle_is_quartiles_and_median(values: list[float], quartiles: list[float]) -> None:
    assert middle(values) == quartiles
