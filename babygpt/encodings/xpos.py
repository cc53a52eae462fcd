"""xPos: RoPE whose scores fade with distance, the quick pairs' faster than the slow ones'."""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor

from babygpt.encodings.base import require_finite
from babygpt.encodings.rotary import Rotary
from babygpt.encodings.sinusoidal import high_precision
from babygpt.errors import BadInput
from babygpt.positions import Positions

GAMMA = 0.4  # the paper's; the quickest pair keeps GAMMA / (1 + GAMMA) of a score over scale_base tokens
LARGEST_SCALE = 1e30  # of a key far from the start; float32 ends at 3e38, and a score is a sum of such


def fading(head_dim: int) -> Tensor:
    """What is left of each pair's share of a score after `scale_base` tokens: (2i/D + gamma) / (1 + gamma).

    returns  (D / 2,)  from 0.29 for the quickest pair towards 1, float64
    Source: Sun et al. 2022, arXiv:2212.10554, algorithm 1.
    """
    pair = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
    return (pair + GAMMA) / (1 + GAMMA)


class XPos(Rotary):
    """RoPE, and q at m times zeta^(m / scale_base), k at n divided by zeta^(n / scale_base), pair by pair.

    A score is a sum over pairs, and pair i's part fades as zeta_i^((m - n) / scale_base): for models that
    look back only, for ahead it would grow. The factor of a key grows without end, so positions end where it
    reaches 1e30.

    head_dim    channels of a head, even
    scale_base  tokens over which pairs fade to zeta; 512 in the paper, for windows of 1024
    theta       base of the frequencies
    Raises ValueError for a scale_base below 1, and for positions beyond the last.
    Source: Sun et al. 2022, arXiv:2212.10554.
    """

    minimum: ClassVar = {**Rotary.minimum, "scale_base": 1.0}

    def __init__(self, head_dim: int, scale_base: float = 512.0, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, theta)
        require_finite("scale_base", scale_base)
        if scale_base < 1:
            raise BadInput(f"scale_base ({scale_base}) must be at least 1 token")
        self.scale_base = float(scale_base)

    @property
    def max_positions(self) -> int:  # type: ignore[override]
        """How many positions it knows, before a key's factor is too large a number."""
        quickest = GAMMA / (1 + GAMMA)  # what is left of its pair, the first of `fading`
        return 1 + math.floor(self.scale_base * math.log(LARGEST_SCALE) / -math.log(quickest))

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        self.require_reached(positions)
        q, k = super().transform_qk(q, k, positions)
        scale = self.scale(positions.time).to(q.dtype)
        return q * scale, k / scale

    def require_reached(self, positions: Positions) -> None:
        """Raise a ValueError for a position whose factor would be too large a number."""
        if positions.start is not None and 0 <= positions.start <= self.max_positions - len(positions):
            return  # known without reading the tensor, which on a GPU would mean waiting for it
        furthest = float(positions.time.abs().max()) if len(positions) else 0.0
        if furthest >= self.max_positions:
            raise BadInput(
                f"position {furthest:g} is beyond xPos with scale_base {self.scale_base:g}: "
                f"it knows 0 to {self.max_positions - 1}"
            )

    def scale(self, position: Tensor) -> Tensor:
        """zeta^(position / scale_base) for each channel: (T,) or (B, T) -> (T, D) or (B, 1, T, D)."""
        place = high_precision(position)[..., None] / self.scale_base
        scale = fading(self.head_dim).to(place).pow(place).repeat_interleave(2, dim=-1)
        return scale if position.dim() == 1 else scale[:, None]
