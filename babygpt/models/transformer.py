"""The body of v3 to v7: a small pre-norm Transformer that never asks which encoding it has."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babygpt.config import ModelConfig
from babygpt.encodings.base import Encoding
from babygpt.encodings.base import norm as norm
from babygpt.errors import BadInput
from babygpt.models.base import KVCache, LanguageModel, resolve_positions
from babygpt.positions import Positions, causal_mask


@dataclass(frozen=True)
class Context:
    """What a block is given besides its input.

    encoding   the layer's: transforms q and k
    positions  where the tokens stand
    attn_mask  None, or what to add to the scores, (B or 1, H or 1, Tq, Tk), -inf where a token may not look
    causal     without a mask, whether a token sees only itself and what comes before it in the row
    cache      keys and values of earlier tokens, or None
    """

    encoding: Encoding
    positions: Positions
    attn_mask: Tensor | None
    causal: bool
    cache: KVCache | None


SHARPNESS = 2.0  # scores of normalised q and k lie between -2 sqrt(D) and 2 sqrt(D)


def score_scale(v: Tensor) -> float:
    """What q k^T is multiplied by: plain attention's 1/sqrt(D), and the sharpness that norms take away.

    v  (..., D)  values, whose width no encoding changes; some give q and k more channels than D
    """
    return SHARPNESS / v.shape[-1] ** 0.5


class Attention(nn.Module):
    """Multi-head attention; the encoding may transform q and k, the mask may change the scores."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        C = config.n_embd
        self.n_head = config.n_head
        self.to_q, self.to_k, self.to_v, self.out = (nn.Linear(C, C, bias=False) for _ in range(4))

    def qkv(self, x: Tensor, context: Context) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values as they meet: (B, T, C) -> 3 x (B, H, T, D)."""
        q, k, v = (
            project(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2)  # (B, H, T, D)
            for project in (self.to_q, self.to_k, self.to_v)
        )
        q, k = context.encoding.transform_qk(norm(q), norm(k), context.positions)
        return q, k, v

    def forward(self, x: Tensor, context: Context) -> Tensor:
        q, k, v = self.qkv(x, context)
        if context.cache is not None:
            k, v = context.cache.append(self, k, v)
        causal = context.causal and context.attn_mask is None and q.shape[2] == k.shape[2]
        y = F.scaled_dot_product_attention(
            q, k, v, attn_mask=context.attn_mask, is_causal=causal, scale=score_scale(v)
        )
        return self.out(y.transpose(1, 2).flatten(2))  # (B, T, C)


class MLP(nn.Module):
    """Two matrices with ReLU squared between them (So et al. 2021, arXiv:2109.08668)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.n_embd, 4 * config.n_embd, bias=False)
        self.out = nn.Linear(4 * config.n_embd, config.n_embd, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = F.relu(self.up(x))
        return self.out(h * h)


class Block(nn.Module):
    """Attention, then MLP: each reads a normalised copy of the stream and adds to the stream."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.mlp = MLP(config)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        x = x + self.attention(norm(x), context)
        return x + self.mlp(norm(x))


class Transformer(LanguageModel):
    """Token embedding, encoding, blocks, head.

    config    the shape
    encoding  tells where tokens stand; one for all blocks, or a `PerLayer` with one for each
    causal    whether a token sees only itself and what stands at earlier times
    isolated  whether it sees nothing of other branches
    Raises ValueError for isolated branches without causality, which nothing here needs, and for a `PerLayer`
    of another number of layers.
    """

    def __init__(
        self, config: ModelConfig, encoding: Encoding, causal: bool = True, isolated: bool = False
    ) -> None:
        super().__init__(config, encoding)
        if isolated and not causal:
            raise BadInput("isolated branches are for causal models: causal is False")
        encoding.require_layers(config.n_layer)
        self.causal, self.isolated = causal, isolated
        self.token_embedding = nn.Embedding(config.vocab_size, config.n_embd)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.zero_outputs()

    def zero_outputs(self) -> None:
        """Zero the matrices that write to the stream and the logits: every block starts as identity."""
        for name, p in self.named_parameters():
            if name.endswith(("out.weight", "head.weight")):
                nn.init.zeros_(p)

    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        positions, seen = resolve_positions(idx, positions, cache)
        x = norm(self.encoding.embed(self.token_embedding(idx), positions))  # (B, T, C)
        for i, (block, mask) in enumerate(zip(self.blocks, self.attn_masks(positions, seen), strict=True)):
            x = block(x, Context(self.encoding.of_layer(i), positions, mask, self.causal, cache))
        return self.head(norm(x))  # (B, T, vocab_size)

    def attn_masks(self, queries: Positions, keys: Positions) -> list[Tensor | None]:
        """What each block adds to its scores; blocks that share an encoding share it.

        queries   positions of Tq tokens
        keys      positions of the Tk tokens they may look at
        returns   for each block None, where attention's own causal mask says it all, or
                  (B or 1, H or 1, Tq, Tk), -inf where a token may not look
        """
        layers = [self.encoding.of_layer(i) for i in range(len(self.blocks))]
        biases = {layer: layer.score_bias(queries, keys) for layer in dict.fromkeys(layers)}
        hidden = self.hidden(queries, keys, unbiased=all(bias is None for bias in biases.values()))
        masks = {layer: add_masks(bias, hidden) for layer, bias in biases.items()}
        return [masks[layer] for layer in layers]

    def hidden(self, queries: Positions, keys: Positions, unbiased: bool) -> Tensor | None:
        """-inf where a token may not look, 0 elsewhere: (B or 1, 1, Tq, Tk).

        unbiased  whether no encoding adds to scores, so that attention's own causal mask may do
        returns   None where a token may look at all there is, or where attention's own mask says it all
        """
        if not self.causal or (not self.isolated and queries.is_last_of(keys)):
            return None
        if unbiased and queries is keys and not self.isolated and keys.is_increasing:
            return None
        visible = causal_mask(queries, keys, self.isolated)  # (B|, 1, Tq, Tk)
        hidden = torch.zeros(visible.shape, device=visible.device).masked_fill(~visible, -torch.inf)
        return four_dimensional(hidden)


def four_dimensional(mask: Tensor) -> Tensor:
    """A mask, (H|1, Tq, Tk), with the batch's dimension before it: attention goes a slower way without."""
    return mask if mask.dim() == 4 else mask[None]


def add_masks(bias: Tensor | None, hidden: Tensor | None) -> Tensor | None:
    """Their sum, where None adds nothing."""
    if bias is None:
        return hidden
    bias = four_dimensional(bias)
    return bias if hidden is None else bias + hidden
