"""v2: one learned vector for each position, added to the token's."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from babygpt.encodings.base import Encoding
from babygpt.places import Places


def require_known(position: Tensor, rows: int) -> None:
    """Raise a ValueError unless every position lies between 0 and rows - 1: a clamp would hide an error."""
    low, high = int(position.min()), int(position.max())
    if low < 0 or high >= rows:
        raise ValueError(f"position {low if low < 0 else high} is not in the table: it has 0 to {rows - 1}")


def look_up(table: Tensor, position: Tensor) -> Tensor:
    """Read rows of a position table, and refuse positions it does not have.

    table     (P, C)  one row for each of P positions
    position  (...,)  in tokens
    returns   (..., C)
    Raises ValueError for a position below 0 or at P and beyond.
    """
    require_known(position, len(table))
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
