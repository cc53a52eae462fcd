"""KERPLE: kernels of the distance whose shape each head learns, a logarithm or a power."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from babygpt.encodings.alibi import slopes
from babygpt.encodings.base import Encoding
from babygpt.positions import Positions


def log_kernel_bias(distance: Tensor, r1: Tensor, r2: Tensor) -> Tensor:
    """-r1 log(1 + r2 |distance|): falls like a line within 1 / r2 tokens, and ever more slowly beyond.

    distance  (...,)  m - n, in tokens
    r1        above 0, broadcast against distance; far away, doubling the distance takes r1 log 2
    r2        above 0, broadcast against distance
    returns   what is added to a score, at most 0
    Source: Chi et al. 2022, arXiv:2205.09921, the logarithmic kernel.
    """
    return -r1 * torch.log1p(r2 * distance.abs())


def power_kernel_bias(distance: Tensor, r1: Tensor, r2: Tensor) -> Tensor:
    """-r1 |distance|^r2: a line for r2 = 1, which is ALiBi, and a parabola for 2.

    distance  (...,)  m - n, in tokens
    r1        above 0, broadcast against distance
    r2        above 0 and at most 2, broadcast against distance; beyond 2 it is no kernel any more
    returns   what is added to a score, at most 0
    Source: Chi et al. 2022, arXiv:2205.09921, the power kernel.
    """
    return -r1 * distance.abs() ** r2


def distances(queries: Positions, keys: Positions) -> Tensor:
    """How far each key lies behind each query, in tokens: (B|, 1, Tq, Tk), ready to meet (H, 1, 1)."""
    return queries.time[..., None, :, None] - keys.time[..., None, None, :]


class LogKernel(Encoding):
    """Head h adds -r1 log(1 + r2 |m - n|) to every score, and learns r1 and r2.

    Their logarithms are trained, so they stay positive. Head h begins with r1 = 1 and ALiBi's slope for r2:
    near by it is ALiBi, and it forgets what is far more slowly. The public code draws r1 from 0 to 2 and r2
    from 0 to 1, at random.

    n_head  number of heads
    Raises ValueError if n_head is below 1.
    Source: Chi et al. 2022, arXiv:2205.09921, the logarithmic kernel.
    """

    def __init__(self, n_head: int) -> None:
        super().__init__()
        self.log_r2 = nn.Parameter(slopes(n_head).log())
        self.log_r1 = nn.Parameter(torch.zeros(n_head))

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        r1, r2 = (log[:, None, None].exp() for log in (self.log_r1, self.log_r2))  # (H, 1, 1)
        return log_kernel_bias(distances(queries, keys), r1, r2)  # (B|, H, Tq, Tk)


class PowerKernel(Encoding):
    """Head h adds -r1 |m - n|^r2 to every score, and learns r1 and r2.

    r1 is trained as its logarithm, and r2 as twice a sigmoid, so that it stays between 0 and 2. It begins as
    ALiBi: r2 = 1, and the slopes for r1. The public code draws r1 from 0 to 1 and r2 from 0 to 2, at random.

    n_head  number of heads
    Raises ValueError if n_head is below 1.
    Source: Chi et al. 2022, arXiv:2205.09921, the power kernel.
    """

    def __init__(self, n_head: int) -> None:
        super().__init__()
        self.log_r1 = nn.Parameter(slopes(n_head).log())
        self.logit_r2 = nn.Parameter(torch.zeros(n_head))

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        r1, r2 = self.log_r1[:, None, None].exp(), 2 * self.logit_r2[:, None, None].sigmoid()  # (H, 1, 1)
        return power_kernel_bias(distances(queries, keys), r1, r2)  # (B|, H, Tq, Tk)
