"""v3: a fixed table of sines and cosines, added to the token embeddings."""

from typing import ClassVar

import torch
from torch import Tensor

from babygpt.encodings.base import Encoding, Number
from babygpt.errors import BadInput
from babygpt.positions import Positions

THETA = Number(above=0)


def frequencies(width: int, theta: float = 10_000.0) -> Tensor:
    """Return the angular frequency of each pair of channels, theta^(-2i/width).

    width     channels, even
    theta     base; the slowest pair is about theta times slower than the fastest
    returns   (width / 2,)  radians per token, from 1 downwards
    Raises BadInput if width is odd or below 2, or theta is not above 0.
    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.5.
    """
    if width < 2 or width % 2:
        raise BadInput(f"width ({width}) must be even: sines and cosines, and rotations, come in pairs")
    THETA.checked("theta", theta)
    return theta ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)


def high_precision(position: Tensor) -> Tensor:
    """Return positions in float64, so that an angle is still exact at the millionth token.

    float32 holds 24 bits. An angle of 10^6 radians uses 20 of them before the binary point, so its cosine
    would be wrong by up to 0.03. MPS has no float64: there that error remains.
    """
    return position.float() if position.device.type == "mps" else position.double()


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
