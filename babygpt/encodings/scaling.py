"""RoPE for texts longer than those it was trained on: its pairs are made to turn more slowly.

Trained on windows of n tokens, a model has seen each pair turn by at most n times its frequency. Read on, and
the slow pairs reach angles that they never had. Three ways of slowing them down by a factor s are here:

- position interpolation: every pair, s times;
- NTK-aware: the quickest pair not at all, the slowest s times, those between them in between;
- YaRN: pairs that turned often in the window not at all, those that never finished a turn s times, and
  attention is made a little sharper.

Nothing is trained here. Interpolation and YaRN were proposed with some fine-tuning at the new length.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor

from babygpt.encodings.base import require_finite
from babygpt.encodings.rotary import Rotary
from babygpt.encodings.sinusoidal import frequencies
from babygpt.errors import BadInput
from babygpt.positions import Positions

MOST_TURNS, FEWEST_TURNS = 32.0, 1.0  # YaRN's, per window; the paper chose them for Llama's windows of 4096
SHARPER = 0.1  # YaRN's: how much larger q and k become for each e-fold of the factor


def require_factor(factor: float) -> None:
    """Raise a ValueError unless positions can be stretched by this factor."""
    require_finite("factor", factor)
    if factor < 1:
        raise BadInput(f"factor ({factor}) must be at least 1: 4 is for texts four times as long")


def ntk_theta(theta: float, head_dim: int, factor: float) -> float:
    """The base at which RoPE's slowest pair is `factor` times slower, and the quickest as quick as it was.

    theta     the base it was trained with
    head_dim  channels of a head, even, at least 4: a single pair is the slowest and the quickest
    factor    at least 1
    Raises ValueError for another head_dim or factor.
    Source: bloc97 2023, as written down in Peng et al. 2023, arXiv:2309.00071, section 3.1.
    """
    require_factor(factor)
    if head_dim < 4:
        raise BadInput(f"head_dim ({head_dim}) must be at least 4: one pair cannot be slowed and left alone")
    return theta * factor ** (head_dim / (head_dim - 2))


def pair_with_turns(turns: float, head_dim: int, window: float, theta: float) -> float:
    """Which pair turns so many times within a window: its number, counted from 0, not a whole one.

    window  in tokens
    """
    return head_dim * math.log(window / (2 * math.pi * turns)) / (2 * math.log(theta))


def yarn_slowed(head_dim: int, window: float, theta: float = 10_000.0) -> Tensor:
    """How much of YaRN's slowing each pair gets: 0 for those that turn often in a window, 1 for slow ones.

    The share grows evenly with the number of the pair, from the one that turns MOST_TURNS times in a window
    (rounded down) to the one that turns FEWEST_TURNS times (rounded up): so does the released code, and the
    models that use it. The paper's formula lets it grow with the number of turns.

    head_dim  channels of a head, even
    window    what the model was trained on, in tokens
    returns   (D / 2,)  float64
    Source: Peng et al. 2023, arXiv:2309.00071, section 3.2, and its code.
    """
    low, high = (pair_with_turns(n, head_dim, window, theta) for n in (MOST_TURNS, FEWEST_TURNS))
    first, last = max(math.floor(low), 0), min(math.ceil(high), head_dim - 1)
    pair = torch.arange(head_dim // 2, dtype=torch.float64)
    return ((pair - first) / max(last - first, 0.001)).clamp(0, 1)


def yarn_temperature(factor: float) -> float:
    """What YaRN multiplies queries and keys by: 1 + 0.1 ln(factor); scores are multiplied by its square.

    Source: Peng et al. 2023, arXiv:2309.00071, eq. 22.
    """
    require_factor(factor)
    return 1 + SHARPER * math.log(factor)


class Interpolated(Rotary):
    """Position interpolation: position m is taken for m / factor, so that none is beyond the window.

    head_dim  channels of a head, even
    factor    how many times longer texts may be than in training, at least 1
    theta     base of the frequencies
    Source: Chen et al. 2023, arXiv:2306.15595.
    """

    minimum: ClassVar = {**Rotary.minimum, "factor": 1.0}

    def __init__(self, head_dim: int, factor: float = 1.0, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, theta)
        require_factor(factor)
        self.factor = float(factor)

    def frequencies(self) -> Tensor:
        return super().frequencies() / self.factor


class NTKAware(Rotary):
    """RoPE with a larger base: quick pairs tell neighbours apart as before, slow ones reach further.

    head_dim  channels of a head, even, at least 4; the other arguments are those of `Interpolated`
    Source: bloc97 2023, as written down in Peng et al. 2023, arXiv:2309.00071, section 3.1.
    """

    minimum: ClassVar = {**Rotary.minimum, "factor": 1.0}

    def __init__(self, head_dim: int, factor: float = 1.0, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, theta)
        ntk_theta(theta, head_dim, factor)  # refuses a wrong factor or head_dim at once
        self.factor = float(factor)

    def frequencies(self) -> Tensor:
        return frequencies(self.head_dim, ntk_theta(self.theta, self.head_dim, self.factor))


class YaRN(Rotary):
    """RoPE slowed pair by pair, by how often each turned in the training window; and sharper attention.

    head_dim    channels of a head, even
    block_size  window of the stretched model, in tokens: `factor` times what it was trained on
    The other arguments are those of `Interpolated`.
    Raises ValueError for a factor below 1, a block_size below 1, or a theta of at most 1, whose pairs all
    turn alike.
    Source: Peng et al. 2023, arXiv:2309.00071.
    """

    minimum: ClassVar = {"theta": 1.001, "factor": 1.0}

    def __init__(self, head_dim: int, block_size: int, factor: float = 1.0, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, theta)
        require_factor(factor)
        if block_size < 1:
            raise BadInput(f"block_size ({block_size}) must be at least 1")
        if theta < self.minimum["theta"]:
            raise BadInput(
                f"theta ({theta}) must be at least {self.minimum['theta']}: slower pairs must be slower"
            )
        self.window, self.factor = block_size / factor, float(factor)

    def frequencies(self) -> Tensor:
        slowed = yarn_slowed(self.head_dim, self.window, self.theta)
        plain = super().frequencies()
        return plain * (1 - slowed) + plain / self.factor * slowed

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        sharper = yarn_temperature(self.factor)
        q, k = super().transform_qk(q, k, positions)
        return q * sharper, k * sharper
