"""The explorer of branch codes, and what is watched while a model of parallel branches trains."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from babygpt.data.tokenizer import CharTokenizer
from babygpt.live import branch_similarity, company
from babygpt.live.explorers.branches import measure
from babygpt.metrics.branches import code_similarity, company_loss, layer_similarity
from babygpt.plots.artists import drawn

LETTERS = CharTokenizer("abcdefghij ")


@pytest.fixture
def ax():
    return Figure().subplots()


def title(ax):
    return ax.get_title(loc="left") or ax.get_title()


@given(
    n=st.integers(2, 16),
    stride=st.floats(1, 8192),
    theta=st.floats(10, 1e6),
    width=st.integers(1, 64).map(lambda pairs: 8 * pairs),
)
def test_both_codes_have_the_cosine_of_the_formula(n, stride, theta, width):
    found = measure(n, stride, theta, width)
    omega = theta ** (-np.arange(0, width, 2) / width)
    apart = np.subtract.outer(np.arange(n), np.arange(n))[..., None] * stride
    expected = np.cos(apart * omega).mean(axis=-1)
    np.testing.assert_allclose(found["fourier"], expected, atol=1e-6)
    np.testing.assert_allclose(found["rope"], expected, atol=1e-6)
    np.testing.assert_allclose(found["to first"]["all pairs"], expected[0], atol=1e-6)
    np.testing.assert_allclose(
        found["to first"]["the slowest pair"], np.cos(apart[0, :, 0] * omega[-1]), atol=1e-6
    )
    assert found["distance"] == pytest.approx(np.sqrt(width * (1 - expected[0, 1])), abs=1e-3)


def test_the_squares_are_the_codes_and_then_the_streams(awake, ax):
    model, watch = awake("v6", n_layer=3), branch_similarity(LETTERS, "abc dab", n=3)
    found = watch.measure(model)
    np.testing.assert_array_equal(found[0], code_similarity(model, 3))
    np.testing.assert_array_equal(found[1:], layer_similarity(model, LETTERS.encode("abc dab"), 3))
    watch.draw(ax, [(0, 0 * found), (7, found)], "v6", 40)
    names = ["codes", "input", "layer 1", "layer 2", "layer 3"]
    for name, square in zip(names, found, strict=True):
        np.testing.assert_array_equal(drawn(ax, AxesImage, name).get_array(), square)
    last = (found[-1].sum() - np.trace(found[-1])) / 6
    assert title(ax) == f"After 7 steps: {last:.0%} alike in the last layer"


def test_a_text_that_cannot_be_looked_at_is_refused_at_once():
    with pytest.raises(ValueError, match="empty"):
        branch_similarity(LETTERS, "")


def test_company_is_the_loss_alone_and_beside_others(awake, text, ax):
    model, ids = awake("v6"), text(400)
    watch = company(ids, length=12, n=2, n_texts=8)
    alone, beside = watch.measure(model)
    assert alone == company_loss(model, ids, 1, 12, 8)
    assert beside == company_loss(model, ids, 2, 12, 8)
    watch.draw(ax, [(0, (3.0, 3.5)), (5, (1.0, 1.25))], "v6", 10)
    assert "0.25" in title(ax)
    assert sorted(line.get_label() for line in ax.get_lines()) == ["alone", "among 2"]


def test_looking_at_a_model_leaves_its_loss_as_it_was(awake, text):
    model, ids = awake("v6"), text(400)
    before = company_loss(model, ids, 2, 12, 8)
    branch_similarity(LETTERS, "abc").measure(model)
    assert company_loss(model, ids, 2, 12, 8) == before
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert torch.is_grad_enabled()
