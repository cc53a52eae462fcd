"""The base of all models, which map token ids to logits, and the cache of their keys and values."""

from __future__ import annotations

from torch import Tensor, nn

from babygpt.config import ModelConfig
from babygpt.encodings.base import Encoding
from babygpt.errors import BadInput
from babygpt.positions import Positions


class KVCache:
    """Keys and values of the tokens already read, so that each new token costs one forward step.

    capacity  tokens it can hold in every attention layer; the buffers are made when the first keys arrive
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise BadInput(f"capacity ({capacity}) must be at least 1 token")
        self.capacity = capacity
        self.length = 0
        self.positions: Positions | None = None
        self.buffers: dict[object, tuple[Tensor, Tensor]] = {}

    def extend(self, positions: Positions) -> Positions:
        """Make room for tokens at `positions`; returns the positions of all tokens held, old and new.

        Raises ValueError if they do not fit.
        """
        if self.length + len(positions) > self.capacity:
            raise BadInput(
                f"the cache holds {self.length} of {self.capacity} tokens; {len(positions)} more do not fit"
            )
        self.length += len(positions)
        self.positions = positions if self.positions is None else self.positions.concat(positions)
        return self.positions

    def append(self, layer: object, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store one layer's new keys and values; returns all of them, (B, H, length, ...) each."""
        if layer not in self.buffers:
            B, H = k.shape[:2]
            self.buffers[layer] = (
                k.new_empty(B, H, self.capacity, k.shape[-1]),  # some encodings give k more channels than v
                v.new_empty(B, H, self.capacity, v.shape[-1]),
            )
        start = self.length - k.shape[2]
        keys, values = self.buffers[layer]
        keys[:, :, start : self.length] = k
        values[:, :, start : self.length] = v
        return keys[:, :, : self.length], values[:, :, : self.length]


class LanguageModel(nn.Module):
    """The base of v1 to v7.

    config    the shape
    encoding  tells the model where tokens stand; `Encoding()` tells nothing
    """

    causal = True  # no token sees what comes after it

    def __init__(self, config: ModelConfig, encoding: Encoding) -> None:
        super().__init__()
        self.config = config
        self.encoding = encoding

    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        """Logits of the token after each token.

        idx        (B, T)  token ids
        positions  where they stand; by default 0, 1, 2, ... after what the cache holds
        cache      keys and values of the tokens before, extended in place; None for a fresh text
        returns    (B, T, vocab_size)
        Raises BadInput if positions are not one for each token, or beyond what the encoding knows.
        """
        raise TypeError(f"{type(self).__name__} does not say how it reads tokens")


def require_causal(model: LanguageModel) -> None:
    """Raise a ValueError for a model that looks both ways: asked for the next token, it would just look."""
    if not model.causal:
        raise BadInput(
            "this model sees what comes next, so the next token is no riddle to it: "
            "train it with MaskedDiffusion, write with continue_text"
        )


def resolve_positions(
    idx: Tensor, positions: Positions | None, cache: KVCache | None
) -> tuple[Positions, Positions]:
    """Positions of the tokens in idx, and of all tokens they may look at, the cached ones first.

    Raises BadInput for positions that are not those of (B, T) tokens.
    """
    if positions is None:
        positions = Positions.arange(idx.shape[1], cache.length if cache else 0, idx.device)
    else:
        positions.require_fit(idx.shape)
    return positions, (cache.extend(positions) if cache else positions)
