"""v1 and v2, and the base of all models, which map token ids to logits."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from babygpt.config import ModelConfig
from babygpt.encodings.base import Encoding
from babygpt.encodings.learned import LearnedPositions
from babygpt.errors import BadInput
from babygpt.models.cache import KVCache
from babygpt.models.inputs import ID_TYPES, require_ids, require_model
from babygpt.positions import Positions


class LanguageModel(nn.Module, ABC):
    """The base of v1 to v7.

    config    the shape
    encoding  gives the model the positions of tokens; `Encoding()` gives it none
    version   what `build` was asked for, such as "v4", with its options; None for a model made by hand. It is
              the class where the encoding comes from outside
    """

    token_embedding: nn.Embedding  # each model makes its own
    causal = True  # no token sees the tokens after it
    version: str | type[Encoding] | None = None
    options: Mapping[str, Any] = {}

    def __init__(self, config: ModelConfig, encoding: Encoding) -> None:
        super().__init__()
        self.config = config
        self.encoding = encoding

    def embed_tokens(self, idx: Tensor) -> Tensor:
        """Return the embeddings of token ids: (B, T) -> (B, T, C). Raise BadInput for an unknown token."""
        try:
            embeddings: Tensor = self.token_embedding(idx)
        except IndexError:  # costs nothing where all are known; on a GPU the process ends instead
            require_ids(idx, vocab_size=self.config.vocab_size)
            raise
        return embeddings

    def embed(self, idx: Tensor, positions: Positions, readable: Positions, cache: KVCache | None) -> Tensor:
        """Return the embeddings of the tokens that are read now, with what the encoding adds: (B, T, C).

        idx        (B, T)  their ids
        positions  of these tokens
        readable   of all tokens, those of the cache first
        """
        x = self.embed_tokens(idx)
        if cache is None or not self.encoding.sees_earlier:
            return self.encoding.embed(x, positions)
        return self.encoding.embed(cache.append(self.encoding, x), readable)[:, -x.shape[1] :]

    @abstractmethod
    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        """Return the logits of the token after each token.

        idx        (B, T)  token ids
        positions  of these tokens; by default 0, 1, 2, ... or, with a cache, those after its last time
        cache      keys and values of the tokens before, extended in place; None for a new text
        returns    (B, T, vocab_size)
        Raises BadInput unless idx has this shape, its tokens are known, and there is a position for each that
        the encoding knows. Then the cache stays as it was.
        """


def resolve_positions(
    idx: Tensor, positions: Positions | None, cache: KVCache | None
) -> tuple[Positions, Positions]:
    """Return the positions of the tokens in idx, and of all tokens they may look at, the cached ones first.

    Changes nothing. Raises BadInput unless these are token ids (B, T), each with a position, and the cache
    has room for them.
    """
    if not (isinstance(idx, Tensor) and idx.dim() == 2 and idx.dtype in ID_TYPES):
        require_ids(idx)  # says what is wrong, and is not called where nothing is
    B, T = idx.shape
    if positions is not None:
        positions.require_fit(idx.shape)
    if cache is None:
        positions = Positions.arange(T, device=idx.device) if positions is None else positions
        return positions, positions
    cache.require_room(B, T)
    positions = cache.next_positions(T, idx.device) if positions is None else positions
    return positions, cache.after(positions)


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
        _, readable = resolve_positions(idx, positions, cache)
        x = self.embed_tokens(idx)  # (B, T, C)
        logits = self.head(x)  # (B, T, vocab_size)
        if cache is not None:
            cache.hold(readable, len(idx))  # no position matters, but the cache counts what was read
        return logits


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
        require_ids(idx)
        if positions is None and cache is None:
            idx = idx[:, -self.config.block_size :]
        positions, readable = resolve_positions(idx, positions, cache)
        x = self.embed(idx, positions, readable, cache)  # (B, T, C)
        logits = self.head(x)  # (B, T, vocab_size)
        if cache is not None:
            cache.hold(readable, len(idx))
        return logits


def require_causal(model: LanguageModel) -> None:
    """Raise BadInput for what is no model, and for one that looks both ways: it would copy the next token."""
    require_model(model)
    if not model.causal:
        raise BadInput(
            "this model sees what comes next, so the next token is no riddle to it: "
            "train it with MaskedDiffusion, write with continue_text"
        )
