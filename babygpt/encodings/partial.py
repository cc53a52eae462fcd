"""Partial RoPE: only a share of the pairs turns; the others carry what stands there, wherever it stands."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from babygpt.encodings.rotary import Rotary
from babygpt.errors import BadInput


def turning_pairs(head_dim: int, share: float) -> int:
    """How many of a head's pairs turn: their share, a part of a pair left out.

    Raises ValueError for a share outside 0 to 1.
    """
    if not 0 <= share <= 1:
        raise BadInput(f"share ({share}) must lie between 0 and 1")
    return math.floor(share * (head_dim // 2))


class PartialRotary(Rotary):
    """RoPE whose slow pairs do not turn: a score has a part that no distance changes.

    head_dim  channels of a head, even
    share     of the pairs that turn, the quickest ones; 1 is RoPE, 0 is no encoding
    theta     base of the frequencies, which are those of RoPE
    Raises ValueError for a share outside 0 to 1.
    Source: Barbero et al. 2024, arXiv:2410.06205 (p-RoPE); so in the full-attention layers of Gemma 4.
    """

    def __init__(self, head_dim: int, share: float = 0.25, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, theta)
        self.turning = turning_pairs(head_dim, share)

    def frequencies(self) -> Tensor:
        every = super().frequencies()
        return every.where(torch.arange(len(every)) < self.turning, 0.0)
