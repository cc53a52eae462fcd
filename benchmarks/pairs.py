"""A token embedded together with the one before it: what a first layer would have to find out."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from babygpt.config import ModelConfig
from babygpt.models.transformer import Transformer
from babygpt.models.versions import build


class PairEmbedding(nn.Module):
    """A row for each token, one for each pair of neighbours, and a share of the token before.

    vocab_size  V, number of tokens; the table of pairs has V² rows, which begin at 0
    n_embd      channels
    Source: the tables are modded-nanogpt's idea of bigram embeddings, without hashing: V² rows are few here.
    """

    def __init__(self, vocab_size: int, n_embd: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.token = nn.Embedding(vocab_size, n_embd)
        self.pair = nn.Embedding(vocab_size**2, n_embd)
        self.share = nn.Parameter(torch.zeros(n_embd))
        nn.init.zeros_(self.pair.weight)

    def forward(self, idx: Tensor) -> Tensor:
        """Embed (B, T) tokens as (B, T, n_embd); before the first of a row stands token 0, and nothing."""
        before = nn.functional.pad(idx[:, :-1], (1, 0))  # (B, T)
        x = self.token(idx)
        beside = nn.functional.pad(x[:, :-1], (0, 0, 1, 0))  # (B, T, C), zeros before the first
        return x + self.pair(self.vocab_size * before + idx) + self.share * beside


def build_with_pairs(version: str, config: ModelConfig) -> Transformer:
    """Build a version whose tokens are embedded in pairs."""
    model = build(version, config)
    assert isinstance(model, Transformer)
    model.token_embedding = PairEmbedding(config.vocab_size, config.n_embd)  # type: ignore[assignment]
    return model
