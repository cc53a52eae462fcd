"""v3: a fixed table of sines and cosines, added to the token embeddings."""

from typing import ClassVar

import torch
from torch import Tensor

from babygpt.encodings.base import THETA, Encoding, high_precision
from babygpt.encodings.base import frequencies as frequencies
from babygpt.positions import Positions


def sinusoid(position: Tensor, width: int, theta: float = 10_000.0) -> Tensor:
    """Return sines in the even channels and cosines in the odd ones, each pair at its own frequency.

    position  (...,)  in tokens
    width     channels, even
    returns   (..., width)  float32; the angles are computed in float64
    Raises BadInput if width is odd.
    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.5.
    """
    angle = high_precision(position)[..., None] * frequencies(width, theta).to(high_precision(position))
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2).float()


class Sinusoidal(Encoding):
    """The fixed table; nothing in it is trained, and it has a row for any position.

    n_embd  channels, even
    theta   base of the frequencies
    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.5.
    """

    numbers: ClassVar = {"theta": THETA}

    def __init__(self, n_embd: int, theta: float = 10_000.0) -> None:
        super().__init__()
        frequencies(n_embd, theta)  # refuses an odd width at once
        self.n_embd, self.theta = n_embd, float(theta)

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        return x + sinusoid(positions.time, self.n_embd, self.theta).to(x.dtype)
