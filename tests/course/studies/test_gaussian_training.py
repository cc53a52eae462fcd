"""RoPE with and without a kernel: each number is that of the model it names, and the figure shows it."""

import numpy as np
import pytest
import torch

from babygpt.encodings.gaussian import Gaussian
from babygpt.metrics import attention_weights
from babygpt_course.studies import gaussian_training as gaussian


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
