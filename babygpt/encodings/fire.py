"""FIRE: a small network reads how far a key lies behind, as a share of how far the query could look."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from babygpt.encodings.base import SMALLEST, Encoding, require_finite
from babygpt.encodings.sinusoidal import high_precision
from babygpt.errors import BadInput
from babygpt.positions import Positions

C = 0.1  # at first, as in public code


def psi(x: Tensor, c: Tensor) -> Tensor:
    """log(c x + 1), which spreads out small x: (...,) -> (...,), for x and c that are not negative."""
    return torch.log1p(c * x)


def share(query: Tensor, key: Tensor, c: Tensor, threshold: Tensor) -> Tensor:
    """How far a key at n lies behind a query at m: psi(|m - n|) / psi(max(m, threshold)).

    Of a text of any length it says the same: 0 is the query itself, and from `threshold` on 1 is the first
    token. A key ahead counts as one as far behind, as in public code. A causal model never looks at one, and
    elsewhere FIRE is out of place: it cannot tell ahead from behind, and shares ahead exceed 1.

    query      (..., Tq, 1)  m, in tokens
    key        (..., 1, Tk)  n
    c          (1,)  above 0: from 1 / c tokens on, distances count by their logarithm
    threshold  (1,)  above 0, in tokens: queries before it all divide by the same
    returns    (..., Tq, Tk)  computed in float64, so that c may be very large or small
    Source: Li et al. 2024, arXiv:2310.04418, section 3.
    """
    distance, reach = high_precision((query - key).abs()), torch.maximum(high_precision(query), threshold)
    return psi(distance, c) / psi(reach, c)


class FIRE(Encoding):
    """A network of one hidden layer gives each head a number for every share, added to the score.

    The logarithms of c and threshold are trained, so they stay positive. The output layer begins at 0, so
    that a model begins without an encoding (public code draws it at random); it has no bias, which would add
    the same to all scores of a head and change nothing. Memory: `width` numbers for every query and key,
    once for all windows whose tokens stand at the same positions. All layers share one network
    (the paper's FIRE-S), unless a model is built with `per_layer`.

    n_head     number of heads
    width      hidden units, 32 in the paper
    threshold  its first value, in tokens: a quarter of a window of 64, as the 512 of public code are of 2048
    Raises ValueError for no head, no unit, or a threshold not above 0.
    Source: Li et al. 2024, arXiv:2310.04418.
    """

    def __init__(self, n_head: int, width: int = 32, threshold: float = 16.0) -> None:
        super().__init__()
        for name, number in (("n_head", n_head), ("width", width)):
            if not (isinstance(number, int) and number >= 1):
                raise BadInput(f"{name} ({number}) must be a whole number of at least 1")
        require_finite("threshold", threshold)
        if not threshold >= SMALLEST:
            raise BadInput(f"threshold ({threshold}) must be above 0 tokens, and at least {SMALLEST:g}")
        self.log_c = nn.Parameter(torch.tensor([math.log(C)]))
        self.log_threshold = nn.Parameter(torch.tensor([math.log(threshold)]))
        self.network = nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, n_head, bias=False))
        nn.init.zeros_(self.get_parameter("network.2.weight"))

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        c, threshold = (high_precision(log).exp() for log in (self.log_c, self.log_threshold))
        x = share(queries.time[..., :, None], keys.time[..., None, :], c, threshold)  # (B|, Tq, Tk)
        return self.network(x[..., None].to(self.log_c.dtype)).movedim(-1, -3)  # (B|, H, Tq, Tk)
