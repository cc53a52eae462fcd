"""Attention weights, tables, kernels and gates of a model, each against its formula or the logits."""

import copy
import math
import threading

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.config import ModelConfig
from babygpt.encodings import ALiBi, Encoding, LearnedPhase, Rotary
from babygpt.encodings.gaussian import Gaussian
from babygpt.encodings.polar import KeysOnly, Quadrature, RandomPhase
from babygpt.errors import BadInput
from babygpt.metrics import ablate_heads, attention_weights, inspection, without_heads
from babygpt.metrics.inspection import gates_of, kernel_values, phases_of, reach, weights_of, written_by_heads
from babygpt.models.transformer import Transformer
from babygpt.positions import Positions

BODIES = ["v3", "v4", "nope", "learned", "alibi"]
CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)


@pytest.mark.parametrize("version", BODIES)
def test_rows_are_distributions_over_the_past(awake, text, version: str) -> None:
    for n in (1, 2, 16):
        weights = attention_weights(awake(version), text(n))
        assert weights.shape == (2, 2, n, n)
        assert weights.sum(axis=-1) == pytest.approx(np.ones((2, 2, n)), abs=1e-5)
        assert (np.triu(weights, k=1) == 0).all()
        assert (np.tril(weights) >= 0).all()
        assert (np.diagonal(weights, axis1=2, axis2=3) > 0).all()


def reproduce(model: Transformer, idx: torch.Tensor) -> float:
    """Return the largest gap between each layer's output and its weights times its values."""
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


@torch.no_grad()
def test_what_heads_write_times_the_last_matrix_is_the_output_of_attention(awake, text) -> None:
    model, idx = awake("v4"), text(2, 16)
    outputs: list[torch.Tensor] = []
    hooks = [
        block.attention.register_forward_hook(lambda _, inputs, output: outputs.append(output))
        for block in model.blocks
    ]
    model(idx)
    for hook in hooks:
        hook.remove()
    for block, written, output in zip(model.blocks, written_by_heads(model, idx), outputs, strict=True):
        assert written.shape[:3] == (2, 16, model.config.n_head)
        torch.testing.assert_close(block.attention.out(written.flatten(2)), output)


@pytest.mark.parametrize("version", BODIES)
def test_weights_times_values_equal_the_output_of_attention(awake, text, version: str) -> None:
    assert reproduce(awake(version), text(16)) < 1e-5


@pytest.mark.parametrize("encoding", [Encoding(), Rotary(8), ALiBi(2)], ids=lambda e: type(e).__name__)
def test_weights_times_values_hold_for_attention_in_both_directions(wake, text, encoding: Encoding) -> None:
    model = wake(Transformer(CONFIG, encoding, causal=False))
    assert reproduce(model, text(12)) < 1e-5
    assert np.triu(attention_weights(model, text(12)), k=1).max() > 0


def test_attention_weights_leave_the_model_unchanged_even_after_an_error(awake, text) -> None:
    model, idx = awake("learned"), text(8)
    before = model(idx[None])
    first, second = (attention_weights(model, idx) for _ in range(2))
    assert np.array_equal(first, second)
    with pytest.raises(ValueError, match="position 16"):
        attention_weights(model, text(17))
    assert torch.equal(model(idx[None]), before)
    assert not any(block.attention._forward_pre_hooks for block in model.blocks)


def test_only_the_forward_pass_of_the_calling_thread_counts(awake, text):
    model, idx, busy = awake("v4"), text(12), threading.Event()
    expected = attention_weights(model, idx)

    def train() -> None:
        while not busy.is_set():
            model(text(3, 7))

    thread = threading.Thread(target=train)
    thread.start()
    try:
        weights = [attention_weights(model, idx) for _ in range(30)]
    finally:
        busy.set()
        thread.join()
    np.testing.assert_allclose(weights, np.stack([expected] * 30), atol=1e-6)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_model_without_attention_is_refused(awake, text, version: str) -> None:
    with pytest.raises(BadInput, match="has no attention"):
        attention_weights(awake(version), text(5))
    with pytest.raises(BadInput, match="has no attention"):
        ablate_heads(awake(version), lambda _: 0.0)


def test_v1s_table_equals_its_predictions_after_any_text(awake, text) -> None:
    model, idx = awake("v1"), text(12)
    table = inspection.bigram_table(model)
    assert table.shape == (11, 11)
    with torch.no_grad():
        probabilities = model(idx[None])[0].exp()
    probabilities = (probabilities / probabilities.sum(dim=-1, keepdim=True)).numpy()
    for token, row in zip(idx.tolist(), probabilities, strict=True):
        assert table[token] == pytest.approx(row, abs=1e-6)


def test_v2s_votes_equal_the_change_of_logits_by_position(awake) -> None:
    """Put one token at every position, so that its own vote cancels."""
    model = awake("v2")
    votes = inspection.position_votes(model)
    assert votes.shape == (16, 11)
    assert np.abs(votes).max() > 0.1
    for token in (0, 7):
        with torch.no_grad():
            logits = model(torch.full((1, 16), token))[0]
        assert votes == pytest.approx((logits - logits.mean(dim=0)).numpy(), abs=1e-5)


share, sigma = st.floats(0.001, 0.99), st.floats(0.5, 300)


@given(sigma, sigma, share)
def test_reach_is_the_first_distance_at_which_the_kernel_is_below_the_share(
    narrow: float, wide: float, share: float
) -> None:
    single = Gaussian(8, (0.5, 0.5), (wide, wide), learnable=False)
    assert reach(single, share) == pytest.approx(wide * math.sqrt(2 * math.log(1 / share)), abs=1.01)
    encoding = Gaussian(8, (0.7, 0.3), (narrow, wide))
    distance = reach(encoding, share)
    values = kernel_values(encoding, distance) / kernel_values(encoding, 0)
    assert (values[:distance] >= share * 0.9999).all()
    assert values[distance] < share * 1.0001


def test_a_flat_kernel_reaches_to_the_limit() -> None:
    flat = Gaussian(8, (0.5, 0.5), (math.inf, math.inf), learnable=False)
    assert reach(flat, 0.5, furthest=77) == 77
    assert kernel_values(flat, 9) == pytest.approx(np.ones(10))


H, T, D = 3, 9, 8


def test_gates_are_those_that_multiply_a_key():
    where = Positions(torch.arange(T), masked=torch.arange(T) % 3 == 1)
    k = torch.ones(1, H, T, D, dtype=torch.float64)
    for encoding in (KeysOnly(D, alpha=0.4), Quadrature(D, alpha=0.4), LearnedPhase(H, D)):
        _, gated = encoding.transform_qk(k, k, where)
        torch.testing.assert_close(gates_of(encoding, where).expand_as(gated), gated)
    for encoding in (Encoding(), Rotary(D), ALiBi(H)):
        with pytest.raises(BadInput, match=f"^{type(encoding).__name__} has no gates; v7"):
            gates_of(encoding, Positions.arange(T))


def test_phases_are_a_row_for_each_head_or_one_for_all():
    assert phases_of(Quadrature(D)) is None
    assert phases_of(Rotary(D)) is None
    polar, learned = RandomPhase(D), LearnedPhase(H, D)
    torch.nn.init.uniform_(learned.delta)
    assert torch.equal(phases_of(polar), polar.phi[None])
    assert torch.equal(phases_of(learned), learned.delta)


HEADS = [(0, 0), (0, 1), (1, 0), (1, 1)]


def cut_out(model, heads):
    """Return a copy whose `out` matrices ignore these heads: two heads of eight channels each."""
    copied = copy.deepcopy(model)
    for layer, head in heads:
        copied.blocks[layer].attention.out.weight.data[:, 8 * head : 8 * head + 8] = 0
    return copied


@pytest.mark.parametrize("version", ["v3", "v5", "alibi", "v7-pope"])
@pytest.mark.parametrize("heads", [[(0, 1)], [(1, 0)], [(0, 0), (1, 1)], [(0, 0), (0, 1)], []])
def test_a_silenced_head_equals_one_cut_from_the_output(awake, text, version: str, heads: list) -> None:
    model, idx = awake(version), text(2, 9)
    with torch.no_grad():
        whole, expected = model(idx), cut_out(model, heads)(idx)
        with without_heads(model, heads):
            silenced = model(idx)
        after = model(idx)
    assert torch.allclose(silenced, expected, atol=1e-6)
    assert torch.equal(after, whole)
    assert bool(heads) == (not torch.allclose(silenced, whole, atol=1e-3))


def test_each_head_is_silenced_alone(awake, text) -> None:
    model, idx = awake("v4"), text(1, 12)

    def score(ablated) -> float:
        with torch.no_grad():
            return float(ablated(idx).log_softmax(dim=-1)[0, -1, 3])

    expected = np.array([score(cut_out(model, [head])) for head in HEADS]).reshape(2, 2)
    assert ablate_heads(model, score) == pytest.approx(expected, abs=1e-5)
    assert len(set(np.round(expected.ravel(), 4))) == 4


def test_heads_that_do_not_exist_are_refused(awake) -> None:
    for layer, head in ((2, 0), (0, 2), (-1, 0), (0, -1)):
        says = f"head {head} of layer {layer} does not exist.* 2 layers of 2 heads"
        with pytest.raises(ValueError, match=says), without_heads(awake("v4"), [(0, 0), (layer, head)]):
            pass
