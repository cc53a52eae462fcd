"""ALiBi: no rotation and no table, only a score that falls with distance."""

from __future__ import annotations

import torch
from torch import Tensor

from babygpt.encodings.base import Encoding, require_finite
from babygpt.errors import BadInput
from babygpt.positions import Positions


def slopes(n_head: int) -> Tensor:
    """How steeply each head forgets: 2^(-8/H), 2^(-16/H), ..., 2^(-8).

    n_head    number of heads H
    returns   (H,)  score per token of distance
    Raises ValueError if n_head is below 1.
    Source: Press et al. 2022, arXiv:2108.12409, section 3. The paper interpolates when H is not a
    power of two; the same geometric sequence is used here for every H.
    """
    if n_head < 1:
        raise BadInput(f"n_head ({n_head}) must be at least 1")
    return 2.0 ** (-8.0 * torch.arange(1, n_head + 1) / n_head)


class ALiBi(Encoding):
    """Attention with linear biases: head h adds -steepness * slope_h * |m - n| to every score.

    n_head     number of heads
    steepness  1 as in the paper; larger forgets faster, 0 not at all
    Source: Press et al. 2022, arXiv:2108.12409.
    """

    def __init__(self, n_head: int, steepness: float = 1.0) -> None:
        super().__init__()
        require_finite("steepness", steepness)
        self.steepness = float(steepness)
        self.register_buffer("slopes", slopes(n_head), persistent=False)

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        distance = (queries.time[..., None, :, None] - keys.time[..., None, None, :]).abs()  # (B|, 1, Tq, Tk)
        return -self.steepness * self.get_buffer("slopes")[:, None, None] * distance  # (B|, H, Tq, Tk)
