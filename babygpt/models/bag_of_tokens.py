"""v1 and v2, without attention: each token predicts the next one alone, in v2 with its position."""

from __future__ import annotations

from torch import Tensor, nn

from babygpt.config import ModelConfig
from babygpt.encodings.base import Encoding
from babygpt.encodings.learned import LearnedPositions
from babygpt.models.base import KVCache, LanguageModel, resolve_positions
from babygpt.positions import Positions


class BagOfTokens(LanguageModel):
    """v1, a bigram model: token embedding and linear head, nothing between them.

    Source: note 004, section 1 (babygpt_v1.py).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, Encoding())
        self.token_embedding = nn.Embedding(config.vocab_size, config.n_embd)
        self.head = nn.Linear(config.n_embd, config.vocab_size)

    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        resolve_positions(idx, positions, cache)  # no position matters, but the cache counts what was read
        x = self.token_embedding(idx)  # (B, T, C)
        return self.head(x)  # (B, T, vocab_size)


class BagWithPositions(LanguageModel):
    """v2: token embedding plus position embedding, and a linear head.

    A text longer than block_size is cut to its last block_size tokens, and so are the logits;
    `objectives.cross_entropy` cuts the targets alike (the note forgets to, and fails there).
    Source: note 004, sections 1 and 4.1 (babygpt_v2_position.py).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, LearnedPositions(config.block_size, config.n_embd))
        self.token_embedding = nn.Embedding(config.vocab_size, config.n_embd)
        self.head = nn.Linear(config.n_embd, config.vocab_size)

    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        if positions is None and cache is None:
            idx = idx[:, -self.config.block_size :]
        positions, _ = resolve_positions(idx, positions, cache)
        x = self.encoding.embed(self.token_embedding(idx), positions)  # (B, T, C)
        return self.head(x)  # (B, T, vocab_size)
