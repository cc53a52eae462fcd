"""The body of v3 to v7: a small pre-norm Transformer that never asks which encoding it has."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babygpt.config import ModelConfig
from babygpt.encodings.base import Encoding
from babygpt.encodings.base import norm as norm
from babygpt.errors import BadInput
from babygpt.models.cache import KVCache
from babygpt.models.language_model import LanguageModel, resolve_positions
from babygpt.positions import Positions, causal_mask


@dataclass(frozen=True)
class Context:
    """The inputs of a block besides the stream.

    encoding   the layer's: transforms q and k
    positions  of the tokens
    readable   positions of all tokens that they may look at: those of the cache, then their own
    attn_mask  None, or a term to add to the scores, (B or 1, H or 1, Tq, Tk), -inf where a token may not
               look; or (B or 1, H or 1, 1, Tk), a term of each key that is added for every query
    causal     where the mask does not say it, whether a token sees only itself and those before it in the row
    cache      keys and values of earlier tokens, or None
    """

    encoding: Encoding
    positions: Positions
    readable: Positions
    attn_mask: Tensor | None
    causal: bool
    cache: KVCache | None

    @property
    def hides_later(self) -> bool:
        """Whether attention itself has to hide the tokens after each query, if it reads a whole text."""
        return self.causal and (self.attn_mask is None or self.attn_mask.shape[-2] == 1)


# q and k are normalised, so scores cannot grow with their length, and attention cannot become sharp. A factor
# of 2 makes up for it: scores lie between -2 sqrt(D) and 2 sqrt(D).
SHARPNESS = 2.0


def score_scale(v: Tensor, sharpness: float = SHARPNESS) -> float:
    """Return the factor of q k^T: plain attention's 1/sqrt(D), times the sharpness.

    v  (..., D)  values, whose width no encoding changes; some encodings give q and k more than D channels
    """
    return sharpness / v.shape[-1] ** 0.5


# The fused operators give no gradient of a mask, so a trained mask is added in blocks of this many queries.
# The keys after a block are skipped. More, smaller blocks would save little.
ROWS = 128


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    causal: bool,
    scale: float,
    bias: Tensor | None = None,
) -> Tensor:
    """Return the mean of the values, weighted by the softmax of the scores.

    q, k, v  (B, H, Tq, E), (B, H, Tk, E), (B, H, Tk, D)  E at least D
    mask     None, or a term to add to the scores, (B or 1, H or 1, Tq or 1, Tk), -inf where nothing may look
    causal   whether query i sees the keys 0 to i only, besides what the mask hides; then Tq is Tk
    scale    factor of q k^T
    bias     None, or one more term, (B or 1, H or 1, Tq or 1, Tk), that hides nothing
    returns  (B, H, Tq, D)
    """
    D = v.shape[-1]
    if bias is not None:
        mask = bias if mask is None else mask + bias
    if mask is not None and causal and mask.shape[-2] > 1:
        later = torch.ones(mask.shape[-2:], dtype=torch.bool, device=mask.device).triu(1)
        mask, causal = mask.masked_fill(later, -torch.inf), False
    if mask is not None and causal:
        q, k, mask = *with_terms_of_keys(q, k, mask / scale), None
    elif mask is not None and mask.requires_grad:
        return attend_in_blocks(q, k, v, mask, scale)
    # The fused operator wants values as wide as queries. Without it, all scores would be kept in memory.
    if v.shape[-1] < q.shape[-1]:
        v = F.pad(v, (0, q.shape[-1] - D))
    y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale)
    return y if y.shape[-1] == D else y[..., :D]


def with_terms_of_keys(q: Tensor, k: Tensor, terms: Tensor) -> tuple[Tensor, Tensor]:
    """Widen queries and keys, so that each score q k^T grows by its key's term: (B, H, T, E + 3) each.

    terms  (B or 1, H or 1, 1, Tk)
    """
    # Three channels hold 8 bits of a term each. So it survives bfloat16, in which 1,000 and 1,001 are one.
    parts: list[Tensor] = []
    rest = terms
    for _ in range(2):
        parts.append(rest.bfloat16().to(terms.dtype))
        rest = rest - parts[-1]
    columns = torch.cat([*parts, rest], dim=-2).mT.to(k.dtype)  # (B|1, H|1, Tk, 3)
    return F.pad(q, (0, 3), value=1.0), torch.cat([k, columns.expand(*k.shape[:3], 3)], dim=-1)


def attend_in_blocks(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> Tensor:
    """Return what `attend` does, block of queries by block, for a mask that is trained.

    The fused operators give no gradient of a mask. Of a causal one, blocks skip what is hidden: almost half.
    """
    whole = mask.expand(*mask.shape[:-2], q.shape[2], k.shape[2])
    outputs, last = [], 0
    for queries, terms in zip((q * scale).split(ROWS, dim=2), whole.split(ROWS, dim=2), strict=True):
        last += queries.shape[2]
        later = terms[..., last:]
        n = k.shape[2] if later.numel() and bool((later > -torch.inf).any()) else min(last, k.shape[2])
        scores = queries @ k[:, :, :n].mT + terms[..., :n]
        outputs.append(scores.softmax(dim=-1) @ v[:, :, :n])
    return torch.cat(outputs, dim=2)


class Attention(nn.Module):
    """Multi-head attention; the encoding may transform q and k, the mask may change the scores."""

    sharpness = SHARPNESS  # 1 in a model that leaves q and k as long as they are

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        C = config.n_embd
        self.n_head = config.n_head
        self.to_q, self.to_k, self.to_v, self.out = (nn.Linear(C, C, bias=False) for _ in range(4))

    def matrix(self) -> Tensor:
        """Return the matrices of queries, keys and values below each other, for one product: (3 C, C)."""
        for layer in (self.to_q, self.to_k, self.to_v):
            if type(layer).forward is not nn.Linear.forward:
                raise BadInput(f"attention multiplies by matrices alone, and one is a {type(layer).__name__}")
            if layer._forward_hooks or layer._forward_pre_hooks:  # PyTorch has no public name for them
                raise BadInput("attention never calls to_q, to_k and to_v: give the hook to the Attention")
        return torch.cat([self.to_q.weight, self.to_k.weight, self.to_v.weight])

    def qkv(self, x: Tensor, context: Context) -> tuple[Tensor, Tensor, Tensor]:
        """Compute queries, keys and values as they meet: (B, T, C) -> 3 x (B, H, T, D)."""
        B, T, C = x.shape
        matrix = context.cache.once(self, self.matrix) if context.cache else self.matrix()  # (3 C, C)
        qkv = F.linear(x, matrix).view(B, T, 3 * self.n_head, C // self.n_head).transpose(1, 2)
        qk, v = qkv.split_with_sizes((2 * self.n_head, self.n_head), dim=1)
        q, k = norm(qk).chunk(2, dim=1)  # (B, H, T, D)
        q, k = context.encoding.transform_qk(q, k, context.positions)
        return q, k, v

    def forward(self, x: Tensor, context: Context) -> Tensor:
        q, k, v = self.qkv(x, context)
        if context.cache is not None:
            k, v = context.cache.append((self, "keys"), k), context.cache.append((self, "values"), v)
        bias = context.encoding.content_bias(q, k, context.positions, context.readable)
        causal = context.hides_later and q.shape[2] == k.shape[2]
        y = attend(q, k, v, context.attn_mask, causal, score_scale(v, self.sharpness), bias)
        return self.out(y.transpose(1, 2).flatten(2))  # (B, T, C)


class MLP(nn.Module):
    """Two matrices with ReLU squared between them (So et al. 2021, arXiv:2109.08668)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.n_embd, 4 * config.n_embd, bias=False)
        self.out = nn.Linear(4 * config.n_embd, config.n_embd, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = self.up(x).relu()
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
    encoding  one for all blocks, or a `PerLayer` with one for each
    causal    whether a token sees only itself and tokens at earlier times
    isolated  whether it sees nothing of other branches
    Raises BadInput for isolated branches without causality, which nothing here needs.
    """

    def __init__(
        self, config: ModelConfig, encoding: Encoding, causal: bool = True, isolated: bool = False
    ) -> None:
        super().__init__(config, encoding)
        if isolated and not causal:
            raise BadInput("isolated branches are for causal models: causal is False")
        self.causal, self.isolated = causal, isolated
        self.token_embedding = nn.Embedding(config.vocab_size, config.n_embd)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        for name, p in self.named_parameters():
            if name.endswith(("out.weight", "head.weight")):  # they write to the stream and the logits
                nn.init.zeros_(p)  # so that every block starts as identity

    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        positions, readable = resolve_positions(idx, positions, cache)
        x = norm(self.embed(idx, positions, readable, cache))  # (B, T, C)
        masks = self.attn_masks(positions, readable)
        for i, (block, mask) in enumerate(zip(self.blocks, masks, strict=True)):
            x = block(x, Context(self.encoding.of_layer(i), positions, readable, mask, self.causal, cache))
        logits = self.head(norm(x))  # (B, T, vocab_size)
        if cache is not None:
            cache.hold(readable, len(idx))  # the last step, because a layer may refuse a position
        return logits

    def attn_masks(self, queries: Positions, keys: Positions) -> list[Tensor | None]:
        """Return what each block adds to its scores. Blocks that share an encoding share it.

        queries   positions of Tq tokens
        keys      positions of the Tk tokens they may look at
        returns   for each block None, if attention's own causal mask is enough;
                  (1, H or 1, 1, Tk) numbers of the keys, if it is enough beside these; or
                  (B or 1, H or 1, Tq, Tk), -inf where a token may not look
        """
        layers = [self.encoding.of_layer(i) for i in range(len(self.blocks))]
        sees_all = not self.causal or (not self.isolated and queries.is_last_of(keys))
        in_order = queries is keys and not self.isolated  # attention's own mask goes by the order of the row
        by_key = self.causal and in_order and keys.in_a_row and len(keys) > 1
        biases: dict[Encoding, Tensor | None] = {}
        short = True  # whether no bias is more than a number of each key
        for layer in dict.fromkeys(layers):
            readers = keys.last if by_key and layer.separable else queries
            bias = biases[layer] = layer.score_bias(readers, keys)
            short = short and (bias is None or (by_key and bias.shape[-2] == 1))
        if short and (sees_all or (in_order and keys.is_increasing)):
            return [None if (bias := biases[layer]) is None else bias[None] for layer in layers]
        hidden = torch.zeros(1, len(queries), len(keys), device=queries.device)
        if not sees_all:
            visible = causal_mask(queries, keys, self.isolated)  # (B|, 1, Tq, Tk)
            hidden = torch.zeros_like(visible, dtype=hidden.dtype).masked_fill(~visible, -torch.inf)
        masks = {layer: hidden if bias is None else bias + hidden for layer, bias in biases.items()}
        return [self.as_attention_wants(masks[layer]) for layer in layers]

    def as_attention_wants(self, mask: Tensor) -> Tensor:
        """Return a mask in four dimensions, without which attention is slow, and in the model's precision."""
        four = mask if mask.dim() == 4 else mask[None]
        return four.to(self.token_embedding.weight.dtype)  # attention misreads a mask of another precision
