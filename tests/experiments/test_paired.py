"""Rule for paired differences, against printed tables of Student's distribution, by hand and against luck."""

from math import comb

import numpy as np
import pytest

from babygpt.errors import BadInput
from babygpt.experiments.paired import (
    beside,
    chance_of,
    compare,
    critical_t,
    exceeds,
    has_more_seeds,
    holm,
    share_decided,
    sign_test,
)

TENTHS = [0.10, 0.11, 0.12, 0.10, 0.13, 0.11, 0.09, 0.12, 0.10, 0.11, 0.12, 0.10]


@pytest.mark.parametrize(
    ("n", "level", "printed"),
    [(2, 0.95, 12.706), (5, 0.95, 2.776), (31, 0.95, 2.042), (12, 0.99, 3.106), (20, 0.99, 2.861)],
)
def test_quantiles_are_those_of_the_printed_tables(n, level, printed):
    assert critical_t(n, level) == pytest.approx(printed, abs=6e-4)


def test_one_difference_has_no_error():
    with pytest.raises(BadInput, match="1 differences"):
        critical_t(1)


def test_the_interval_is_the_one_computed_by_hand():
    comparison = compare(TENTHS)
    half = 3.106 * np.std(TENTHS, ddof=1) / np.sqrt(12)
    assert (comparison.mean, comparison.n) == (pytest.approx(np.mean(TENTHS)), 12)
    assert [comparison.low, comparison.high] == pytest.approx(
        [comparison.mean - half, comparison.mean + half], abs=1e-5
    )
    assert comparison.most == comparison.high
    assert f"{comparison}" == "+0.11 (99%: +0.10 to +0.12, 12 seeds)"
    assert f"{compare([-0.25]):+.1f}" == "-0.2 (1 seed)"


@pytest.mark.parametrize(
    ("differences", "side"),
    [
        (TENTHS, "above"),
        ([-x for x in TENTHS], "below"),
        (TENTHS[:11], "undecided"),  # eleven seeds never decide
        ([x / 10 for x in TENTHS], "undecided"),  # too little to count
        ([1.2] * 6 + [-0.01] * 6, "above"),  # no six of them have to show it alone
        ([0.9] * 3 + [-0.01] * 9, "undecided"),
        ([*TENTHS[:11], -0.001], "above"),  # one seed on the other side does not forbid it
        ([0.01] * 11 + [0.9], "undecided"),  # one seed makes all of the mean
        ([0.0] * 12, "undecided"),
        ([-0.2] * 12, "below"),
    ],
)
def test_the_side_is_the_one_decided_by_hand(differences, side):
    assert compare(differences).side == side


def test_seeds_that_suggested_a_comparison_leave_it_undecided():
    assert compare(TENTHS, suggested=True).side == "undecided"
    assert exceeds(TENTHS, suggested=True) == exceeds([-x for x in TENTHS], suggested=True) == "undecided"


def test_more_seeds_than_another_of_the_family_show_a_selection():
    assert has_more_seeds(TENTHS, [TENTHS[:6], TENTHS])
    assert not has_more_seeds(TENTHS[:6], [TENTHS[:6], TENTHS])
    assert not has_more_seeds(TENTHS, [TENTHS, TENTHS])


@pytest.mark.parametrize(("t", "n", "printed"), [(2.201, 12, 0.05), (4.437, 12, 0.001), (0.697, 12, 0.5)])
def test_chances_are_those_of_the_printed_tables(t, n, printed):
    assert chance_of(t, n) == chance_of(-t, n) == pytest.approx(printed, rel=2e-3)


def test_a_comparison_has_its_chance():
    t = np.mean(TENTHS) / (np.std(TENTHS, ddof=1) / np.sqrt(12))
    assert compare(TENTHS).p == pytest.approx(chance_of(t, 12))
    assert [compare(gaps).p for gaps in ([0.3], [0.3, 0.3], [0.0, 0.0])] == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("chances", "stand"),
    [
        ([0.01, 0.04, 0.03, 0.005], [True, False, False, True]),  # Holm's steps 0.05 / 4, 3, 2, 1
        ([0.03, 0.02], [True, True]),
        ([0.03, 0.026], [False, False]),  # the first step fails, and ends it
        ([], []),
    ],
)
def test_holms_steps_are_those_done_by_hand(chances, stand):
    assert holm(chances, level=0.95) == stand


def test_a_family_of_equal_models_is_seldom_wrong():
    draws = np.random.default_rng(3).normal(0.0, 1.0, (2_000, 8, 12))
    wrong = np.mean([any(holm([compare(gaps).p for gaps in study], 0.9)) for study in draws.tolist()])
    assert wrong == pytest.approx(0.1, abs=0.02)


def test_a_run_that_diverged_is_refused():
    with pytest.raises(BadInput, match="nan"):
        compare([0.1, float("nan"), 0.2])


def test_the_rule_sees_what_its_power_says_and_seldom_errs():
    draws = np.random.default_rng(1).normal(0.8, 1.0, (2_000, 12)).tolist()
    by_rule = np.mean([compare(gaps, 0.0).side != "undecided" for gaps in draws])
    assert share_decided(0.8, 12) == pytest.approx(by_rule, abs=0.03)
    assert share_decided(0.0, 12) == pytest.approx(0.01, abs=0.002)
    assert share_decided(3.0, 11) == 0.0


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        (TENTHS, "holds"),
        ([x / 10 for x in TENTHS], "fails"),  # above 0, and too little to count
        ([0.001, -0.002, 0.001, 0.0, 0.002, -0.001] * 2, "fails"),  # nothing
        ([-x for x in TENTHS], "fails"),  # the opposite
        ([0.3, -0.3, 0.2, -0.2, 0.1, 0.1] * 2, "undecided"),  # too wide to tell
        ([-x for x in TENTHS[:6]], "undecided"),  # too few seeds
    ],
)
def test_an_effect_holds_fails_or_is_undecided(differences, verdict):
    assert exceeds(differences) == verdict


def test_the_sign_test_counts_the_seeds_that_differ():
    often, seldom = [True] * 9 + [False] * 3, [True] + [False] * 10 + [True]
    assert sign_test(often, seldom) == pytest.approx(2 * (comb(9, 0) + comb(9, 1)) / 2**9)
    assert sign_test(often, often) == 1.0
    assert sign_test([True] * 8, [False] * 8) == pytest.approx(2 / 2**8)


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
