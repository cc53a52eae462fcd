"""v2: one learned vector for each position, added to the token's."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from babygpt.encodings.base import Encoding
from babygpt.places import Places


def look_up(table: Tensor, position: Tensor) -> Tensor:
    """Read rows of a position table, and refuse positions it does not have.

    table     (P, C)  one row for each of P positions
    position  (...,)  in tokens
    returns   (..., C)
    Raises ValueError for a position below 0 or at P and beyond.
    """
    low, high = int(position.min()), int(position.max())
    if low < 0 or high >= len(table):
        worst = low if low < 0 else high
        raise ValueError(f"position {worst} is not in the table: it has 0 to {len(table) - 1}")
    return table[position]


class LearnedPositions(Encoding):
    """A table with one trainable row for each position.

    max_positions  rows of the table, in tokens
    n_embd         channels
    Source: note 004 (BabyGPT v2); Radford et al. 2018 (GPT), section 3.1.
    """

    def __init__(self, max_positions: int, n_embd: int) -> None:
        super().__init__()
        self.max_positions = max_positions
        self.table = nn.Parameter(0.02 * torch.randn(max_positions, n_embd))

    def embed(self, x: Tensor, places: Places) -> Tensor:
        return x + look_up(self.table, places.time)
