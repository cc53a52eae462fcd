"""A watch measures at fixed steps what the function behind it returns, and draws it."""

import numpy as np
import pytest
import torch
from babygpt.plots.artists import find_artist
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D

from babygpt import live
from babygpt.config import ModelConfig
from babygpt.data.tokenizer import MASK, CharTokenizer
from babygpt.errors import BadInput
from babygpt.metrics import role_accuracy
from babygpt.metrics.inspection import attention_weights, bigram_table, gates_of, position_votes
from babygpt.metrics.parallel_texts import code_similarity, layer_similarity, parallel_loss
from babygpt.models.versions import build
from babygpt.positions import Positions
from babygpt.sampling import fill_in

LETTERS = CharTokenizer("abc def\nghi")
MASKED = CharTokenizer("abcdefghi ", with_mask=True)  # eleven tokens too, as the small models have
HOLLOW = "ab__ef_hi ab__ef"
SHAPE = ModelConfig(vocab_size=11, block_size=16, n_layer=1, n_head=2, n_embd=16)


def title(ax):
    return ax.get_title(loc="left")


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


@given(total=st.integers(1, 3000), times=st.integers(1, 100))
def test_a_watch_measures_first_and_last_and_evenly_between(total, times):
    steps = sorted(live.Watch(lambda model: None, lambda *_: None, times).steps(total))
    assert (steps[0], steps[-1]) == (0, total)
    assert len(steps) == min(times, total) + 1
    gaps = np.diff(steps)
    assert gaps.max() - gaps.min() <= 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: live.heads(LETTERS, ""), "empty"),
        (lambda: live.heads(LETTERS, "abz"), "'z'"),
        (lambda: live.branch_similarity(LETTERS, ""), "empty"),
        (lambda: live.encode_masked(MASKED, "abc"), "no hole"),
        (lambda: live.encode_masked(MASKED, "ab_z"), "'z' at position 3"),
        (lambda: live.encode_masked(CharTokenizer("abc"), "a_"), "with_mask=True"),
    ],
)
def test_an_impossible_watch_is_refused_at_once(make, words):
    with pytest.raises(BadInput, match=words):
        make()


# ---------------------------------------------------------------- predictions and attention


def test_roles_are_the_share_of_right_answers_over_the_steps(awake, small_grammar, ax):
    tokenizer = CharTokenizer(small_grammar.alphabet())
    questions = small_grammar.questions(12, seed=0, max_chars=60)
    model = awake("v4", vocab_size=tokenizer.vocab_size, block_size=64)
    watch = live.roles(tokenizer, questions)
    assert watch.measure(model) == role_accuracy(model, tokenizer, questions)
    watch.draw(ax, [(0, 0.5), (10, 0.75)], "v4", 40)
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [(0, 50), (10, 75)])
    assert ax.get_xlim() == (0, 40)
    assert "75%" in title(ax)


def test_next_characters_are_v1s_table(awake, ax):
    model, watch = awake("v1"), live.next_characters(LETTERS)
    found = watch.measure(model)
    np.testing.assert_array_equal(found, bigram_table(model))
    watch.draw(ax, [(0, 0 * found), (7, found)], "v1", 40)
    np.testing.assert_array_equal(ax.images[0].get_array(), found)
    assert labels(ax.xaxis) == labels(ax.yaxis) == ["a", "b", "c", "•", "d", "e", "f", "↵", "g", "h", "i"]


def test_votes_are_v2s_with_a_row_for_each_character(awake, ax):
    model, watch = awake("v2"), live.votes(LETTERS)
    found = watch.measure(model)
    np.testing.assert_array_equal(found, position_votes(model))
    watch.draw(ax, [(7, found)], "v2", 40)
    np.testing.assert_array_equal(ax.images[0].get_array(), found.T)
    assert len(labels(ax.yaxis)) == len(LETTERS.characters)


def test_the_head_that_has_moved_most_is_the_large_one(awake, ax):
    model, watch = awake("v4"), live.heads(LETTERS, "ab ab")
    expected = attention_weights(model, LETTERS.encode("ab ab"))
    np.testing.assert_allclose(watch.measure(model), expected, atol=1e-3)  # kept in half precision
    first = np.broadcast_to(np.eye(5, dtype=np.float16), (2, 3, 5, 5))
    now = first.copy()
    now[1, 2, 3:] = [1, 0, 0, 0, 0]  # two of five letters look elsewhere
    now[0, 1, 3] = [1, 0, 0, 0, 0]
    watch.draw(ax, [(0, first)], "v4", 40)
    assert "before training" in title(ax)
    watch.draw(ax, [(0, first), (7, now)], "v4", 40)
    np.testing.assert_array_equal(find_artist(ax, AxesImage, "head").get_array(), now[1, 2])
    assert title(ax).split() == "Layer 2, head 3 changed most: 40% of its attention since step 0".split()
    assert labels(ax.xaxis) == labels(ax.yaxis) == ["a", "b", "•", "a", "b"]


def test_the_kernel_is_drawn_as_a_share_beside_the_first_one(awake, ax):
    model, watch, m = build("v5", SHAPE), live.kernel(furthest=32), np.arange(33)
    first = watch.measure(model)
    expected = 0.7 * np.exp(-(m**2) / 50) + 0.3 * np.exp(-(m**2) / 800)
    np.testing.assert_allclose(first, expected, rtol=1e-4)
    for name, value in (("sigma1", 10.0), ("sigma2", 10.0), ("alpha1", 1.7)):
        model.encoding.steer(name, value)
    now = watch.measure(model)
    np.testing.assert_allclose(now, 2 * np.exp(-(m**2) / 200), rtol=1e-4)
    watch.draw(ax, [(0, first), (7, now)], "v5", 40)
    shown = {line.get_label(): line.get_ydata() for line in ax.lines}
    np.testing.assert_allclose(shown["at first"], expected, rtol=1e-4)
    np.testing.assert_allclose(shown["now"], np.exp(-(m**2) / 200), rtol=1e-4)
    assert title(ax) == "K halves in 12 tokens, at first in 8"  # 10 times the square root of 2 ln 2
    watch.draw(ax, [(0, np.ones(33)), (9, np.ones(33))], "v5", 40)
    assert title(ax) == "K halves beyond 32 tokens"
    with pytest.raises(BadInput, match="Rotary has no kernel"):
        watch.measure(awake("v4"))


# ---------------------------------------------------------------- parallel texts


def test_the_curves_are_the_similarities_of_codes_and_streams(awake, ax):
    model, watch = awake("v6", n_layer=3), live.branch_similarity(LETTERS, "abc dab", n=3)
    found = watch.measure(model)
    np.testing.assert_array_equal(found[0], code_similarity(model, 3))
    np.testing.assert_array_equal(found[1:], layer_similarity(model, LETTERS.encode("abc dab"), 3))
    watch.draw(ax, [(0, 0 * found), (7, found)], "v6", 40)
    shown = {line.get_label(): line.get_ydata() for line in ax.lines}
    means = [(square.sum() - np.trace(square)) / 6 for square in found]  # of three pairs, twice
    names = ("codes", "input", "after layer 1", "after layer 2", "after layer 3")
    for name, mean in zip(names, means, strict=True):
        np.testing.assert_allclose(shown[name], [0, mean], atol=1e-6)
    assert title(ax) == f"The branches are {means[-1]:.0%} alike after the last layer"
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert torch.is_grad_enabled()


def test_interference_is_the_loss_beside_others_less_that_alone(awake, text, ax):
    model, ids = awake("v6"), text(400)
    watch = live.interference(ids, length=12, n=2, n_texts=8)
    assert watch.measure(model) == tuple(parallel_loss(model, ids, n, 12, 8) for n in (1, 2))
    watch.draw(ax, [(0, (3.0, 3.5)), (5, (1.0, 1.25))], "v6", 10)
    assert title(ax) == "Among 2 texts, each loses 0.25 nats more"
    np.testing.assert_allclose(find_artist(ax, Line2D, "gap").get_xydata(), [(0, 0.5), (5, 0.25)])
    assert ax.get_ylim() == (-0.05, 0.5)  # it fills the axis


# ---------------------------------------------------------------- diffusion


def test_each_underscore_is_a_mask_unless_it_is_a_character():
    assert live.encode_masked(MASKED, f"a_{MASK}b").tolist() == [[0, 10, 10, 1]]
    assert live.encode_masked(CharTokenizer("a_", with_mask=True), f"a_{MASK}").tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("version", ["v7", "v7-polar", "v7-quadrature", "v7-pope"])
def test_gates_are_drawn_position_by_channel(awake, ax, version):
    model, watch = awake(version), live.gates(length=20)
    found = watch.measure(model)
    masked = torch.arange(20) % 16 >= 12
    with torch.no_grad():
        expected = gates_of(model.encoding, Positions(torch.arange(20), masked=masked[None])).numpy()
    np.testing.assert_allclose(found[0], expected, atol=1e-3)  # kept in half precision
    watch.draw(ax, [(0, found)], version, 40)
    assert find_artist(ax, AxesImage, "matrix").get_array().shape == expected.shape[1:]
    marks = " ".join(labels(ax.yaxis))
    assert "MASK" in marks
    assert ("× 0.3" in marks) == (version != "v7-pope")
    assert ("sines" in ax.get_xlabel()) == (expected.shape[-1] == 16)
    assert (title(ax) == "No phase to learn: the gates stay") == (version == "v7-quadrature")


def test_the_gates_drawn_are_those_whose_phases_moved_furthest(awake, ax):
    model, watch = awake("v7"), live.gates()
    first = watch.measure(model)
    before = first[0].copy()
    with torch.no_grad():
        model.encoding.delta[0] += 0.25
        model.encoding.delta[1, 3] -= 0.75
    model.encoding.steer("alpha", 0.6)
    now = watch.measure(model)
    np.testing.assert_array_equal(first[0], before)  # a measurement does not move with the model
    watch.draw(ax, [(0, first), (7, now)], "v7", 40)
    np.testing.assert_array_equal(find_artist(ax, AxesImage, "matrix").get_array(), now[0][1])
    assert title(ax) == "Head 2's phases moved by 0.75 rad"
    assert "MASK\n× 0.6" in labels(ax.yaxis)

    model, watch = awake("v7-random"), live.gates()  # one phase for all heads
    first = watch.measure(model)
    with torch.no_grad():
        model.encoding.phi[2] += 0.5
    watch.draw(ax, [(0, first), (7, watch.measure(model))], "v7-random", 40)
    assert title(ax) == "Phases moved by 0.50 rad"
    with pytest.raises(BadInput, match="has no gates; v7"):
        watch.measure(awake("v7-rope"))


def test_a_watched_text_is_filled_in_with_the_likeliest_characters(awake, ax):
    model, watch = awake("v7"), live.filled_text(MASKED, HOLLOW)
    filled = watch.measure(model)
    expected = fill_in(model, live.encode_masked(MASKED, HOLLOW), temperature=0)
    assert torch.equal(filled.tokens, expected.tokens)
    watch.draw(ax, [(7, filled)], "v7", 40)
    letters = {text.get_gid() or text.get_label(): text.get_text() for text in ax.texts}
    shown = "".join(letters[f"letter {i}"] for i in range(len(HOLLOW)))
    assert shown.replace("•", " ") == MASKED.decode(expected.tokens[0])
    assert all(
        (mark == " ") == (char == " ") for mark, char in zip(shown, HOLLOW, strict=True) if char != "_"
    )
    sure = expected.confidence[0][expected.when[0] > 0].mean()
    assert title(ax) == f"After 7 steps the model is {sure:.0%} sure of its characters"
