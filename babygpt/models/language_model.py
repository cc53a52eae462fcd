"""The base of all models, which map token ids to logits; the cache of keys and values; and v1 and v2."""

from torch import Tensor, nn

from babygpt.config import ModelConfig
from babygpt.encodings.base import Encoding
from babygpt.encodings.learned import LearnedPositions
from babygpt.errors import BadInput
from babygpt.positions import Positions


class KVCache:
    """Keys and values of the tokens already read, so that each new token costs one forward step.

    capacity  tokens it can hold in every attention layer; the buffers are made when the first keys arrive
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.length = 0
        self.positions: Positions | None = None
        self.buffers: dict[object, tuple[Tensor, Tensor]] = {}

    def extend(self, positions: Positions) -> Positions:
        """Make room for tokens at `positions`. Return the positions of all tokens held, old and new.

        Raises BadInput if they do not fit.
        """
        if self.length + len(positions) > self.capacity:
            raise BadInput(
                f"the cache holds {self.length} of {self.capacity} tokens; {len(positions)} more do not fit"
            )
        self.length += len(positions)
        self.positions = positions if self.positions is None else self.positions.concat(positions)
        return self.positions

    def append(self, layer: object, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store one layer's new keys and values. Return all of that layer, (B, H, length, ...) each."""
        if layer not in self.buffers:
            B, H = k.shape[:2]
            self.buffers[layer] = (
                k.new_empty(B, H, self.capacity, k.shape[-1]),  # some encodings give k more channels than v
                v.new_empty(B, H, self.capacity, v.shape[-1]),
            )
        start = self.length - k.shape[2]  # `extend` has counted the new tokens already
        keys, values = self.buffers[layer]
        keys[:, :, start : self.length] = k
        values[:, :, start : self.length] = v
        return keys[:, :, : self.length], values[:, :, : self.length]


class LanguageModel(nn.Module):
    """The base of v1 to v7.

    config    the shape
    encoding  gives the model the positions of tokens; `Encoding()` gives it none
    """

    causal = True  # no token sees the tokens after it

    def __init__(self, config: ModelConfig, encoding: Encoding) -> None:
        super().__init__()
        self.config = config
        self.encoding = encoding

    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        """Return the logits of the token after each token.

        idx        (B, T)  token ids
        positions  of these tokens; by default 0, 1, 2, ... after those in the cache
        cache      keys and values of the tokens before, extended in place; None for a new text
        returns    (B, T, vocab_size)
        Raises BadInput unless there is a position for each token, and one that the encoding knows.
        """
        raise TypeError(f"{type(self).__name__} does not say how it reads tokens")


def require_causal(model: LanguageModel) -> None:
    """Raise BadInput for a model that looks both ways: it would copy the next token, not predict it."""
    if not model.causal:
        raise BadInput(
            "this model sees what comes next, so the next token is no riddle to it: "
            "train it with MaskedDiffusion, write with continue_text"
        )


def resolve_positions(
    idx: Tensor, positions: Positions | None, cache: KVCache | None
) -> tuple[Positions, Positions]:
    """Return the positions of the tokens in idx, and of all tokens they may look at, the cached ones first.

    Raises BadInput unless there is a position for each token.
    """
    if positions is None:
        positions = Positions.arange(idx.shape[1], cache.length if cache else 0, idx.device)
    else:
        positions.require_fit(idx.shape)
    return positions, (cache.extend(positions) if cache else positions)


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
