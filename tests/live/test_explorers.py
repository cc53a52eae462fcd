"""Controls refuse impossible values, and explorers show the picture of their controls' present values."""

import math
from html import escape
from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.text import Text
from PIL import Image
from traitlets import TraitError

from babygpt import live, plots
from babygpt.config import ModelConfig
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.live import Choice, Line, Scale, Slider
from babygpt.live.explorers import trained_models
from babygpt.live.explorers.formulas import FORMULAS
from babygpt.metrics.inspection import attention_weights
from babygpt.models.versions import build
from babygpt.plots.artists import find_artist, line
from babygpt.sampling import SecondThoughts, by_confidence, drafts, fill_in
from babygpt_course.studies import stretching
from babygpt_course.studies.stretching import explore_stretching, stretched
from tools.screenshots import DRAWN_FROM, fingerprint

LONG = 60  # seconds; nothing here takes that long unless it hangs
NAMES = ["attention", "diffusion", "stretching"]
LETTERS = CharTokenizer("abcdefghij ")
FILLED = CharTokenizer("abcdefghi ", with_mask=True)  # eleven tokens too
HOLLOW = "ab__ef_hi ab__ef"
TEXT = torch.randint(11, (400,), generator=torch.Generator().manual_seed(3))


def noisy_model(version="v4", **shape):
    """Build a model of two layers of two heads, each with its own attention pattern."""
    torch.manual_seed(0)
    model = build(version, ModelConfig(**{"vocab_size": 11, "n_layer": 2, "n_head": 2, "n_embd": 16} | shape))
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.5)
    return model


def make(name):
    if name == "attention":
        return live.attention(noisy_model(), LETTERS, "abc dab")
    if name == "diffusion":
        return live.diffusion(noisy_model("v7"), FILLED, HOLLOW)
    return explore_stretching(noisy_model(block_size=16), TEXT)


def stops(widget):
    """Return every value that a control's widget can have."""
    if hasattr(widget, "options"):
        return [option[1] if isinstance(option, tuple) else option for option in widget.options]
    if hasattr(widget, "min"):
        return list(range(widget.min, widget.max + 1, widget.step))
    return ["_", "a_c", "__hg fed c__ abc"] if "_" in widget.value else ["a", "abc", "jihg fed cba abc"]


def move(explorer, **values):
    for name, value in values.items():
        explorer.controls[name].value = value
    assert explorer.wait(LONG)


def pixels(explorer):
    return np.asarray(Image.open(BytesIO(explorer.image.value)))


def title(ax):
    return ax.get_title(loc="left")


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
    found = scale.stops()
    assert (found[0], found[-1]) == (low, low * times)
    assert scale.widget().value == scale.value in found
    assert all(1 < after / before < 10**0.1 * 1.01 for before, after in pairwise(found))
    assert len(found) <= 10 * math.log10(times) + 4


def test_widgets_begin_at_the_first_value_with_their_label_or_name():
    for control, value in (
        (Slider("thing", 10, 0, 10, "{}"), 10),
        (Scale("thing", 1.0, 1.0, 10.0, "{}"), 1.0),
        (Choice("thing", (4, 2, 6), "{}"), 4),
        (Line("thing", "ann met bob", "{}"), "ann met bob"),
    ):
        widget = control.widget()
        assert (widget.value, widget.description) == (value, "{}")
    assert Slider("thing", 1, 0, 2).widget().description == "thing"


# ---------------------------------------------------------------- explorers that a page computes


def test_a_cell_can_set_only_values_that_a_control_allows():
    explorer = live.rotary()
    explorer.theta = 100.0
    assert explorer.state()["theta"] == 100.0
    for name, value in (("theta", 1.0), ("position", 99), ("pair", "two")):
        with pytest.raises(TraitError, match=f"'{name}'"):
            setattr(explorer, name, value)
    with pytest.raises(TraitError, match="n_head"):
        live.alibi().n_head = 3


@pytest.mark.parametrize("explore", FORMULAS)
def test_the_still_of_an_explorer_shows_its_module_as_it_is_now(explore):
    """Run `python -m tools.screenshots --stills` if this fails."""
    explorer = explore()
    still = Image.open(BytesIO(explorer.output.image.value))
    assert still.text[DRAWN_FROM] == fingerprint(explorer)
    assert still.text["Description"] in explorer.output.image.alt
    assert len(explorer.output.image.value) < 60_000
    assert "Run the cell to move it." in explorer.output.still()


# ---------------------------------------------------------------- every explorer that Python draws


@pytest.mark.parametrize("name", NAMES)
def test_the_picture_is_that_of_the_last_values_whatever_was_shown_before(name):
    """Visit the first, the last and the middle stop of all controls."""
    moved, seen = make(name), []
    for share in (0.0, 1.0, 0.5):
        values = {
            key: (offered := stops(widget))[round(share * (len(offered) - 1))]
            for key, widget in moved.controls.items()
        }
        move(moved, **values)
        assert (moved.error, moved.message.value) == (None, "")
        seen.append(pixels(moved))
    assert not any(np.array_equal(one, other) for one, other in pairwise(seen))
    alone = make(name)
    move(alone, **values)
    np.testing.assert_array_equal(seen[-1], pixels(alone))
    letters = [text for text in moved.canvas.figure.findobj(Text) if text.get_text()]
    assert min(text.get_fontsize() for text in letters) >= 8  # points
    assert moved.canvas.figure.get_figheight() <= 4.2  # fits a small screen together with its controls
    assert repr(moved) == repr(alone)


@pytest.mark.parametrize("name", ["attention", "stretching"])
def test_a_move_keeps_the_background(name, monkeypatch):
    """Reuse it: a background takes ten times as long as all moving artists."""
    explorer, drawings = make(name), []
    monkeypatch.setattr(explorer.canvas, "draw_background", lambda: drawings.append(1))
    ends = {key: stops(widget)[-1] for key, widget in explorer.controls.items() if key != "text"}
    move(explorer, **ends)
    assert explorer.error is None
    assert not drawings


# ---------------------------------------------------------------- errors


def counting(start=1):
    def refuse_seven(n):
        if n == 7:
            raise ValueError("n is 7 <b>")
        return n

    def draw_level(ax, n):
        if n == 8:
            raise ZeroDivisionError("no line")
        line(ax, "line", [0, 1], [n, n])
        ax.set_ylim(-1, 11)

    return live.Explorer("counting", refuse_seven, draw_level, [Slider("n", start, 0, 10)], height=2.0)


def test_an_error_is_shown_until_the_next_good_value_and_the_picture_stays():
    explorer = counting()
    before = explorer.image.value
    for n, words in ((7, "<b>ValueError</b>: n is 7 &lt;b&gt;"), (8, "<b>ZeroDivisionError</b>: no line")):
        move(explorer, n=n)
        assert explorer.message.value == words
        assert explorer.image.value == before
    move(explorer, n=2)
    assert (explorer.error, explorer.message.value) == (None, "")
    np.testing.assert_array_equal(pixels(explorer), pixels(counting(2)))


def test_a_start_that_is_refused_is_an_error_of_the_cell():
    with pytest.raises(ValueError, match="n is 7"):
        counting(7)
    with pytest.raises(BadInput, match="sentence"):
        live.attention(noisy_model(), LETTERS, "")


@pytest.mark.parametrize("name", ["attention", "diffusion"])
def test_an_unusable_text_is_refused_in_one_line(name):
    explorer = make(name)
    before = explorer.image.value
    for typed in ("", "é", "🎲", "_" * 1000, "a" * 1000, "\udcff", "<b>"):
        move(explorer, text=typed)
        assert isinstance(explorer.error, BadInput), typed
        assert explorer.message.value == escape(str(explorer.error))
        assert explorer.image.value == before
    move(explorer, text="ab_" if name == "diffusion" else "abc")
    assert explorer.error is None


# ---------------------------------------------------------------- attention


def test_the_attention_shown_is_that_of_layer_head_and_letter():
    explorer = make("attention")
    expected = attention_weights(noisy_model(), LETTERS.encode("abc dab"))
    heads, row = explorer.canvas.axes
    for layer, head, letter, shown in ((1, 2, 5, 4), (2, 1, 7, 6)):
        move(explorer, layer=layer, head=head, letter=letter)
        weights = expected[layer - 1, head - 1]
        np.testing.assert_array_equal(find_artist(heads, AxesImage, "head").get_array(), weights)
        before = np.mean([weights[m, m - 1] for m in range(1, 7)])
        finding = f"{before:.0%} of the weight is on the letter before"
        assert title(heads) == f"Layer {layer}, head {head}: {finding}"
        np.testing.assert_array_equal(find_artist(row, Line2D, "row").get_ydata()[:-1], weights[shown])
        assert title(row).startswith(f"Letter {letter}, “{'abc•dab'[shown]}”: {weights[shown].max():.0%} on ")


def test_another_sentence_moves_the_end_of_the_letters_and_takes_the_whole_picture():
    explorer = make("attention")
    letter, ax = explorer.controls["letter"], explorer.canvas.axes[0]
    for text, ends, value in (("abc", 3, 3), ("abc dabc", 8, 3), ("a", 2, 2)):
        move(explorer, text=text)
        assert (letter.max, letter.value) == (ends, value)
        assert find_artist(ax, AxesImage, "head").get_size() == (len(text), len(text))
        assert [tick.get_text() for tick in ax.get_yticklabels()] == plots.visible(text)
    explorer.reset()
    assert (letter.max, letter.value) == (7, 7)


def test_a_model_that_trains_on_does_not_change_the_picture():
    model = noisy_model(n_layer=1)  # and a model of one layer needs no slider for it
    explorer = live.attention(model, LETTERS, "abc dab")
    for p in model.parameters():
        torch.nn.init.normal_(p)
    expected = attention_weights(noisy_model(n_layer=1), LETTERS.encode("dab"))
    np.testing.assert_array_equal(explorer.measure("dab", 1, 1, 1)["weights"], expected)


# ---------------------------------------------------------------- filling in


def letters(ax):
    """Return the characters on an Axes, in their order."""
    found = {text.get_gid() or text.get_label(): text.get_text() for text in ax.texts}
    found.pop("note", None)
    return "".join(found[f"letter {i}"] for i in range(len(found))).replace("•", " ")


def confidences(ax):
    return find_artist(ax, AxesImage, "confidence").get_array().filled(np.nan).ravel()[: len(letters(ax))]


def test_a_step_shows_the_characters_that_had_appeared_by_then():
    explorer = make("diffusion")
    idx, own = live.encode_masked(FILLED, HOLLOW), torch.Generator().manual_seed(0)
    expected = fill_in(noisy_model("v7"), idx, by_confidence(1.0), 0.8, 3, own)
    page = explorer.canvas.axes[0]
    for step in (0, 3, 5):
        move(explorer, step=step, threshold=100, top_k=3)
        tokens = expected.tokens.masked_fill(expected.when > step, FILLED.mask_id)
        assert letters(page) == FILLED.decode(tokens[0])
        left = int((expected.when > step).sum())
        assert title(page) == f"Step {step} of 5: {left} character{'s' * (left != 1)} left"
        there = ((expected.when > 0) & (expected.when <= step))[0].numpy()
        np.testing.assert_allclose(confidences(page)[there], expected.confidence[0].numpy()[there])
        assert np.isnan(confidences(page)[~there]).all()


def test_a_changed_mind_shows_each_draft_and_the_characters_taken_back():
    explorer = make("diffusion")
    move(explorer, sampler="changes its mind", threshold=80, top_k=3, text="_" * 12)
    thoughts, own = SecondThoughts(12, 0.8, 5.0), torch.Generator().manual_seed(0)
    idx = live.encode_masked(FILLED, "_" * 12)
    page, before, taken_back = explorer.canvas.axes[0], torch.zeros(12, dtype=torch.bool), 0
    for step, draft in enumerate(drafts(noisy_model("v7"), idx, thoughts, 0.8, 3, own)):
        move(explorer, step=step)
        hidden = draft.tokens[0] == FILLED.mask_id
        again = hidden & before
        text = zip(FILLED.decode(draft.tokens[0]), again, strict=True)
        assert letters(page) == "".join("▓" if back else char for char, back in text)
        assert title(page).endswith(f", {int(again.sum())} of them taken back") == bool(again.any())
        np.testing.assert_allclose(confidences(page)[~hidden], draft.confidence[0, ~hidden].numpy())
        before, taken_back = before | ~hidden, taken_back + int(again.sum())
    assert taken_back > 0


def test_filling_in_runs_the_model_once_and_uses_no_global_random_numbers(monkeypatch):
    explorer, asked = make("diffusion"), []
    monkeypatch.setattr(trained_models, "fill_in", lambda *args: asked.append(1) or fill_in(*args))
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    for change in ({"number": 4}, {"threshold": 50}, {"step": 1}, {"step": 2}):
        move(explorer, **change)
    assert torch.equal(torch.rand(4), expected)
    assert explorer.error is None
    assert asked == [1, 1]  # once for the number, once for the threshold
    move(explorer, sampler="entropy bound", threshold=0)
    assert find_artist(explorer.canvas.axes[1], Line2D, "threshold") is None
    move(explorer, sampler="surest first", threshold=0)
    assert title(explorer.canvas.axes[1]) == "5.0 characters a step"  # all at once


# ---------------------------------------------------------------- a long text


def test_the_curves_are_the_losses_of_the_model_and_of_the_stretched_one(monkeypatch):
    reads = []
    own = stretching.loss_by_position
    monkeypatch.setattr(stretching, "loss_by_position", lambda *args: reads.append(args) or own(*args))
    explorer = make("stretching")
    model = noisy_model(block_size=16)
    for method, factor in (("interpolation", 1), ("ntk", 2), ("yarn", 8), ("drop", 3)):
        found = explorer.measure(method, factor)
        for name, read in (("as it is", model), ("stretched", stretched(model, method, factor))):
            losses = own(read, TEXT, 128, stretching.WINDOWS)
            expected = [losses[i : i + 32].mean() for i in range(0, 128, 32)]
            assert found["curves"][name] == pytest.approx(expected, rel=1e-5)
            first = 16 if factor > 1 else 0
            assert found["means"][name] == pytest.approx(losses[first : 16 * factor].mean(), rel=1e-5)
        assert max(curve.max() for curve in found["curves"].values()) < found["top"]
    count = len(reads)
    explorer.measure("ntk", 2)
    assert len(reads) == count  # each reading is made once
    move(explorer, method="ntk", factor=2)
    means = explorer.measure("ntk", 2)["means"]
    expected = f"Tokens 17 to 32: {means['as it is']:.2f} as it is, {means['stretched']:.2f} stretched"
    ax = explorer.canvas.axes[1]
    assert title(ax) == expected
    marks = [find_artist(ax, Line2D, name).get_xdata()[0] for name in ("mark window", "mark")]
    assert (marks, ax.get_xlim()) == ([16, 32], (0, 128))
    legend = [words.get_text() for words in ax.get_legend().get_texts()]
    assert legend[:2] == ["as it is", "stretched"]
    assert legend[2].startswith("the last 16 alone: ")


def test_angles_are_new_where_they_are_reached_for_the_first_time():
    """Count the angles of a text, in degrees, that no token of the window had."""
    explorer = explore_stretching(noisy_model(block_size=64), TEXT.repeat(3))
    for method, factor in (("none", 1), ("none", 4), ("interpolation", 4), ("ntk", 4), ("ntk", 8)):
        found, tokens = explorer.measure(method, factor), np.arange(0, 64 * factor, 0.01)
        reached = [set(np.floor(tokens / t % 1 * 360)) for t in found["after"]]
        known = [set(np.floor(tokens[: 64 * 100] / t % 1 * 360)) for t in found["before"]]
        by_counting = [bool(now - once) for now, once in zip(reached, known, strict=True)]
        assert found["new"].tolist() == by_counting, (method, factor)
        assert found["new"].any() == (method in ("none", "ntk") and factor > 1)


def test_a_turn_takes_as_many_tokens_as_the_stretched_frequencies_say():
    measure, pairs = make("stretching").measure, np.arange(4)
    omega = 10_000.0 ** (-2 * pairs / 8)
    np.testing.assert_allclose(measure("interpolation", 5)["before"], 2 * math.pi / omega)
    np.testing.assert_allclose(measure("interpolation", 5)["after"], 2 * math.pi / omega * 5)
    slower = (10_000.0 * 5 ** (8 / 6)) ** (-2 * pairs / 8)
    np.testing.assert_allclose(measure("ntk", 5)["after"], 2 * math.pi / slower)
    assert np.isinf(measure("drop", 5)["after"]).all()
    assert not measure("drop", 5)["new"].any()


def test_models_that_cannot_be_stretched_and_short_texts_are_refused():
    for version, words in (("alibi", "ALiBi"), ("nope", "Encoding")):
        with pytest.raises(BadInput, match=words):
            explore_stretching(noisy_model(version), TEXT)
    with pytest.raises(BadInput):
        explore_stretching(noisy_model(block_size=16), TEXT[:100])
