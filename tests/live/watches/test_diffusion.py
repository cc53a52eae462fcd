"""The explorers of gates and of filling in, and what is watched while a model learns to fill in."""

import math
from importlib import import_module

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from babygpt import live, plots
from babygpt.data.tokenizer import MASK, CharTokenizer
from babygpt.encodings import KeysOnly, Polar
from babygpt.live.explorers.polar import FURTHEST, GATES, HIDDEN, ORDERS, gated, measure
from babygpt.metrics.gates import gates_of
from babygpt.plots.artists import drawn, movable
from babygpt.positions import Positions
from babygpt.sampling import by_confidence, fill_in

LONG = 60  # seconds; nothing here takes that long unless it hangs
LETTERS = CharTokenizer("abcdefghi ", with_mask=True)  # eleven tokens, as the small models have
HOLLOW = "ab__ef_hi ab__ef"
AS_WRITTEN, _, ON_KEYS, QUADRATURE, APART = GATES
GATES_FIRST, NORM_FIRST = ORDERS


@pytest.fixture
def ax():
    return Figure().subplots()


def title(ax):
    return ax.get_title(loc="left") or ax.get_title()


# ---------------------------------------------------------------- gates

settings = {
    "alpha": st.floats(0.03, 3),
    "phi": st.integers(-12, 12).map(lambda n: 15 * n),
    "theta": st.floats(10, 1e6),
}
omega_at = np.arange(32)


@given(**settings)
def test_the_gate_as_written_is_that_of_the_formula(alpha, phi, theta):
    found = measure(AS_WRITTEN, NORM_FIRST, alpha, phi, theta)
    i, omega = np.arange(FURTHEST + 1)[:, None], theta ** (-omega_at / 32)
    state = np.where(HIDDEN, alpha, 1.0)[:, None]
    gate = np.cos(i * omega) * math.cos(math.radians(phi)) * state
    np.testing.assert_allclose(found["gates"], gate, atol=1e-6)
    np.testing.assert_allclose(found["scores"], 2 / 32**0.5 * gate @ gate.T, atol=1e-5)


@given(**settings)
def test_with_the_norm_last_alpha_moves_nothing_and_the_gate_is_the_packages(alpha, phi, theta):
    if abs(phi) == 90:
        return  # cos(phi) is 0: nothing is left to be normalised
    found = measure(AS_WRITTEN, GATES_FIRST, alpha, phi, theta)
    assert found["moved"] < 1e-3
    encoding = Polar(32, alpha, theta)
    torch.nn.init.constant_(encoding.phi, math.radians(phi))
    ones = torch.ones(1, 1, FURTHEST + 1, 32, dtype=torch.float64)
    with torch.no_grad():
        _, k = encoding.transform_qk(ones, ones, Positions(torch.arange(FURTHEST + 1), masked=HIDDEN[None]))
    np.testing.assert_allclose(found["gates"], k[0, 0].numpy(), atol=1e-4)


@given(**settings)
def test_of_two_places_quadrature_leaves_the_distance_and_a_phase_tells_left_from_right(alpha, phi, theta):
    even, uneven = (measure(gate, NORM_FIRST, alpha, phi, theta) for gate in (QUADRATURE, APART))
    distance = np.arange(-24, 25, 2)[:, None]
    for found, delta in ((even, 0.0), (uneven, math.radians(phi))):
        expected = 2 / 32**0.5 * np.cos(distance * theta ** (-omega_at / 32) - delta).sum(axis=1)
        for scores in found["across"].values():
            np.testing.assert_allclose(scores, expected, atol=1e-5)
        assert found["step"] < 1e-9
    assert even["uneven"] < 1e-9
    if phi % 180:
        assert uneven["uneven"] > 0.1


def test_alpha_on_keys_leaves_queries_as_they_are():
    how = (NORM_FIRST, 0.3, 0.5, 1e4)
    (q, k), (plain_q, plain_k) = (gated(ON_KEYS, *how, some) for some in (True, False))
    torch.testing.assert_close(q, plain_q)
    torch.testing.assert_close(k[HIDDEN], 0.3 * plain_k[HIDDEN])
    assert isinstance(GATES[ON_KEYS](8), KeysOnly)


@pytest.mark.parametrize(
    ("gate", "order", "diagonals", "sides"),
    [
        (AS_WRITTEN, GATES_FIRST, "change by", "nothing"),
        (QUADRATURE, NORM_FIRST, "constant", "nothing"),
        (APART, NORM_FIRST, "constant", "by"),
    ],
)
def test_the_titles_say_what_was_measured(gate, order, diagonals, sides):
    explorer = live.polar()
    for name, value in (("gate", gate), ("order", order), ("phi", 45), ("alpha", 0.3)):
        explorer.controls[name].value = value
    assert explorer.painter.rest(LONG)
    found = measure(gate, order, 0.3, 45, 10_000.0)
    told = [title(ax) for ax in explorer.canvas.axes]
    assert told[0] == f"α = 0.3 moves scores by {found['moved']:.2f}"
    assert (found["moved"] < 0.005) == (order == GATES_FIRST)
    assert diagonals in told[1]
    assert sides in told[2]


def test_a_slider_that_moves_no_gate_still_says_where_it_stands():
    explorer = live.polar()  # as written: neither alpha nor phi does anything
    for name, value, said in (("alpha", 3.0, "α = 3 "), ("phi", 15, "φ = 15°")):
        explorer.controls[name].value = value
        assert explorer.painter.rest(LONG)
        assert said in " ".join(title(ax) for ax in explorer.canvas.axes)


# ---------------------------------------------------------------- holes


def test_each_underscore_is_a_mask_and_so_is_the_mark_of_a_mask():
    ids = live.with_holes(LETTERS, f"a_{MASK}b")
    assert ids.tolist() == [[0, 10, 10, 1]]


def test_where_an_underscore_is_a_character_it_stays_one():
    assert live.with_holes(CharTokenizer("a_", with_mask=True), f"a_{MASK}").tolist() == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "no hole"), ("abc", "no hole"), ("ab_z", "'z' at place 3")],
)
def test_a_text_that_cannot_be_filled_in_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        live.with_holes(LETTERS, text)


def test_a_tokenizer_without_a_mask_is_refused():
    with pytest.raises(ValueError, match="with_mask=True"):
        live.with_holes(CharTokenizer("abc"), "a_")


# ---------------------------------------------------------------- the sampler


def letters(ax):
    """The characters on an Axes, in their order."""
    found = {text.get_gid() or text.get_label(): text.get_text() for text in ax.texts}
    found.pop("note", None)
    return "".join(found[f"letter {i}"] for i in range(len(found))).replace("•", " ")


@pytest.fixture
def sampler(awake):
    return live.diffusion(awake("v7"), LETTERS, HOLLOW)


def move(explorer, **values):
    for name, value in values.items():
        explorer.controls[name].value = value
    assert explorer.painter.rest(LONG)


@pytest.mark.parametrize("step", [0, 1, 3, 5])
def test_a_step_shows_what_had_appeared_by_then(awake, sampler, step):
    move(sampler, step=step, threshold=100, top_k=3)
    own = torch.Generator().manual_seed(0)
    expected = fill_in(awake("v7"), live.with_holes(LETTERS, HOLLOW), by_confidence(1.0), 0.8, 3, own)
    tokens = expected.tokens.masked_fill(expected.when > step, LETTERS.mask_id)
    page = sampler.canvas.axes[0]
    assert letters(page) == LETTERS.decode(tokens[0])
    left = int((expected.when > step).sum())
    assert f"Step {step} of 5: {left} character{'s' * (left != 1)} left" == title(page)
    shown = np.ma.filled(drawn(page, AxesImage, "sure").get_array(), np.nan)[0]
    there = ((expected.when > 0) & (expected.when <= step))[0].numpy()
    np.testing.assert_allclose(shown[there], expected.sure[0].numpy()[there])
    assert np.isnan(shown[~there]).all()


def test_with_no_threshold_all_appears_at_once(sampler):
    move(sampler, threshold=0)
    assert title(sampler.canvas.axes[0]) == "Step 1 of 1: 0 characters left"
    assert title(sampler.canvas.axes[1]) == "5.0 characters a step"


def test_moving_through_the_steps_asks_the_model_nothing(sampler, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the model was asked")

    monkeypatch.setattr(import_module("babygpt.live.explorers.diffusion"), "fill_in", refuse)
    move(sampler, step=2)
    assert sampler.error is None
    move(sampler, temperature=sampler.controls["temperature"].options[0][1])
    assert isinstance(sampler.error, AssertionError)  # else the test above says nothing


def test_filling_in_leaves_the_random_numbers_of_training_alone(sampler):
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    move(sampler, number=4, threshold=50)
    assert torch.equal(torch.rand(4), expected)


@pytest.mark.parametrize(("typed", "said"), [("abc", "no hole"), ("ab_z", "z"), ("_" * 17, "17 tokens")])
def test_a_text_that_cannot_be_filled_in_is_said_where_it_is_typed(sampler, typed, said):
    move(sampler, text=typed)
    assert said in sampler.message.value
    move(sampler, text="a_")
    assert sampler.error is None
    assert len(letters(sampler.canvas.axes[0])) == 2


# ---------------------------------------------------------------- watches


REPAIRS = ["polar", "exact", "random", "last", "keys", "quadrature", "pope"]
ALL_GATES = ["v7", *(f"v7-{name}" for name in REPAIRS)]


@pytest.mark.parametrize("version", ALL_GATES)
def test_gates_are_drawn_position_by_channel_whatever_there_is_to_learn(awake, ax, version):
    model, watch = awake(version), live.gates(length=20)
    found = watch.measure(model)
    masked = torch.arange(20) % 16 >= 12
    with torch.no_grad():
        expected = gates_of(model.encoding, Positions(torch.arange(20), masked=masked[None])).numpy()
    np.testing.assert_allclose(found.values, expected, atol=1e-3)  # kept in half precision
    watch.draw(ax, [(0, found)], version, 40)
    assert drawn(ax, AxesImage, "matrix").get_array().shape == expected.shape[1:]
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert "MASK" in " ".join(names)
    assert ("× 0.3" in " ".join(names)) == (version != "v7-pope")
    assert ("sines" in ax.get_xlabel()) == (expected.shape[-1] == 16)


@pytest.mark.parametrize("version", ["v7", "v7-pope"])
def test_of_gates_that_each_head_has_those_are_drawn_that_moved_furthest(awake, ax, version):
    model, watch = awake(version), live.gates()
    first = watch.measure(model)
    with torch.no_grad():
        model.encoding.delta[0] += 0.25
        model.encoding.delta[1, 3] -= 0.75
    now = watch.measure(model)
    watch.draw(ax, [(0, first), (7, now)], version, 40)
    np.testing.assert_array_equal(drawn(ax, AxesImage, "matrix").get_array(), now.values[1])
    assert title(ax) == "Head 2's phases moved by 0.75 rad"


def test_a_phase_for_all_heads_is_told_without_naming_one(awake, ax):
    model, watch = awake("v7-random"), live.gates()
    first = watch.measure(model)
    with torch.no_grad():
        model.encoding.phi[2] += 0.5
    watch.draw(ax, [(0, first), (7, watch.measure(model))], "v7-random", 40)
    assert title(ax) == "Phases moved by 0.50 rad"


def test_gates_without_a_phase_say_so(awake, ax):
    watch = live.gates()
    watch.draw(ax, [(0, watch.measure(awake("v7-quadrature")))], "even", 40)
    assert title(ax) == "No phase to learn: the gates stay"


def test_another_alpha_is_seen_on_the_masked_rows_and_named(awake, ax):
    model, watch = awake("v7"), live.gates()
    before = watch.measure(model).values
    model.encoding.steer("alpha", 0.6)
    now = watch.measure(model)
    hidden = np.arange(32) % 16 >= 12
    np.testing.assert_allclose(now.values[:, hidden], 2 * before[:, hidden], atol=2e-3)
    np.testing.assert_array_equal(now.values[:, ~hidden], before[:, ~hidden])
    watch.draw(ax, [(0, now)], "v7", 40)
    assert "MASK\n× 0.6" in [tick.get_text() for tick in ax.get_yticklabels()]


def test_what_was_watched_does_not_move_with_the_model(awake):
    model = awake("v7")
    found = live.gates().measure(model)
    values, phases = found.values.copy(), found.phases.copy()
    with torch.no_grad():
        model.encoding.delta.add_(1.0)
    np.testing.assert_array_equal(found.values, values)
    np.testing.assert_array_equal(found.phases, phases)


@pytest.mark.parametrize("version", ["v7-rope", "v7-nope", "v7-alibi"])
def test_an_encoding_without_gates_is_refused_and_told_what_has_some(awake, version):
    with pytest.raises(ValueError, match="has no gates; v7"):
        live.gates().measure(awake(version))


def test_gates_of_no_position_are_refused():
    with pytest.raises(ValueError, match=r"length \(0\)"):
        live.gates(length=0)


def test_a_watched_text_is_filled_in_with_the_likeliest(awake, ax):
    model, watch = awake("v7"), live.filling(LETTERS, HOLLOW)
    filled = watch.measure(model)
    expected = fill_in(model, live.with_holes(LETTERS, HOLLOW), temperature=0)
    assert torch.equal(filled.tokens, expected.tokens)
    watch.draw(ax, [(7, filled)], "v7", 40)
    assert letters(ax) == LETTERS.decode(expected.tokens[0])
    sure = expected.sure[0][expected.when[0] > 0].mean()
    assert title(ax) == f"After 7 steps: {sure:.0%} sure"


# ---------------------------------------------------------------- drawing


def test_a_text_stands_in_rows_of_squares(ax):
    sure = np.array([np.nan, 0.25, 1.0, np.nan, 0.5])
    plots.draw_text(ax, "a b░c", sure, "a text", columns=3)
    shown = np.ma.filled(ax.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(shown, [[np.nan, 0.25, 1.0], [np.nan, 0.5, np.nan]])
    assert [mark.get_text() for mark in ax.texts] == ["a", "•", "b", "░", "c"]
    assert ax.texts[4].get_position() == (1, 1)
    plots.draw_text(ax, "ab", sure[:2], "a shorter one", columns=3)
    assert [mark.get_text() for mark in ax.texts] == ["a", "b"]


def test_letters_that_were_given_belong_to_the_background(ax):
    given, canvas = np.array([True, False, True]), FigureCanvasAgg(ax.figure)
    for text in ("a░b", "acb"):
        plots.draw_text(ax, text, np.array([np.nan, 0.5, np.nan]), "a text", "a note", given=given)
        for artist in movable(ax):
            artist.set_animated(True)
        assert letters(ax) == text
        assert ax.figure.stale == (text == "a░b")  # what is filled in leaves the background alone
        canvas.draw()
    assert {artist.get_gid() for artist in movable(ax)} == {"sure", "letter 1", "note", "title"}


def test_what_appears_later_is_grey(ax):
    plots.draw_appearing(ax, np.array([1, 2, 3]), np.array([0.9, 0.5, 0.1]), 2, 5, 0.95, "pace")
    later, there = (next(line for line in ax.lines if line.get_gid() == name) for name in ("later", "there"))
    assert list(later.get_xydata()[0]) == [3, 0.1]
    np.testing.assert_allclose(there.get_xydata(), [(1, 0.9), (2, 0.5)])
    assert ax.get_xlim() == (0, 6)
