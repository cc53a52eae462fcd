"""Explorers show what is true for the values that their controls have, however they came there."""

import base64
from functools import cache
from html import escape
from io import BytesIO
from itertools import combinations, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.text import Text
from PIL import Image

from babygpt import live, plots
from babygpt.config import ModelConfig
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.live.explorers.alibi import measure as measure_alibi
from babygpt.metrics.inspection import attention_weights
from babygpt.models.versions import build
from babygpt.plots.artists import find_artist, line
from babygpt_course.studies.results import load_results

LONG = 60  # seconds; nothing here takes that long unless it hangs
NAMES = ["rotary", "sinusoidal", "alibi", "branches", "gaussian", "polar"]
NAMES += ["attention", "diffusion", "stretching", "ladder"]
LETTERS = CharTokenizer("abcdefghij ")
SENTENCES = ["a", "abc", "abc dab", "jihg fed cba abc defg"]
HOLLOW = ["_", "a_c", "ab_ d__", "__hg fed c__ abc d_fg"]
FILLED = CharTokenizer("abcdefghi ", with_mask=True)


def awake_model(version="v4", **shape):
    """Two layers of two heads that all look elsewhere."""
    torch.manual_seed(0)
    model = build(version, ModelConfig(**{"vocab_size": 11, "n_layer": 2, "n_head": 2, "n_embd": 16} | shape))
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.5)
    return model


def make(name):
    if name == "attention":
        return live.attention(awake_model(), LETTERS, "abc dab")
    if name == "diffusion":
        return live.diffusion(awake_model("v7"), FILLED, "ab__ef_hi ab__ef")
    if name == "stretching":
        return live.stretching(awake_model(block_size=16), torch.arange(400) % 11)
    if name == "ladder":
        return live.ladder(load_results("ladder"))
    return getattr(live, name)()


shared = cache(make)  # laying out a figure takes longest


@cache
def twin(name):
    """Another explorer of the same kind, with a history of its own."""
    return make(name)


def choices(widget):
    """Every value that a control's widget can have."""
    if hasattr(widget, "options"):
        return [option[1] if isinstance(option, tuple) else option for option in widget.options]
    if hasattr(widget, "min"):
        return list(range(widget.min, widget.max + 1, widget.step))
    return HOLLOW if "_" in widget.value else SENTENCES


def move(explorer, values):
    """Set the controls, in their order (the sentence ends the slider of its letters), and wait."""
    for name in (name for name in explorer.controls if name in values):
        explorer.controls[name].value = values[name]
    assert explorer.painter.wait(LONG)


def pixels(explorer):
    return np.asarray(Image.open(BytesIO(explorer.image.value)))


@cache
def values_of(explorer):
    """Values for all controls; asked once, for one control may move the ends of another."""
    return st.fixed_dictionaries(
        {name: st.sampled_from(choices(widget)) for name, widget in explorer.controls.items()}
    )


@pytest.mark.parametrize(("layer", "head"), [(1, 1), (1, 2), (2, 1)])
def test_the_attention_shown_is_what_the_measure_gives(layer, head):
    explorer = shared("attention")
    move(explorer, {"layer": layer, "head": head, "text": "abc dab"})
    expected = attention_weights(awake_model(), LETTERS.encode("abc dab"))
    shown = find_artist(explorer.canvas.axes[0], AxesImage, "head").get_array()
    np.testing.assert_array_equal(shown, expected[layer - 1, head - 1])
    title = explorer.canvas.axes[0].get_title(loc="left")
    before = np.mean([expected[layer - 1, head - 1, m, m - 1] for m in range(1, 7)])
    assert title == f"Layer {layer}, head {head}: {before:.0%} of the weight is on the letter before"


@pytest.mark.parametrize(("letter", "shown"), [(1, 0), (5, 4), (7, 6), (256, 6)])
def test_the_row_shown_is_that_of_the_letter_or_of_the_last_one(letter, shown):
    explorer = shared("attention")
    move(explorer, {"layer": 2, "head": 1, "text": "abc dab", "letter": letter})
    row = attention_weights(awake_model(), LETTERS.encode("abc dab"))[1, 0, shown]
    bars = find_artist(explorer.canvas.axes[1], Line2D, "row")
    np.testing.assert_array_equal(bars.get_ydata(), [*row, row[-1]])
    marks = "abc•dab"
    expected = f"Letter {shown + 1}, “{marks[shown]}”: {row.max():.0%} on “{marks[row.argmax()]}”"
    assert explorer.canvas.axes[1].get_title(loc="left") == expected


def test_the_slider_of_letters_ends_with_the_sentence_and_comes_back_with_it():
    explorer = live.attention(awake_model(), LETTERS, "abc dab")
    letter = explorer.controls["letter"]
    for text, ends, stands in (("abc", 3, 3), ("abc dabc", 8, 3)):
        move(explorer, {"text": text})
        assert (letter.max, letter.value) == (ends, stands)
    explorer.reset()
    assert (letter.max, letter.value) == (7, 7)


def test_an_arc_goes_from_k_to_q_on_both_clocks_and_is_the_same_on_both():
    explorer = shared("rotary")
    move(explorer, {"place": 30, "distance": 5, "pair": 2, "theta": 10_000.0})
    turns = []
    for clock in explorer.canvas.axes[:2]:
        arc, q, k = (find_artist(clock, Line2D, name).get_xydata() for name in ("arc 0", "hand 0", "hand 1"))
        for end, hand in ((arc[0], k[1]), (arc[-1], q[1])):
            assert end / np.hypot(*end) == pytest.approx(hand)
        turns.append(np.diff(np.unwrap(np.arctan2(arc[:, 1], arc[:, 0]))[[0, -1]])[0])
    assert turns == pytest.approx([5 * 10_000 ** (-2 / 32)] * 2)


def test_the_numbers_in_an_explorers_titles_are_those_measured():
    explorer = shared("alibi")
    move(explorer, {"distance": 5, "n_head": 2, "steepness": 10.0, "theta": 10.0})
    near = measure_alibi(2, 10.0, 10.0, 5)["near"]
    title = explorer.canvas.axes[1].get_title(loc="left")
    assert title == f"Within 5 tokens: head 1 {near['head 1']:.0%}, RoPE {near['RoPE']:.0%}"


# ---------------------------------------------------------------- what is shown


@pytest.mark.parametrize("name", NAMES)
def test_every_control_reaches_both_of_its_ends_and_changes_the_picture(name):
    explorer = shared(name)
    for control, widget in explorer.controls.items():
        ends = []
        for value in (choices(widget)[0], choices(widget)[-1]):
            move(explorer, {control: value})
            assert explorer.error is None
            ends.append(pixels(explorer))
        assert not np.array_equal(*ends), control


# Axes without numbers for letters not written yet, for the gaps between heads, for the future.
HOLES = {"diffusion": 0, "attention": 0, "gaussian": 2}


def drawn_well(explorer, but=None):
    """Whether all numbers on an explorer's Axes are finite, but for those of one."""
    numbers = [
        shown
        for i, ax in enumerate(explorer.canvas.axes)
        if i != but
        for shown in (*(line.get_xydata() for line in ax.lines), *(image.get_array() for image in ax.images))
    ]
    return all(np.isfinite(np.ma.filled(np.ma.asarray(one, float), np.nan)).all() for one in numbers)


@pytest.mark.survives(
    "every slider of every explorer at its ends, alone and with any other", "a picture is drawn, without nan"
)
@pytest.mark.parametrize("name", NAMES)
def test_all_pairs_of_ends_draw_a_picture(name):
    explorer = shared(name)
    ends = {
        control: (choices(widget)[0], choices(widget)[-1]) for control, widget in explorer.controls.items()
    }
    for one, other in combinations(ends, 2):
        for values in product(ends[one], ends[other]):
            move(explorer, dict(zip((one, other), values, strict=True)))
            assert explorer.error is None, (one, other, values)
            assert drawn_well(explorer, HOLES.get(name)), (one, other, values)


def test_nan_in_a_picture_is_found():
    """The test above can fail."""
    explorer = counting()
    assert drawn_well(explorer)
    explorer.canvas.axes[0].plot([0, 1], [0, np.nan])
    assert not drawn_well(explorer)


@pytest.mark.survives(
    "letters that no model knows, none at all, or a whole book, typed into an explorer", "one line says so"
)
@pytest.mark.parametrize("name", ["attention", "diffusion"])
@pytest.mark.parametrize("typed", ["", "é", "\0", "🎲", "_" * 1000, "░" * 1000, "a" * 1000, "\udcff", "<b>"])
def test_what_is_typed_into_an_explorer_may_be_anything(name, typed):
    explorer = shared(name)
    before = explorer.image.value
    move(explorer, {"text": typed})
    assert isinstance(explorer.error, BadInput)
    assert explorer.message.value == escape(str(explorer.error))
    assert explorer.image.value == before
    move(explorer, {"text": "ab_" if name == "diffusion" else "abc"})
    assert explorer.error is None


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12)
@given(data=st.data())
def test_the_picture_is_that_of_the_values_whatever_was_shown_before(name, data):
    # ALiBi fails while a curve that comes takes the next colour of its Axes: see tests/test_plots.py
    moved, other = shared(name), twin(name)
    move(moved, data.draw(values_of(moved)))
    assert moved.error is None
    values = data.draw(values_of(moved))
    for explorer in (moved, other):
        move(explorer, values)
        assert explorer.error is None
        assert explorer.message.value == ""
    np.testing.assert_array_equal(pixels(moved), pixels(other))


@pytest.mark.parametrize("name", NAMES)
def test_two_hundred_rapid_moves_end_in_the_picture_of_the_last_values(name):
    moved, fresh = make(name), make(name)
    draw = np.random.default_rng(0)
    for _ in range(200):
        control = draw.choice(list(moved.controls))
        offered = choices(moved.controls[control])
        moved.controls[control].value = offered[draw.integers(len(offered))]
    assert moved.painter.wait(LONG)
    move(fresh, {control: widget.value for control, widget in moved.controls.items()})
    assert (moved.error, fresh.error) == (None, None)
    np.testing.assert_array_equal(pixels(moved), pixels(fresh))


def test_a_sentence_of_another_length_takes_the_whole_picture():
    explorer = shared("attention")
    for text in ["abc dab", "a", "jihg fed cba abc defg", "ab"]:
        move(explorer, {"text": text})
        assert explorer.error is None
        ax, T = explorer.canvas.axes[0], len(text)
        image = find_artist(ax, AxesImage, "head")
        assert image.get_size() == (T, T)
        assert tuple(image.get_extent()) == (-0.5, T - 0.5, T - 0.5, -0.5)
        assert (ax.get_xlim()[0], ax.get_ylim()) == (-0.5, (T - 0.5, -0.5))
        assert ax.get_xlim()[1] > find_artist(ax, AxesImage, "heads").get_extent()[1]
        assert [tick.get_text() for tick in ax.get_yticklabels()] == plots.visible(text)


def test_a_model_that_trains_on_does_not_change_what_is_shown():
    model = awake_model()
    explorer = live.attention(model, LETTERS, "abc dab")
    before = pixels(explorer)
    with torch.no_grad():
        for p in model.parameters():
            p.normal_()
    explorer.refresh()
    np.testing.assert_array_equal(pixels(explorer), before)
    assert not np.array_equal(pixels(live.attention(model, LETTERS, "abc dab")), before)


@pytest.mark.parametrize("shape", [{"n_layer": 1}, {"n_head": 1}])
def test_a_model_of_one_layer_or_one_head_can_be_looked_at(shape):
    # fails while a Slider refuses two ends that are one
    explorer = live.attention(awake_model(**shape), LETTERS, "abc")
    image = find_artist(explorer.canvas.axes[0], AxesImage, "head")
    expected = attention_weights(awake_model(**shape), LETTERS.encode("abc"))[0, 0]
    np.testing.assert_array_equal(image.get_array(), expected)


# ---------------------------------------------------------------- when it goes wrong


def refuse_seven(n):
    if n == 7:
        raise ValueError("n is 7 <b>")
    return n


def draw_level(ax, n):
    line(ax, "line", [0, 1], [n, n])
    ax.set_ylim(-1, 11)


def counting(start=1):
    return live.Explorer("counting", refuse_seven, draw_level, [live.Slider("n", start, 0, 10)], height=2.0)


def test_what_cannot_be_measured_is_said_until_the_next_good_value_and_the_picture_stays():
    explorer, other = counting(), counting(2)
    before = explorer.image.value
    move(explorer, {"n": 7})
    assert isinstance(explorer.error, ValueError)
    assert explorer.message.value == "<b>ValueError</b>: n is 7 &lt;b&gt;"
    assert explorer.image.value == before
    move(explorer, {"n": 2})
    assert (explorer.error, explorer.message.value) == (None, "")
    np.testing.assert_array_equal(pixels(explorer), pixels(other))


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("attention", "", "type a sentence"),
        ("attention", "abcz", "z"),
        ("diffusion", "abc", "no hole"),
        ("diffusion", "ab_z", "z"),
        ("diffusion", "_" * 257, "257"),
    ],
)
def test_the_line_under_an_explorer_says_what_is_wrong_with_a_text(name, typed, said):
    explorer = shared(name)
    move(explorer, {"text": typed})
    assert said in explorer.message.value
    move(explorer, {"text": "a_" if name == "diffusion" else "ba"})
    assert explorer.error is None


@pytest.mark.parametrize(
    ("make_it", "said"),
    [
        (lambda: counting(7), "n is 7"),
        (lambda: live.attention(awake_model(), LETTERS, ""), "sentence"),
        (lambda: live.attention(awake_model(), LETTERS, "abcz"), "'z'"),
    ],
)
def test_a_start_that_is_refused_is_an_error_of_the_cell(make_it, said):
    with pytest.raises(ValueError, match=said):
        make_it()


def test_a_drawing_that_fails_is_said_too():
    def draw(ax, n):
        if n == 7:
            raise ZeroDivisionError("no line")
        draw_level(ax, n)

    explorer = live.Explorer("drawing", lambda n: n, draw, [live.Slider("n", 1, 0, 10)], height=2.0)
    move(explorer, {"n": 7})
    assert isinstance(explorer.error, ZeroDivisionError)
    move(explorer, {"n": 3})
    assert explorer.error is None


# ---------------------------------------------------------------- on the page


STRUCTURE = {  # what changes the shape of a matrix, the rows of a table or the names of curves
    ("sinusoidal", "width"),
    ("alibi", "n_head"),
    ("branches", "n"),
    ("polar", "gate"),
    ("polar", "order"),
    ("attention", "text"),
    ("diffusion", "text"),
    ("diffusion", "sampler"),  # only one of them has a threshold to draw
    ("ladder", "column"),
    ("ladder", "rival"),
    ("ladder", "closest"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_move_draws_the_axes_anew_only_where_their_structure_changes(name, monkeypatch):
    """A background takes ten times as long as all that moves."""
    explorer, drawings = make(name), []
    monkeypatch.setattr(explorer.canvas, "draw_background", lambda: drawings.append(1))
    for control, widget in explorer.controls.items():
        if (name, control) not in STRUCTURE:
            for value in (choices(widget)[0], choices(widget)[-1]):
                move(explorer, {control: value})
                assert explorer.error is None
                assert not drawings, control


@pytest.mark.parametrize("name", NAMES)
def test_an_explorer_fits_a_small_screen_together_with_its_controls(name):
    assert make(name).canvas.figure.get_figheight() <= 4.2


def tall(text):
    return text.get_fontsize() if text.get_text() else 99


@pytest.mark.parametrize("name", NAMES)
def test_no_letter_is_smaller_than_eight_points(name):
    figure = shared(name).canvas.figure
    assert min(tall(text) for text in figure.findobj(Text)) >= 8


@pytest.mark.parametrize("name", NAMES)
def test_an_explorer_is_widgets_a_picture_and_a_word(name):
    """A page without a kernel shows the picture, a test compares the word."""
    explorer = make(name)
    bundle = explorer.output()
    view = bundle["application/vnd.jupyter.widget-view+json"]
    assert view["model_id"] == explorer.root.model_id
    png = base64.b64decode(bundle["image/png"], validate=True)
    np.testing.assert_array_equal(
        np.asarray(Image.open(BytesIO(png))), np.asarray(explorer.canvas.agg.buffer_rgba())
    )
    assert bundle["text/plain"] == repr(explorer) == make(name).output()["text/plain"]
    assert bundle["text/plain"].startswith("<explorer: ")


def test_controls_message_and_picture_stand_on_the_page():
    explorer = counting()
    grid, message, image = explorer.root.children
    assert list(grid.children)[:-1] == list(explorer.controls.values())
    assert grid.children[-1].description == "reset"
    assert (message, image) == (explorer.message, explorer.image)
    assert "babygpt-explorer" in explorer.root._dom_classes
