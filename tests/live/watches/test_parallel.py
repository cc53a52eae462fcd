"""Watches of a model of parallel texts: how alike its branches look, and how much they interfere."""

import numpy as np
import pytest
import torch
from matplotlib.image import AxesImage

from babygpt.data.tokenizer import CharTokenizer
from babygpt.live import branch_similarity, interference
from babygpt.metrics.branches import code_similarity, layer_similarity, parallel_loss
from babygpt.plots.artists import find_artist

LETTERS = CharTokenizer("abcdefghij ")


def title(ax):
    return ax.get_title(loc="left") or ax.get_title()


def test_the_squares_are_the_codes_and_then_the_streams(awake, ax):
    model, watch = awake("v6", n_layer=3), branch_similarity(LETTERS, "abc dab", n=3)
    found = watch.measure(model)
    np.testing.assert_array_equal(found[0], code_similarity(model, 3))
    np.testing.assert_array_equal(found[1:], layer_similarity(model, LETTERS.encode("abc dab"), 3))
    watch.draw(ax, [(0, 0 * found), (7, found)], "v6", 40)
    names = ["codes", "input", "layer 1", "layer 2", "layer 3"]
    for name, square in zip(names, found, strict=True):
        np.testing.assert_array_equal(find_artist(ax, AxesImage, name).get_array(), square)
    last = (found[-1].sum() - np.trace(found[-1])) / 6
    assert title(ax) == f"After 7 steps: {last:.0%} alike in the last layer"


def test_a_text_that_cannot_be_looked_at_is_refused_at_once():
    with pytest.raises(ValueError, match="empty"):
        branch_similarity(LETTERS, "")


def test_interference_is_the_loss_alone_and_beside_others(awake, text, ax):
    model, ids = awake("v6"), text(400)
    watch = interference(ids, length=12, n=2, n_texts=8)
    alone, beside = watch.measure(model)
    assert alone == parallel_loss(model, ids, 1, 12, 8)
    assert beside == parallel_loss(model, ids, 2, 12, 8)
    watch.draw(ax, [(0, (3.0, 3.5)), (5, (1.0, 1.25))], "v6", 10)
    assert "0.25" in title(ax)
    assert sorted(line.get_label() for line in ax.get_lines()) == ["alone", "among 2"]


def test_looking_at_a_model_leaves_its_loss_as_it_was(awake, text):
    model, ids = awake("v6"), text(400)
    before = parallel_loss(model, ids, 2, 12, 8)
    branch_similarity(LETTERS, "abc").measure(model)
    assert parallel_loss(model, ids, 2, 12, 8) == before
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert torch.is_grad_enabled()
