"""Rule for paired differences, against printed tables of Student's distribution and against luck."""

import numpy as np
import pytest

from babygpt.errors import BadInput
from babygpt_course.studies.paired import RULE, agreed, beside, critical_t, decided_side, exceeds


@pytest.mark.parametrize(("n", "printed"), [(2, 12.706), (3, 4.303), (5, 2.776), (11, 2.228), (31, 2.042)])
def test_quantiles_are_those_of_the_printed_tables(n, printed):
    assert critical_t(n) == pytest.approx(printed, abs=6e-4)


def test_one_difference_has_no_error():
    with pytest.raises(ValueError, match="1 differences"):
        critical_t(1)


@pytest.mark.parametrize(
    ("differences", "side"),
    [
        ([0.3], "undecided"),
        ([0.10, 0.11, 0.12, 0.10, 0.13], "undecided"),  # five seeds never decide
        ([0.10, 0.11, 0.12, 0.10, 0.13, 0.11], "above"),
        ([-0.10, -0.11, -0.12, -0.10, -0.13, -0.11], "below"),
        ([0.10, 0.11, 0.12, 0.10, 0.11, -0.001], "undecided"),  # a sign apart, though 4 errors off
        ([0.01, 0.01, 0.01, 0.01, 0.01, 0.9], "undecided"),  # one sign, though one seed makes all of the mean
        ([0.0] * 6, "undecided"),
        ([-0.2] * 6, "below"),
    ],
)
def test_the_side_is_the_one_decided_by_hand(differences, side):
    assert decided_side(differences) == side


def test_a_run_that_diverged_is_refused():
    with pytest.raises(BadInput, match="nan"):
        decided_side([0.1, float("nan"), 0.2])


def test_sets_of_seeds_decide_only_together():
    assert [agreed(sides) for sides in (["above"] * 2, ["above", "below"], [])] == ["above"] + [
        "undecided"
    ] * 2


def test_fewer_than_1_of_35_comparisons_of_equal_models_is_decided():
    draws = np.random.default_rng(0).normal(size=(20_000, 6)).tolist()
    share = np.mean([decided_side(some) != "undecided" for some in draws])
    assert 1 / 45 < share < 1 / 35
    assert "fewer than 1 of 35" in RULE


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([0.05, 0.06, 0.05, 0.04, 0.05, 0.06], "holds"),
        ([0.011, 0.012, 0.010, 0.011, 0.012, 0.011], "undecided"),  # above 0, and too little to count
        ([0.001, -0.002, 0.001, 0.0, 0.002, -0.001], "fails"),  # nothing
        ([-0.05, -0.06, -0.05, -0.04, -0.05, -0.06], "fails"),  # the opposite
        ([0.3, -0.3, 0.2, -0.2, 0.1, 0.1], "undecided"),  # too wide to tell
    ],
)
def test_an_effect_holds_fails_or_is_undecided(differences, verdict):
    assert exceeds(differences) == verdict


@pytest.mark.parametrize(
    ("yours", "ours", "unit", "line"),
    [
        (0.55, [0.61, 0.54], "", "yours 0.55; ours 0.54 to 0.61, 2 seeds"),
        (1.2345, [1.5], "nats", "yours 1.23 nats; ours 1.5 nats, 1 seed"),
        (0.5, [0.97, 1.0, 0.985], "%", "yours 50%; ours 97 to 100%, 3 seeds"),
        (0.5, [0.5, 0.5], "%", "yours 50%; ours 50%, 2 seeds"),
    ],
)
def test_a_readers_run_is_compared_with_the_stored_runs(yours, ours, unit, line):
    assert beside(yours, ours, unit) == line


def test_a_comparison_with_no_stored_number_is_refused():
    with pytest.raises(ValueError, match="no stored number"):
        beside(0.5, [])
