"""ALiBi: no rotation and no table. Scores fall in proportion to the distance."""

from typing import ClassVar

import torch
from torch import Tensor

from babygpt.encodings.base import Encoding, Number, by_distance
from babygpt.positions import Positions


def slopes(n_head: int) -> Tensor:
    """Return how steeply the scores of each head fall: 2^(-8/H), 2^(-16/H), ..., 2^(-8).

    n_head    number of heads H
    returns   (H,)  score per token of distance
    Source: Press et al. 2022, arXiv:2108.12409, section 3. The paper interpolates when H is not a
    power of two. Here every H has the same geometric sequence.
    """
    return 2.0 ** (-8.0 * torch.arange(1, n_head + 1) / n_head)


class ALiBi(Encoding):
    """Attention with linear biases: head h adds -steepness * slope_h * |m - n| to every score.

    n_head     number of heads
    steepness  1 as in the paper; with more, distant tokens count less; with 0, all distances are alike
    Source: Press et al. 2022, arXiv:2108.12409.
    """

    numbers: ClassVar = {"steepness": Number()}
    separable = True  # -slope (m - n) is slope n, which the key has alone, less slope m

    def __init__(self, n_head: int, steepness: float = 1.0) -> None:
        super().__init__()
        self.steepness = self.numbers["steepness"].valid("steepness", steepness)
        self.register_buffer("slopes", slopes(n_head), persistent=False)  # a formula needs no checkpoint

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        fall = -self.steepness * self.get_buffer("slopes")[:, None, None]  # (H, 1, 1), score per token
        return by_distance(queries, keys, lambda distance: fall * distance.abs().unsqueeze(-3))
