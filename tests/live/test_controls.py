"""A control refuses what it cannot show, and its widget begins where it was told to."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babygpt.live.controls import Choice, Line, Scale, Slider

above_zero = st.floats(1e-6, 1e9)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Slider("place", 11, 0, 10), ["place", "11", "0", "10"]),
        (lambda: Slider("place", -1, 0, 10), ["place", "-1", "0", "10"]),
        (lambda: Slider("place", 3, 5, 1), ["place", "5", "1"]),
        (lambda: Scale("theta", 3.0, 5.0, 1.0), ["theta", "5.0", "1.0"]),
        (lambda: Slider("width", 9, 8, 128, step=8), ["width", "9", "8"]),
        (lambda: Scale("theta", 5.0, 10.0, 100.0), ["theta", "5.0", "10.0", "100.0"]),
        (lambda: Scale("theta", 500.0, 10.0, 100.0), ["theta", "500.0", "10.0", "100.0"]),
        (lambda: Scale("theta", 5.0, 0.0, 10.0), ["theta", "0.0"]),
        (lambda: Scale("theta", 5.0, -1.0, 10.0), ["theta", "-1.0"]),
        (lambda: Scale("theta", math.nan, 1.0, 10.0), ["theta", "nan"]),
        (lambda: Scale("theta", 5.0, math.nan, 10.0), ["theta", "nan"]),
        (lambda: Scale("theta", 5.0, 1.0, math.nan), ["theta", "nan"]),
        (lambda: Choice("n_head", ()), ["n_head"]),
        (lambda: Choice("n_head", []), ["n_head"]),
    ],
)
def test_what_cannot_be_is_refused_with_its_name_and_numbers(make, told):
    with pytest.raises(ValueError, match=told[0]) as caught:
        make()
    for part in told[1:]:
        assert part in str(caught.value)


@given(low=above_zero, high=above_zero, share=st.floats(0, 1))
def test_the_stops_of_a_scale_rise_from_end_to_end_through_the_first_value(low, high, share):
    low, high = sorted((low, high))
    if low == high:
        high *= 2
    value = min(max(low, low + share * (high - low)), high)
    scale = Scale("theta", value, low, high)
    stops = scale.stops()
    assert (stops[0], stops[-1]) == (low, high)
    assert value in stops
    assert all(before < after for before, after in pairwise(stops))
    assert len(stops) <= 10 * math.log10(high / low) + 4
    assert scale.widget().value == value


@given(low=above_zero)
def test_a_scale_has_a_stop_for_each_tenth_of_a_power_of_ten(low):
    stops = Scale("theta", low, low, 1000 * low).stops()
    assert 31 <= len(stops) <= 33  # the ends may lie just beside a stop of three digits
    assert all(after / before < 10**0.1 * 1.01 for before, after in pairwise(stops))


@given(
    low=st.integers(-100, 100),
    step=st.integers(1, 9),
    ends=st.tuples(st.integers(0, 30), st.integers(0, 30)).filter(lambda pair: max(pair) > 0),
)
def test_a_slider_begins_where_it_was_told_and_stays_between_its_ends(low, step, ends):
    at, n = sorted(ends)
    widget = Slider("place", low + at * step, low, low + n * step, "place (tokens)", step).widget()
    assert (widget.value, widget.min, widget.max, widget.step) == (low + at * step, low, low + n * step, step)
    widget.value = low + n * step + 100
    assert widget.value == low + n * step


def test_both_ends_are_included():
    for value in (0, 10):
        assert Slider("place", value, 0, 10).widget().value == value
    for value in (1.0, 10.0):
        assert Scale("theta", value, 1.0, 10.0).widget().value == value


def test_a_choice_begins_with_its_first_option():
    widget = Choice("n_head", (4, 2, 6)).widget()
    assert widget.value == 4
    assert list(widget.options) == [4, 2, 6]


def test_a_line_holds_its_text():
    assert Line("text", "ann met bob").widget().value == "ann met bob"


@pytest.mark.parametrize(
    "control",
    [
        lambda label: Slider("thing", 1, 0, 2, label),
        lambda label: Scale("thing", 1.0, 0.5, 2.0, label),
        lambda label: Choice("thing", "ab", label),
        lambda label: Line("thing", "a", label),
    ],
)
def test_beside_a_control_stands_its_label_or_else_its_name(control):
    assert control("thing (tokens)").widget().description == "thing (tokens)"
    assert control("").widget().description == "thing"
    assert control("").name == "thing"
