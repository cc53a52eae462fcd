"""v2: one learned vector for each position, added to the token's embedding."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from babygpt.encodings.base import Encoding, Number
from babygpt.errors import BadInput
from babygpt.positions import Positions


def require_known(position: Tensor, rows: int, stride: int = 1) -> None:
    """Raise BadInput unless a table of `rows` rows has one for each position * stride.

    Clamping would hide the error, and a negative index would silently read from the end of the table.
    A model that torch.compile has traced raises RuntimeError, which does not name the position.
    """
    if not position.numel():
        return
    if torch.compiler.is_compiling():  # A number that is read from a tensor would break the graph.
        is_row = (position >= 0) & (position <= (rows - 1) // stride)
        torch._assert_async(is_row.all(), f"a position is not in the table: it has 0 to {rows - 1}")
        return
    low, high = (int(end) * stride for end in (position.min(), position.max()))  # Python ints never overflow
    if low < 0 or high >= rows:
        wrong = low if low < 0 else high
        where = "" if stride == 1 else f" (branch {wrong // stride} at stride {stride})"
        raise BadInput(f"position {wrong} is not in the table: it has 0 to {rows - 1}{where}")


def look_up(table: Tensor, position: Tensor) -> Tensor:
    """Return rows of a position table.

    table     (P, C)  one row for each of P positions
    position  (...,)  in tokens
    returns   (..., C)
    Raises BadInput for a position below 0, at P or beyond.
    """
    require_known(position, len(table))
    return table[position]


class LearnedPositions(Encoding):
    """A table with one trainable row for each position.

    max_positions  rows of the table, in tokens
    n_embd         channels
    Source: note 004 (BabyGPT v2); Radford et al. 2018 (GPT), section 3.1.
    """

    numbers: ClassVar = {"table": Number()}

    def __init__(self, max_positions: int, n_embd: int) -> None:
        super().__init__()
        self.max_positions = max_positions
        self.table = nn.Parameter(0.02 * torch.randn(max_positions, n_embd))  # 0.02 as in GPT-2

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        return x + look_up(self.table, positions.time)
