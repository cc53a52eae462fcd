"""The weights shown are those that attention used."""

import threading

import numpy as np
import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.encodings import ALiBi, Encoding, LearnedPositions, Rotary, Sinusoidal
from babygpt.errors import BadInput
from babygpt.metrics.inspection import attention_weights, weights_of
from babygpt.models.transformer import Transformer

BODIES = ["v3", "v4", "nope", "learned", "alibi"]
CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)


@pytest.mark.parametrize("version", BODIES)
@pytest.mark.parametrize("T", [1, 2, 16])
def test_rows_are_distributions_over_the_past(awake, text, version: str, T: int) -> None:
    weights = attention_weights(awake(version), text(T))
    assert weights.shape == (2, 2, T, T)
    assert isinstance(weights, np.ndarray)
    assert weights.sum(axis=-1) == pytest.approx(np.ones((2, 2, T)), abs=1e-5)
    assert weights.min() >= 0
    assert (np.triu(weights, k=1) == 0).all()
    assert (np.diagonal(weights, axis1=2, axis2=3) > 0).all()


def reproduce(model: Transformer, idx: torch.Tensor) -> float:
    """Largest gap between each layer's output and its weights times its values."""
    worst: list[torch.Tensor] = []
    shown = torch.from_numpy(attention_weights(model, idx))

    def compare(layer, inputs, output) -> None:
        weights, v = weights_of(layer, *inputs)
        assert torch.allclose(weights[0], shown[len(worst)], atol=1e-6)
        mixed = layer.out((weights @ v).transpose(1, 2).flatten(2))
        worst.append((mixed - output).abs().max())

    hooks = [block.attention.register_forward_hook(compare) for block in model.blocks]
    with torch.no_grad():
        model(idx[None])
    for hook in hooks:
        hook.remove()
    assert len(worst) == len(model.blocks)
    return float(max(worst))


@pytest.mark.parametrize("version", BODIES)
def test_weights_times_values_are_what_attention_gave(awake, text, version: str) -> None:
    assert reproduce(awake(version), text(16)) < 1e-5


@pytest.mark.parametrize(
    "encoding",
    [Encoding(), Sinusoidal(16), Rotary(8), LearnedPositions(16, 16), ALiBi(2)],
    ids=lambda encoding: type(encoding).__name__,
)
def test_the_same_where_attention_looks_both_ways(wake, text, encoding: Encoding) -> None:
    model = wake(Transformer(CONFIG, encoding, causal=False))
    assert reproduce(model, text(12)) < 1e-5
    assert np.triu(attention_weights(model, text(12)), k=1).max() > 0


def test_queries_that_ask_nothing_see_all_of_the_past_alike(awake, text) -> None:
    model = awake("nope")
    for block in model.blocks:
        torch.nn.init.zeros_(block.attention.to_q.weight)
    expected = np.tril(1 / np.arange(1, 11)[:, None] * np.ones((10, 10)))
    assert attention_weights(model, text(10))[1, 0] == pytest.approx(expected, abs=1e-6)


def test_alibis_queries_that_ask_nothing_see_what_is_near(awake, text) -> None:
    """Then the scores are the biases: weights fall by exp(-slope) with each token."""
    model = awake("alibi")
    for block in model.blocks:
        torch.nn.init.zeros_(block.attention.to_q.weight)
    weights = attention_weights(model, text(10))
    for h, slope in enumerate((2**-4, 2**-8)):
        for m in range(10):
            row = np.exp(-slope * (m - np.arange(m + 1)))
            assert weights[0, h, m, : m + 1] == pytest.approx(row / row.sum(), abs=1e-6)


def test_looking_leaves_no_trace(awake, text) -> None:
    model, idx = awake("v4"), text(8)
    before = model(idx[None])
    first, second = (attention_weights(model, idx) for _ in range(2))
    assert np.array_equal(first, second)
    assert torch.equal(model(idx[None]), before)
    assert not any(block.attention._forward_pre_hooks for block in model.blocks)


def test_hooks_go_even_where_the_model_refuses(awake, text) -> None:
    model = awake("learned")
    with pytest.raises(ValueError, match="position 16"):
        attention_weights(model, text(17))
    assert not any(block.attention._forward_pre_hooks for block in model.blocks)


def test_a_model_that_trains_in_another_thread_can_be_looked_at(awake, text):
    """Hooks hear every thread; only the caller's forward pass counts."""
    model, idx = awake("v4"), text(12)
    expected = attention_weights(model, idx)
    busy, found = threading.Event(), []

    def other() -> None:
        while not busy.is_set():
            model(text(3, 7))

    thread = threading.Thread(target=other)
    thread.start()
    try:
        found = [attention_weights(model, idx) for _ in range(30)]
    finally:
        busy.set()
        thread.join()
    for weights in found:
        np.testing.assert_allclose(weights, expected, atol=1e-6)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_model_without_attention_has_no_weights_of_it(awake, text, version: str) -> None:
    with pytest.raises(BadInput, match="has no attention"):
        attention_weights(awake(version), text(5))
