"""RoPE with and without a kernel: each number is that of the model it names, and the figure shows it."""

import numpy as np
import pytest
import torch

from babygpt.encodings.gaussian import Gaussian
from babygpt.metrics import attention_weights, loss_by_position
from babygpt.positions import Positions
from babygpt_course.studies import gaussian_training as gaussian
from babygpt_course.studies.gaussian_training import cost_of_hiding, short_sighted


def test_what_is_kept_of_a_kernel_makes_it_again():
    encoding = Gaussian(8, (2.0, 0.1), (3.0, 9.0))
    numbers = gaussian.kernel_numbers(encoding)
    away = torch.arange(41)
    expected = (encoding.kernel(away) / encoding.kernel(away)[0]).detach().numpy()
    np.testing.assert_allclose(gaussian.relative_kernel(numbers, 40), expected, rtol=1e-3)
    assert expected[numbers["half"] - 1] >= 0.5 > expected[numbers["half"]]
    assert expected[numbers["hundredth"] - 1] >= 0.01 > expected[numbers["hundredth"]]


def test_the_boards_runs_stand_between_the_short_and_the_long_and_seeds_are_paired():
    v4 = [0.5, 0.5, 0.6]
    found = {"v4": v4, "v5": [0.6], "v5 fixed": [0.4, 0.55, 0.5]}
    plain = {n: {v: {"val_loss": x} for v, x in found.items()} for n in ("1200", "300")}
    rungs = {v: {"1x": x} for v, x in {**found, "v5 fixed": [0.4, 0.4, 0.4]}.items()}
    losses = gaussian.race({"plain": plain}, {"steps": 600, "board": rungs})
    assert list(losses) == [300, 600, 1200]
    behind = gaussian.behind_v4(losses)
    assert behind[300]["v5 fixed"] == pytest.approx([-0.1, 0.05, -0.1])
    assert behind[1200]["v5"] == pytest.approx([0.1])
    assert gaussian.seeds_ahead(losses, "v5 fixed") == {300: "2 of 3", 600: "3 of 3", 1200: "2 of 3"}


def test_far_attention_is_counted_by_hand(awake, text):
    T = 12
    model, ids = awake("v5"), text(1, T)[0]
    shares, even = gaussian.far_attention(model, ids, 2, T, n_windows=1)
    weights = attention_weights(model, ids)  # (L, H, T, T)
    asked = range(T // 2, T)
    by_hand = [[np.mean([head[m, : m - 2].sum() for m in asked]) for head in layer] for layer in weights]
    np.testing.assert_allclose(shares, by_hand, rtol=1e-5)
    assert even == pytest.approx(np.mean([(m - 2) / (m + 1) for m in asked]))


# ---------------------------------------------------------------- hiding distant tokens

LENGTH = 12


@pytest.mark.parametrize("version", ["v3", "v4", "v5", "alibi"])
@pytest.mark.parametrize("distance", [0, 3])
def test_one_layer_that_sees_so_far_is_the_model_on_the_end_of_its_text(awake, text, version, distance):
    model, idx = awake(version), text(2, LENGTH)
    model.blocks = model.blocks[:1]
    seen = short_sighted(model, distance)(idx)
    for t in range(LENGTH):
        first = max(0, t - distance)
        alone = model(idx[:, first : t + 1], Positions.arange(t + 1 - first, first))
        torch.testing.assert_close(seen[:, t], alone[:, -1], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("options", [{}, {"per_layer": True}, {"n_head": 2}])
def test_a_horizon_beyond_the_text_hides_nothing(awake, text, options):
    model, idx = awake("v5", options), text(2, LENGTH)
    torch.testing.assert_close(short_sighted(model, LENGTH - 1)(idx), model(idx), atol=1e-5, rtol=1e-4)
    assert (short_sighted(model, 1)(idx) - model(idx)).abs().max() > 1e-3


def test_the_model_itself_is_left_as_it_is(awake, text):
    model, idx = awake("v4"), text(2, LENGTH)
    before, encoding = model(idx), model.encoding
    near = short_sighted(model, 0)
    near(idx)
    assert model.encoding is encoding
    assert torch.equal(model(idx), before)
    assert near.head.weight is model.head.weight


def test_the_cost_is_what_the_loss_rises_by(awake, text):
    model, ids = awake("v4"), text(1, 200)[0]
    found = cost_of_hiding(model, ids, (2, LENGTH - 1), LENGTH, n_windows=8)
    whole = loss_by_position(model, ids, LENGTH, 8)[LENGTH // 2 :].mean()
    near = loss_by_position(short_sighted(model, 2), ids, LENGTH, 8)[LENGTH // 2 :].mean()
    assert found[0] == pytest.approx(near - whole, abs=1e-6)
    assert abs(found[0]) > 1e-4
    assert found[1] == pytest.approx(0, abs=1e-6)


def test_a_distance_below_zero_is_refused(awake):
    with pytest.raises(ValueError, match=r"distance \(-1\) must be at least 0"):
        short_sighted(awake("v4"), -1)


def test_hiding_keeps_the_precision_of_a_float64_model(awake, text):
    """At 64 tokens: attention's kernel for shorter texts happens to convert a float32 mask."""
    model, idx = awake("v4", block_size=64), text(2, 64)
    single = short_sighted(model, 2)(idx)
    torch.testing.assert_close(short_sighted(model.double(), 2)(idx).float(), single, atol=1e-4, rtol=1e-3)
