"""Stored numbers that lessons 00 to 04 and 09 quote: a lesson asserts nothing that a run decides."""

from statistics import mean

import numpy as np
import pytest

from babygpt_course.museum.costs import differences, load_costs
from babygpt_course.studies.results import load_results

SHORT, LONG = (f"v4, plain-tales, {steps} steps" for steps in (450, 1800))


@pytest.fixture(scope="module")
def roles():
    return load_results("roles")


@pytest.fixture(scope="module")
def names():
    return load_results("names")


def test_00_a_larger_v4_knows_who_did_it_and_its_twin_without_a_code_does_not(roles):
    assert min(roles["accuracy"]["v4"]) > 0.9
    assert max(roles["accuracy"]["nope"]) < 0.75


def test_00_a_cut_window_costs_the_best_reader_more_than_the_floor():
    floors = load_results("floors")
    assert np.mean(floors["mean"]["tales"][:96]) - floors["floor"]["tales"] > 0.1


def test_03b_the_best_seed_of_nope_on_the_full_tales(roles):
    assert f"{max(roles['accuracy']['nope']):.1%}" == "68.5%"


def test_04_v3_is_ahead_of_v4_inside_its_window(roles):
    by_seed = zip(roles["val_loss"]["v3"], roles["val_loss"]["v4"], strict=True)
    assert all(v3 < v4 for v3, v4 in by_seed)
    assert min(roles["accuracy"]["v3"]) > 0.97


def test_04_v4_finds_the_name_and_does_not_write_it(names):
    assert min(names["accuracy"][SHORT]) > 0.9
    assert max(names["whole"][SHORT]) < 0.5
    for first, second, _, *rest in names["letters"][SHORT]:
        assert max(first, *rest) < 0.1
        assert second == pytest.approx(np.log(5), abs=0.2)
    fewest, middle, _ = sorted(names["whole"][LONG])
    assert fewest < 0.3 < 0.85 < middle


def test_04_answers_and_repeated_words_cost_less_after_more_steps(names):
    known = 0.0
    for part in ("answer", "repeated word"):
        before, after = ([seed[part] for seed in names["parts"][arm]] for arm in (SHORT, LONG))
        assert all(0.015 < loss < 0.03 for loss in before)
        assert sum(after) < sum(before)
        known += mean(before)
    best_reader, _ = load_results("floors")["window"]["plain-tales"]["64"]
    assert 0.35 < known / (mean(names["val_loss"][SHORT]) - best_reader) < 0.75
    assert sorted(seed["answer"] for seed in names["parts"][LONG])[1] < 0.002  # in two of three seeds


def test_04_the_first_layer_has_a_head_that_is_needed(names):
    assert max(min(seed[0]) for seed in names["without"][SHORT]) < 0.65


def test_09_of_fourteen_bugs_eight_cost_two_help_and_four_do_nothing():
    costs = load_costs()
    by_name = differences(costs)
    higher = [name for name, found in by_name.items() if min(found) > 0]
    lower = [name for name, found in by_name.items() if max(found) < 0]
    unchanged = [name for name, found in by_name.items() if not any(found)]
    assert (len(higher), len(lower), len(unchanged)) == (8, 2, 5)  # the healthy model is its own twin
    assert all(min(by_name[name]) > 0.035 and max(by_name[name]) < 0.345 for name in higher)
    assert lower == ["codes added twice", "mask off by one"]
    assert all(-0.11 < gap < -0.08 for gap in by_name["codes added twice"])
    by_seed = costs["ends"]["nothing wrong"]
    assert 0.06 < max(by_seed) - min(by_seed) < 0.14
