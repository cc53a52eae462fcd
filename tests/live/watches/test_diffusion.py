"""Watches of gates and of a text with holes."""

import numpy as np
import pytest
import torch
from matplotlib.image import AxesImage

from babygpt import live
from babygpt.data.tokenizer import MASK, CharTokenizer
from babygpt.metrics.inspection import gates_of
from babygpt.plots.artists import find_artist
from babygpt.positions import Positions
from babygpt.sampling import fill_in

LONG = 60  # seconds; nothing here takes that long unless it hangs
LETTERS = CharTokenizer("abcdefghi ", with_mask=True)  # eleven tokens, as the small models have
HOLLOW = "ab__ef_hi ab__ef"


def title(ax):
    return ax.get_title(loc="left") or ax.get_title()


def test_each_underscore_is_a_mask_and_so_is_the_mark_of_a_mask():
    ids = live.encode_masked(LETTERS, f"a_{MASK}b")
    assert ids.tolist() == [[0, 10, 10, 1]]


def test_where_an_underscore_is_a_character_it_stays_one():
    assert live.encode_masked(CharTokenizer("a_", with_mask=True), f"a_{MASK}").tolist() == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "no hole"), ("abc", "no hole"), ("ab_z", "'z' at place 3")],
)
def test_a_text_that_cannot_be_filled_in_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        live.encode_masked(LETTERS, text)


def test_a_tokenizer_without_a_mask_is_refused():
    with pytest.raises(ValueError, match="with_mask=True"):
        live.encode_masked(CharTokenizer("abc"), "a_")


def letters(ax):
    """The characters on an Axes, in their order."""
    found = {text.get_gid() or text.get_label(): text.get_text() for text in ax.texts}
    found.pop("note", None)
    return "".join(found[f"letter {i}"] for i in range(len(found))).replace("•", " ")


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
    assert find_artist(ax, AxesImage, "matrix").get_array().shape == expected.shape[1:]
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
    np.testing.assert_array_equal(find_artist(ax, AxesImage, "matrix").get_array(), now.values[1])
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
    model, watch = awake("v7"), live.filled_text(LETTERS, HOLLOW)
    filled = watch.measure(model)
    expected = fill_in(model, live.encode_masked(LETTERS, HOLLOW), temperature=0)
    assert torch.equal(filled.tokens, expected.tokens)
    watch.draw(ax, [(7, filled)], "v7", 40)
    assert letters(ax) == LETTERS.decode(expected.tokens[0])
    sure = expected.confidence[0][expected.when[0] > 0].mean()
    assert title(ax) == f"After 7 steps: {sure:.0%} sure"
