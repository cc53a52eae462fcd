"""A bias that depends on queries and keys: the same formula at once, under a cache, and both ways."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babygpt.config import ModelConfig
from babygpt.encodings import Encoding, PerLayer, Rotary
from babygpt.metrics.inspection import attention_weights, weights_of
from babygpt.models.cache import KVCache
from babygpt.models.transformer import Context, Transformer
from babygpt.positions import Positions

T = 12
CONFIG = ModelConfig(vocab_size=11, block_size=T, n_layer=2, n_head=2, n_embd=16)


class ForgottenKeys(Rotary):
    """A gate on each key: a score loses the logarithms of the gates after its key."""

    def __init__(self) -> None:
        super().__init__(8)
        self.gate = nn.Parameter(torch.randn(2, 8))

    def content_bias(self, q: Tensor, k: Tensor, queries: Positions, keys: Positions) -> Tensor:
        return -F.logsigmoid((k * self.gate[:, None]).sum(-1)).cumsum(-1)[..., None, :]  # (B, H, 1, Tk)


class EveryPair(Encoding):
    """A number for each pair of a query and a key."""

    def content_bias(self, q: Tensor, k: Tensor, queries: Positions, keys: Positions) -> Tensor:
        distance = queries.time[..., :, None] - keys.time[..., None, :]
        return (q @ k.mT).sin() * distance.to(q.dtype)


def model_of(encoding: Encoding, causal: bool = True) -> Transformer:
    model = Transformer(CONFIG, encoding, causal).double()
    for p in model.parameters():
        nn.init.normal_(p, std=0.3)
    return model


KINDS = [ForgottenKeys, EveryPair, lambda: PerLayer([ForgottenKeys(), EveryPair()])]


@pytest.mark.parametrize("pieces", [[1] * T, [3, 1, 5, 3]], ids=["token by token", "pieces"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cache_changes_nothing(kind, pieces: list[int]) -> None:
    model, idx, cache = model_of(kind()), torch.randint(11, (2, T)), KVCache(T)
    logits = torch.cat([model(piece, None, cache) for piece in idx.split(pieces, dim=1)], dim=1)
    torch.testing.assert_close(logits, model(idx), rtol=0, atol=1e-12)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("kind", [ForgottenKeys, EveryPair])
def test_attention_adds_it_to_the_scores(kind, causal: bool) -> None:
    """Compare with weights by the plain formula: a term of the keys takes the fused operator another way."""
    model, x, here = model_of(kind(), causal), torch.randn(2, T, 16, dtype=torch.float64), Positions.arange(T)
    layer, context = model.blocks[0].attention, Context(model.encoding, here, here, None, causal, None)
    weights, v = weights_of(layer, x, context)
    expected = layer.out((weights @ v).transpose(1, 2).flatten(2))
    torch.testing.assert_close(layer(x, context), expected, rtol=0, atol=1e-12)
    without = weights_of(layer, x, Context(Rotary(8), here, here, None, causal, None))[0]
    assert (weights - without).abs().max() > 0.01
    assert not causal or torch.equal(weights.triu(1), torch.zeros_like(weights))


def test_weights_of_all_layers_count_it() -> None:
    model, idx = model_of(EveryPair()), torch.randint(11, (T,))
    weights = attention_weights(model, idx)
    model.encoding.content_bias = Encoding().content_bias
    assert abs(weights - attention_weights(model, idx)).max() > 0.01


def test_it_is_added_to_the_mask_of_branches() -> None:
    model, steps = model_of(EveryPair()), torch.arange(T)
    branches, x = Positions(steps // 3, steps % 3), torch.randn(2, T, 16, dtype=torch.float64)
    layer, mask = model.blocks[0].attention, model.attn_masks(branches, branches)[0]
    context = Context(model.encoding, branches, branches, mask, True, None)
    weights, v = weights_of(layer, x, context)
    expected = layer.out((weights @ v).transpose(1, 2).flatten(2))
    torch.testing.assert_close(layer(x, context), expected, rtol=0, atol=1e-12)
