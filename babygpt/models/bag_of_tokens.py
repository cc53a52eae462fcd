"""v1: each token votes for the next one, alone. A bigram model."""

from __future__ import annotations

from torch import Tensor, nn

from babygpt.config import ModelConfig
from babygpt.encodings.base import Encoding
from babygpt.models.base import LanguageModel, locate
from babygpt.models.cache import KVCache
from babygpt.positions import Positions


class BagOfTokens(LanguageModel):
    """Token embedding and linear head, nothing between them.

    Source: note 004, section 1 (babygpt_v1.py).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, Encoding())
        self.token_embedding = nn.Embedding(config.vocab_size, config.n_embd)
        self.head = nn.Linear(config.n_embd, config.vocab_size)

    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        locate(idx, positions, cache)  # nothing to place, but the cache counts what was read
        x = self.token_embedding(idx)  # (B, T, C)
        return self.head(x)  # (B, T, vocab_size)
