"""Distance at which a trained model still uses its text, measured by hiding everything further back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from babygpt.encodings.base import Encoding
from babygpt.errors import BadInput
from babygpt.metrics.inspection import attention_weights
from babygpt.metrics.losses import loss_by_position
from babygpt.models.stretching import with_encoding
from babygpt.models.transformer import Transformer
from babygpt.positions import Positions


class Horizon(Encoding):
    """Another encoding, with -inf added to every score of a key more than `distance` tokens away.

    encoding  does all the rest
    distance  the furthest that may be seen, in tokens; at 0 a token sees only itself
    dtype     of the model's queries
    Raises ValueError for a distance below 0.
    """

    def __init__(self, encoding: Encoding, distance: int, dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        if distance < 0:
            raise BadInput(f"distance ({distance}) must be at least 0 tokens")
        self.encoding, self.distance, self.dtype = encoding, distance, dtype
        self.max_positions = encoding.max_positions

    def of_layer(self, layer: int) -> Encoding:
        own = self.encoding.of_layer(layer)
        return self if own is self.encoding else Horizon(own, self.distance, self.dtype)

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        return self.encoding.embed(x, positions)

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        return self.encoding.transform_qk(q, k, positions)

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        away = (queries.time[..., None, :, None] - keys.time[..., None, None, :]).abs()  # (B|, 1, Tq, Tk)
        # PyTorch's attention misreads a float32 mask beside float64 queries, and raises no error.
        zeros = torch.zeros(away.shape, dtype=self.dtype, device=away.device)
        hidden = zeros.masked_fill(away > self.distance, -torch.inf)
        bias = self.encoding.score_bias(queries, keys)
        return hidden if bias is None else bias + hidden


def short_sighted(model: Transformer, distance: int) -> Transformer:
    """Return the model with attention limited: no head sees further back than `distance` tokens.

    returns  a model that shares all weights with the first, which is left as it is. Through L layers a
             token may still hear of what stands L times as far, if a token between passes it on.
    Raises ValueError for a distance below 0.
    """
    dtype = next(model.parameters()).dtype
    return with_encoding(model, Horizon(model.encoding, distance, dtype))


def cost_of_hiding(
    model: Transformer, ids: Tensor, distances: Sequence[int], length: int, n_windows: int = 64
) -> np.ndarray:
    """Measure how much the loss rises when tokens further back than a distance are hidden.

    ids        (N,)  text
    distances  each in tokens; one of length - 1 hides nothing
    length     tokens in a window; the loss is the mean over its second half
    n_windows  windows, evenly over the text, the same for every distance
    returns    (len(distances),)  nats per token; 0 where what is hidden was of no use to the model
    Raises ValueError for a distance below 0, and as `loss_by_position` does.
    """

    def second_half(seen: Transformer) -> float:
        return float(loss_by_position(seen, ids, length, n_windows)[length // 2 :].mean())

    whole = second_half(model)
    return np.array([second_half(short_sighted(model, distance)) - whole for distance in distances])


def far_attention(
    model: Transformer, ids: Tensor, beyond: int, length: int, n_windows: int = 16
) -> tuple[np.ndarray, float]:
    """Measure the share of attention that falls on tokens more than a distance back, head by head.

    ids        (N,)  text
    beyond     the distance, in tokens
    length     tokens in a window; asked are the queries of its second half
    returns    (n_layer, n_head) shares, 0 to 1; and the share that even attention would give
    """
    starts = torch.linspace(0, len(ids) - length, n_windows).long()
    far = np.tri(length, length, -beyond - 1, dtype=bool)  # query m, key n: n < m - beyond
    asked = slice(length // 2, None)

    def beyond_it(at: Tensor) -> np.ndarray:  # (L, H, T), of one window: all weights may not fit
        return np.where(far, attention_weights(model, ids[at : at + length]), 0.0).sum(axis=-1)[..., asked]

    shares = np.stack([beyond_it(at) for at in starts]).mean(axis=(0, -1))
    return shares, float((far.sum(axis=-1) / np.arange(1, length + 1))[asked].mean())
