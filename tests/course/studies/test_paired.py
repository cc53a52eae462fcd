"""Rule for paired differences, against printed tables of Student's distribution and against luck."""

import numpy as np
import pytest

from babygpt.errors import BadInput
from babygpt_course.studies.paired import beside, critical_t, decided_side


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
        ([0.1, 0.2], "undecided"),  # the mean is 3 errors off, and two seeds need 12.7
        ([0.10, 0.11, 0.12, 0.10, 0.13], "above"),
        ([-0.10, -0.11, -0.12, -0.10, -0.13], "below"),
        ([0.10, 0.11, 0.12, 0.10, -0.001], "undecided"),  # a sign apart, though 4 errors off
        ([0.01, 0.01, 0.01, 0.01, 0.9], "undecided"),  # one sign, though one seed makes all of the mean
        ([0.0, 0.0, 0.0], "undecided"),
        ([-0.2, -0.2], "below"),
    ],
)
def test_sides_by_hand(differences, side):
    assert decided_side(differences) == side


def test_a_run_that_diverged_is_refused():
    with pytest.raises(BadInput, match="nan"):
        decided_side([0.1, float("nan"), 0.2])


def test_equal_models_are_seldom_told_apart():
    draws = np.random.default_rng(0).normal(size=(4000, 5)).tolist()
    assert 0.02 < np.mean([decided_side(some) != "undecided" for some in draws]) < 0.05


@pytest.mark.parametrize(
    ("yours", "ours", "unit", "line"),
    [
        (0.55, [0.61, 0.54], "", "yours 0.55; ours 0.54 to 0.61, 2 seeds"),
        (1.2345, [1.5], "nats", "yours 1.23 nats; ours 1.5 nats, 1 seed"),
        (0.5, [0.97, 1.0, 0.985], "%", "yours 50%; ours 97 to 100%, 3 seeds"),
        (0.5, [0.5, 0.5], "%", "yours 50%; ours 50%, 2 seeds"),
    ],
)
def test_your_run_stands_beside_ours(yours, ours, unit, line):
    assert beside(yours, ours, unit) == line


def test_nothing_stored_cannot_stand_beside():
    with pytest.raises(ValueError, match="no stored number"):
        beside(0.5, [])
