"""Controls refuse impossible values, and explorers show the panels of their controls' present values."""

import io
import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from traitlets import TraitError

import babygpt_live as live
from babygpt.errors import BadInput
from babygpt_course import explorers
from babygpt_course.explorers.formulas import STILLS
from babygpt_live import Line, Scale, Slider
from babygpt_live.panel import Level, Panel, with_base64
from tools.screenshots import DRAWN_FROM, fingerprint

# ---------------------------------------------------------------- controls


@pytest.mark.parametrize(
    ("control", "args"),
    [
        (Slider, ("name", 11, 0, 10)),
        (Slider, ("name", -1, 0, 10)),
        (Slider, ("name", 3, 5, 1)),
        (Scale, ("name", 500.0, 10.0, 100.0)),
        (Scale, ("name", 5.0, 0.0, 10.0)),
        (Scale, ("name", math.nan, 1.0, 10.0)),
        (Scale, ("name", 5.0, 1.0, math.inf)),
    ],
)
def test_an_impossible_control_is_refused_by_name(control, args):
    with pytest.raises(BadInput, match="name"):
        control(*args)


@given(low=st.floats(1e-6, 1e9), times=st.floats(1.1, 1e6), share=st.floats(0, 1))
def test_the_stops_of_a_scale_rise_in_tenths_of_a_power_of_ten_through_its_first_value(low, times, share):
    value = low + share * (low * times - low)
    scale = Scale("theta", min(value, low * times), low, low * times)
    stops = scale.stops()
    assert (stops[0], stops[-1]) == (low, low * times)
    assert scale.value in stops
    assert all(1 < after / before < 10**0.1 * 1.01 for before, after in pairwise(stops))
    assert len(stops) <= 10 * math.log10(times) + 4


# ---------------------------------------------------------------- explorers that a page computes


def test_a_cell_can_set_only_values_that_a_control_allows():
    explorer = explorers.rotary()
    explorer.theta = 100.0
    assert explorer.state()["theta"] == 100.0
    for name, value in (("theta", 1.0), ("position", 99), ("pair", "two")):
        with pytest.raises(TraitError, match=f"'{name}'"):
            setattr(explorer, name, value)
    with pytest.raises(TraitError, match="n_head"):
        explorers.alibi().n_head = 3


def test_gates_begin_in_the_setting_that_is_named_and_return_to_it():
    explorer = explorers.polar("[cos, sin]", "norm, then gates", phi=30)
    firsts = {facts["name"]: facts["value"] for facts in explorer.controls}
    assert explorer.values() == firsts
    assert [firsts[name] for name in ("gate", "order", "phi")] == ["[cos, sin]", "norm, then gates", 30]
    assert explorer.output.picture() is None  # nobody stored one of this setting


@pytest.mark.parametrize("explore", STILLS)
def test_the_still_of_an_explorer_shows_its_module_as_it_is_now(explore):
    """Run `python -m tools.screenshots --stills` if this fails."""
    explorer = explore()
    picture = explorer.output.picture()
    still = Image.open(io.BytesIO(picture.data))
    assert still.text[DRAWN_FROM] == fingerprint(explorer)
    assert still.text["Description"] in picture.alt
    assert len(picture.data) < 70_000
    assert "Run the cell to move it." in explorer.output.still()


# ---------------------------------------------------------------- explorers that the kernel measures


def counting(start=1, **more):
    """Explore a number that must not be 7 or 8; `page` is a control of the page alone."""
    measured = []

    def measure(n, word):
        measured.append(n)
        if n == 7:
            raise ValueError("n is 7 <b>")
        return n

    def panels(n, values):
        if n == 8:
            raise BadInput("no picture of 8")
        assert values["n"] == n
        return [Panel(f"{values['word']} {n}, page {values['page']}", [Level("", n)])]

    controls = [Slider("n", start, 0, 10), Line("word", "one"), Slider("page", 0, 0, 4)]
    explorer = live.Explorer("counting", measure, panels, controls, in_page=("page",), **more)
    explorer.measured = measured
    return explorer


def titles(explorer):
    return [panel["title"] for panel in explorer.shown["frames"][0]]


def test_panels_follow_the_controls_that_the_kernel_needs_and_are_measured_once_each():
    explorer = counting(limits=lambda values: {"page": values["n"]})
    assert titles(explorer) == ["one 1, page 0"]
    explorer.page = 3  # the page alone draws it
    explorer.n = 5
    explorer.word = "two"
    assert titles(explorer) == ["two 5, page 3"]
    assert explorer.shown["asked"] == {"n": 5, "word": "two"}
    assert explorer.shown["limits"] == {"page": 5}
    assert explorer.measured == [1, 5, 5]
    with explorer.hold_trait_notifications():  # A page sends several values at once like this.
        explorer.n, explorer.word = 6, "three"
    assert explorer.measured == [1, 5, 5, 6]
    json.dumps(with_base64(explorer.shown), allow_nan=False)


def test_an_error_is_shown_until_the_next_good_value_and_the_panels_stay():
    explorer = counting()
    for n, words in ((7, "ValueError: n is 7 <b>"), (8, "no picture of 8")):
        explorer.n = n
        assert explorer.shown["problem"] == words
        assert explorer.shown["asked"]["n"] == n  # The page stops waiting.
        assert titles(explorer) == ["one 1, page 0"]
    explorer.n = 2
    assert (titles(explorer), explorer.shown["problem"]) == (["one 2, page 0"], "")


def test_a_start_that_is_refused_is_an_error_of_the_cell():
    with pytest.raises(ValueError, match="n is 7"):
        counting(7)


def test_frames_are_chosen_in_the_page_and_a_still_shows_the_chosen_one():
    def panels(n, values):
        return [[Panel(f"{n}, frame {i}", [Level("", i)])] for i in range(3)]

    controls = [Slider("n", 1, 0, 9), Slider("step", 2, 1, 9)]
    explorer = live.Explorer("film", lambda n: n, panels, controls, frames_by="step")
    assert [frame[0]["title"] for frame in explorer.shown["frames"]] == [f"1, frame {i}" for i in range(3)]
    assert explorer.now()[0].title == "1, frame 1"
    explorer.step = 9
    assert explorer.now()[0].title == "1, frame 2"  # the last one
    assert explorer.output.picture().alt == "explorer: film: 1, frame 2"
