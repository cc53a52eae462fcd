"""Hiding distant tokens, against the same model on shorter texts, and against attention counted by hand."""

import numpy as np
import pytest
import torch

from babygpt.metrics.inspection import attention_weights, cost_of_hiding, far_attention, short_sighted
from babygpt.metrics.losses import loss_by_position
from babygpt.positions import Positions

T = 12


@pytest.mark.parametrize("version", ["v3", "v4", "v5", "alibi"])
@pytest.mark.parametrize("distance", [0, 3])
def test_one_layer_that_sees_so_far_is_the_model_on_the_end_of_its_text(awake, text, version, distance):
    model, idx = awake(version), text(2, T)
    model.blocks = model.blocks[:1]
    seen = short_sighted(model, distance)(idx)
    for t in range(T):
        first = max(0, t - distance)
        alone = model(idx[:, first : t + 1], Positions.arange(t + 1 - first, first))
        torch.testing.assert_close(seen[:, t], alone[:, -1], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("options", [{}, {"per_layer": True}, {"n_head": 2}])
def test_a_horizon_beyond_the_text_hides_nothing(awake, text, options):
    model, idx = awake("v5", options), text(2, T)
    torch.testing.assert_close(short_sighted(model, T - 1)(idx), model(idx), atol=1e-5, rtol=1e-4)
    assert (short_sighted(model, 1)(idx) - model(idx)).abs().max() > 1e-3


def test_the_model_itself_is_left_as_it_is(awake, text):
    model, idx = awake("v4"), text(2, T)
    before, encoding = model(idx), model.encoding
    near = short_sighted(model, 0)
    near(idx)
    assert model.encoding is encoding
    assert torch.equal(model(idx), before)
    assert near.head.weight is model.head.weight


def test_the_cost_is_what_the_loss_rises_by(awake, text):
    model, ids = awake("v4"), text(1, 200)[0]
    found = cost_of_hiding(model, ids, (2, T - 1), T, n_windows=8)
    whole = loss_by_position(model, ids, T, 8)[T // 2 :].mean()
    near = loss_by_position(short_sighted(model, 2), ids, T, 8)[T // 2 :].mean()
    assert found[0] == pytest.approx(near - whole, abs=1e-6)
    assert abs(found[0]) > 1e-4
    assert found[1] == pytest.approx(0, abs=1e-6)


def test_far_attention_is_counted_by_hand(awake, text):
    model, ids = awake("v5"), text(1, T)[0]
    shares, even = far_attention(model, ids, 2, T, n_windows=1)
    weights = attention_weights(model, ids)  # (L, H, T, T)
    asked = range(T // 2, T)
    by_hand = [[np.mean([head[m, : m - 2].sum() for m in asked]) for head in layer] for layer in weights]
    np.testing.assert_allclose(shares, by_hand, rtol=1e-5)
    assert even == pytest.approx(np.mean([(m - 2) / (m + 1) for m in asked]))


def test_a_distance_below_zero_is_refused(awake):
    with pytest.raises(ValueError, match=r"distance \(-1\) must be at least 0"):
        short_sighted(awake("v4"), -1)


def test_hiding_keeps_the_precision_of_a_float64_model(awake, text):
    """At 64 tokens: attention's kernel for shorter texts happens to convert a float32 mask."""
    model, idx = awake("v4", block_size=64), text(2, 64)
    single = short_sighted(model, 2)(idx)
    torch.testing.assert_close(short_sighted(model.double(), 2)(idx).float(), single, atol=1e-4, rtol=1e-3)
