"""A watch measures at fixed steps, just what the function behind it gives, and draws it."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import AxesImage

from babygpt.config import ModelConfig
from babygpt.data.tokenizer import CharTokenizer
from babygpt.live import Watch, heads, kernel, next_characters, roles, votes
from babygpt.metrics import role_accuracy
from babygpt.metrics.inspection import attention_weights, bigram_table, position_votes
from babygpt.models.versions import build
from babygpt.plots.artists import find_artist

LETTERS = CharTokenizer("abc def\nghi")
SHAPE = ModelConfig(vocab_size=11, block_size=16, n_layer=1, n_head=2, n_embd=16)


def title(ax):
    return ax.get_title(loc="left") or ax.get_title()


@given(total=st.integers(1, 3000), times=st.integers(1, 100))
def test_a_watch_looks_first_and_last_and_evenly_between(total, times):
    steps = sorted(Watch(lambda model: None, lambda *_: None, times).steps(total))
    assert (steps[0], steps[-1]) == (0, total)
    assert len(steps) == min(times, total) + 1
    gaps = np.diff(steps)
    assert gaps.max() - gaps.min() <= 1


def test_heads_are_those_that_the_measure_gives(awake, ax):
    model, watch = awake("v4"), heads(LETTERS, "ab ab")
    found = watch.measure(model)
    expected = attention_weights(model, LETTERS.encode("ab ab"))
    np.testing.assert_allclose(found, expected, atol=1e-3)  # kept in half precision
    watch.draw(ax, [(0, found), (7, found)], "v4", 40)
    for axis in (ax.xaxis, ax.yaxis):
        assert [label.get_text() for label in axis.get_ticklabels()] == ["a", "b", "•", "a", "b"]
    shown = np.ma.filled(find_artist(ax, AxesImage, "heads").get_array(), np.nan)
    np.testing.assert_array_equal(shown[6:11, 6:11], found[1, 1].astype(np.float32))


def test_the_head_that_has_moved_most_is_the_large_one(awake, ax):
    watch = heads(LETTERS, "ab ab")
    first = np.broadcast_to(np.eye(5, dtype=np.float16), (2, 3, 5, 5))
    now = first.copy()
    now[1, 2, 3:] = [1, 0, 0, 0, 0]  # two of five letters look elsewhere
    now[0, 1, 3] = [1, 0, 0, 0, 0]
    watch.draw(ax, [(0, first)], "v4", 40)
    assert "before training" in title(ax)
    watch.draw(ax, [(0, first), (7, now)], "v4", 40)
    np.testing.assert_array_equal(find_artist(ax, AxesImage, "head").get_array(), now[1, 2])
    assert title(ax) == "Layer 2, head 3 moved most: 40% of its attention"


@pytest.mark.parametrize(("text", "said"), [("", "empty"), ("abz", "'z'")])
def test_a_text_that_cannot_be_looked_at_is_refused_at_once(text, said):
    with pytest.raises(ValueError, match=said):
        heads(LETTERS, text)


def test_next_characters_are_v1s_table(awake, ax):
    model, watch = awake("v1"), next_characters(LETTERS)
    found = watch.measure(model)
    np.testing.assert_array_equal(found, bigram_table(model))
    watch.draw(ax, [(0, 0 * found), (7, found)], "v1", 40)
    np.testing.assert_array_equal(ax.images[0].get_array(), found)
    assert ax.images[0].get_clim() == (0, 1)
    marks = ["a", "b", "c", "•", "d", "e", "f", "↵", "g", "h", "i"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == marks
    assert [tick.get_text() for tick in ax.get_yticklabels()] == marks


def test_votes_are_v2s_with_a_row_for_each_character(awake, ax):
    model, watch = awake("v2"), votes(LETTERS)
    found = watch.measure(model)
    np.testing.assert_array_equal(found, position_votes(model))
    watch.draw(ax, [(7, found)], "v2", 40)
    np.testing.assert_array_equal(ax.images[0].get_array(), found.T)
    assert len(ax.get_yticklabels()) == len(LETTERS.characters)


def test_the_kernel_is_drawn_as_a_share_beside_the_first_one(ax):
    model, watch = build("v5", SHAPE), kernel(furthest=32)
    first = watch.measure(model)
    m = np.arange(33)
    expected = 0.7 * np.exp(-(m**2) / 50) + 0.3 * np.exp(-(m**2) / 800)
    np.testing.assert_allclose(first, expected, rtol=1e-4)
    model.encoding.steer("sigma1", 10.0)
    model.encoding.steer("sigma2", 10.0)
    model.encoding.steer("alpha1", 1.7)
    now = watch.measure(model)
    np.testing.assert_allclose(now, 2 * np.exp(-(m**2) / 200), rtol=1e-4)
    watch.draw(ax, [(0, first), (7, now)], "v5", 40)
    shown = {line.get_label(): line.get_ydata() for line in ax.lines}
    np.testing.assert_allclose(shown["at first"], expected, rtol=1e-4)
    np.testing.assert_allclose(shown["now"], np.exp(-(m**2) / 200), rtol=1e-4)
    assert title(ax) == "K halves in 12 tokens, at first in 8"  # 10 times the square root of 2 ln 2
    watch.draw(ax, [(0, first)], "v5", 40)
    assert title(ax) == "K halves in 8 tokens"
    watch.draw(ax, [(0, np.ones(33)), (9, np.ones(33))], "v5", 40)
    assert title(ax) == "K halves beyond 32 tokens"


def test_of_several_heads_the_largest_share_is_drawn():
    model, watch = build("v5", SHAPE, n_head=SHAPE.n_head), kernel(furthest=32)
    with torch.no_grad():
        model.encoding.log_sigmas[0] = math.log(10.0)
        model.encoding.log_sigmas[1:] = math.log(2.0)
    np.testing.assert_allclose(watch.measure(model), np.exp(-(np.arange(33) ** 2) / 200), rtol=1e-4)


def test_a_model_without_a_kernel_and_a_kernel_without_distances_are_refused(awake):
    with pytest.raises(ValueError, match="Rotary has no kernel"):
        kernel().measure(awake("v4"))
    with pytest.raises(ValueError, match=r"furthest \(0\)"):
        kernel(furthest=0)


def test_roles_are_the_share_of_right_answers_over_the_steps(awake, small_grammar, ax):
    tokenizer = CharTokenizer(small_grammar.alphabet())
    questions = small_grammar.questions(12, seed=0, max_chars=60)
    model = awake("v4", vocab_size=tokenizer.vocab_size, block_size=64)
    watch = roles(tokenizer, questions)
    assert watch.measure(model) == role_accuracy(model, tokenizer, questions)
    watch.draw(ax, [(0, 0.5), (10, 0.75)], "v4", 40)
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [(0, 50), (10, 75)])
    assert ax.get_xlim() == (0, 40)
    assert "75%" in title(ax)
