"""What every version answers: token ids in, logits out."""

from __future__ import annotations

from torch import Tensor, nn

from babygpt.config import ModelConfig
from babygpt.encodings.base import Encoding
from babygpt.errors import BadInput
from babygpt.models.cache import KVCache
from babygpt.positions import Positions


class LanguageModel(nn.Module):
    """The base of v1 to v7.

    config    the shape
    encoding  tells where tokens stand; one that answers "nothing" where the model asks nothing
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

        idx       (B, T)  token ids
        positions where they stand; by default 0, 1, 2, ... after what the cache holds
        cache     keys and values of the tokens before, extended in place; None for a fresh text
        returns   (B, T, vocab_size)
        Raises ValueError if a position is beyond what the encoding knows.
        """
        raise TypeError(f"{type(self).__name__} does not say how it reads tokens")


def require_causal(model: LanguageModel) -> None:
    """Raise a ValueError for a model that looks both ways: asked for the next token, it would just look."""
    if not model.causal:
        raise BadInput(
            "this model sees what comes next, so the next token is no riddle to it: "
            "train it with MaskedDiffusion, write with continue_text"
        )


def locate(idx: Tensor, positions: Positions | None, cache: KVCache | None) -> tuple[Positions, Positions]:
    """Positions of the tokens in idx, and of all tokens they may look at, the cached ones first."""
    if positions is None:
        positions = Positions.arange(idx.shape[1], cache.length if cache else 0, idx.device)
    return positions, (cache.extend(positions) if cache else positions)
