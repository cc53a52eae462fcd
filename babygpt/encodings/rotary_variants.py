"""RoPE with fewer pairs that turn, and slowed down for texts beyond its window.

Partial RoPE turns a share of the pairs only. The others match content at any distance.

Trained on windows of n tokens, a model has seen each pair turn by at most n times its frequency. Beyond the
window, the slow pairs reach angles that never occurred in training. Four methods slow pairs down by a
factor s:

- position interpolation slows every pair s times;
- NTK-aware scaling keeps the quickest pair, slows the slowest s times, and interpolates between them;
- dynamic NTK does the same by more and more as a text grows, and not at all within the window;
- YaRN keeps pairs that turned often in the window, slows those that never finished a turn s times, and makes
  attention a little sharper.

Nothing is trained here. Interpolation and YaRN were proposed with some fine-tuning at the new length.
"""

import math
from typing import ClassVar

import torch
from torch import Tensor

from babygpt.config import require_countable
from babygpt.encodings.base import Number, frequencies
from babygpt.encodings.rotary import Rotary, angles_at, rotate_pairs
from babygpt.errors import BadInput
from babygpt.positions import Positions


class PartialRotary(Rotary):
    """RoPE whose slow pairs do not turn: a part of each score is the same at every distance.

    head_dim  channels of a head, even
    share     of the pairs that turn, the quickest ones; 1 is RoPE, 0 is no encoding
    theta     base of the frequencies, which are those of RoPE
    Raises BadInput for a share outside 0 to 1.
    Source: Barbero et al. 2024, arXiv:2410.06205 (p-RoPE); so in the full-attention layers of Gemma 4.
    """

    def __init__(self, head_dim: int, share: float = 0.25, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, theta)
        if not 0 <= share <= 1:
            raise BadInput(f"share ({share}) must lie between 0 and 1")
        self.turning = math.floor(share * (head_dim // 2))  # pairs

    def frequencies(self) -> Tensor:
        every = super().frequencies()
        return every.where(torch.arange(len(every)) < self.turning, 0.0)


MOST_TURNS, FEWEST_TURNS = 32.0, 1.0  # YaRN's, per window; the paper chose them for Llama's windows of 4096
FACTOR = Number(least=1)  # 4 for texts four times as long as in training
SHARPER = 0.1  # YaRN's: q and k grow by this much for each e-fold of the factor


class Interpolated(Rotary):
    """Position interpolation: position m becomes m / factor, so that none lies beyond the window.

    head_dim  channels of a head, even
    factor    how many times longer texts may be than in training, at least 1
    theta     base of the frequencies
    Source: Chen et al. 2023, arXiv:2306.15595.
    """

    numbers: ClassVar = {**Rotary.numbers, "factor": FACTOR}

    def __init__(self, head_dim: int, factor: float = 1.0, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, theta)
        FACTOR.valid("factor", factor)
        self.factor = float(factor)

    def frequencies(self) -> Tensor:
        return super().frequencies() / self.factor


def ntk_theta(theta: float, head_dim: int, factor: float) -> float:
    """Return the base at which RoPE's slowest pair is `factor` times slower and the quickest unchanged.

    theta     the base that the model was trained with
    head_dim  channels of a head, even, at least 4: a single pair is both the slowest and the quickest
    factor    at least 1
    Raises BadInput for another head_dim or factor.
    Source: bloc97 2023, as written down in Peng et al. 2023, arXiv:2309.00071, section 3.1.
    """
    FACTOR.valid("factor", factor)
    if head_dim < 4:
        raise BadInput(f"head_dim ({head_dim}) must be at least 4: one pair cannot be slowed and left alone")
    # The slowest pair turns by theta^(-(D - 2) / D) a token. This power makes that exactly 1 / factor of it.
    return theta * factor ** (head_dim / (head_dim - 2))


class NTKAware(Rotary):
    """RoPE with a larger base: quick pairs tell neighbours apart as before, slow ones reach further.

    head_dim  channels of a head, even, at least 4
    factor    how many times longer texts may be than in training, at least 1
    theta     base of the frequencies
    Source: bloc97 2023, as written down in Peng et al. 2023, arXiv:2309.00071, section 3.1.
    """

    numbers: ClassVar = {**Rotary.numbers, "factor": FACTOR}

    def __init__(self, head_dim: int, factor: float = 1.0, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, theta)
        ntk_theta(theta, head_dim, factor)  # refuses a wrong factor or head_dim at once
        self.factor = float(factor)

    def frequencies(self) -> Tensor:
        return frequencies(self.head_dim, ntk_theta(self.theta, self.head_dim, self.factor))


def trained_window(block_size: int, factor: float) -> int:
    """Return the window in training, of a model whose window was stretched from it to block_size tokens.

    Raises BadInput for a factor below 1, one that leaves no token, or a block_size below 1.
    """
    FACTOR.valid("factor", factor)
    require_countable("block_size", block_size)
    # A window of n tokens was stretched to n * factor, rounded down: round up to get n again. The inner
    # round() removes floating-point noise, so that 64.00000000000001 is 64.
    window = math.ceil(round(block_size / factor, 9))
    if not window:
        raise BadInput(f"factor ({factor:g}) leaves no window in training: block_size is {block_size}")
    return window


def extent(positions: Positions) -> tuple[int, int]:
    """Return the first position, and one more than the last; 0 and 0 if there are none."""
    if not len(positions):
        return 0, 0
    if positions.start is not None:  # known without reading the tensor, which on a GPU would mean waiting
        return positions.start, positions.start + len(positions)
    return int(positions.time.min()), int(positions.time.max()) + 1


class DynamicNTK(Rotary):
    """NTK-aware scaling that grows with the text, token by token, once it exceeds the window in training.

    Past that window every key turns anew with each token, so a cache of keys would be wrong: a longer text is
    read whole.

    head_dim    channels of a head, even, at least 4
    block_size  window of the stretched model, in tokens: `factor` times the window in training
    factor      how many times longer texts may be than in training; a text of T tokens is stretched
                factor T / window - (factor - 1) times
    theta       base of the frequencies
    Raises BadInput for a factor below 1, a block_size below 1, and a text that does not begin at position 0,
    if it ends beyond the window in training.
    Source: emozilla 2023, as written down in Peng et al. 2023, arXiv:2309.00071, section 3.3; with a factor
    above 1 as in the transformers library.
    """

    numbers: ClassVar = {**Rotary.numbers, "factor": FACTOR}
    cacheable = False

    def __init__(self, head_dim: int, block_size: int, factor: float = 1.0, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, theta)
        self.window, self.factor = trained_window(block_size, factor), float(factor)
        self.frequencies(self.window)  # refuses a single pair at once

    def frequencies(self, length: int = 0) -> Tensor:
        """Return the angle per token of each pair in a text of `length` tokens: (D / 2,), as in `Rotary`."""
        stretch = max(1.0, self.factor * length / self.window - (self.factor - 1))
        return frequencies(self.head_dim, ntk_theta(self.theta, self.head_dim, stretch))

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        first, length = extent(positions)
        if length > self.window and first > 0:
            raise BadInput(
                f"positions {first} to {length - 1} reach past the window in training ({self.window}): there "
                "dynamic NTK turns all keys anew, so it reads a text from position 0 on, without a cache"
            )
        angle = angles_at(positions.time, self.frequencies(length))
        return rotate_pairs(q, angle), rotate_pairs(k, angle)


def yarn_slowed(head_dim: int, window: float, theta: float = 10_000.0, most: float = MOST_TURNS) -> Tensor:
    """Return how much of YaRN's slowing each pair gets: 0 if it turns often in a window, 1 if it is slow.

    The share grows evenly with the number of the pair, from the one that turns `most` times in a window
    (rounded down) to the one that turns FEWEST_TURNS times (rounded up). The released code and the models
    that use it do the same, in windows of 7 tokens and more. In shorter ones even pair 0 turns less than
    once, so that all pairs are slow here. In the paper's formula the share grows with the number of turns.

    head_dim  channels of a head, even
    window    window in training, in tokens
    returns   (D / 2,)  float64
    Source: Peng et al. 2023, arXiv:2309.00071, section 3.2, and its code.
    """
    low, high = (  # numbers of the pairs, as fractions
        head_dim * math.log(window / (2 * math.pi * turns)) / (2 * math.log(theta))
        for turns in (most, FEWEST_TURNS)
    )
    first, last = max(math.floor(low), 0), min(math.ceil(high), head_dim - 1)
    pair = torch.arange(head_dim // 2, dtype=torch.float64)
    grows = ((pair - first) / max(last - first, 0.001)).clamp(0, 1)  # 0.001: a step where both are one pair
    return grows.where(pair < high, 1.0)  # pair 0 is slow, too, in a window of at most 6 tokens


def yarn_temperature(factor: float) -> float:
    """Return YaRN's factor of queries and keys, 1 + 0.1 ln(factor). Scores get its square.

    Source: Peng et al. 2023, arXiv:2309.00071, eq. 22.
    """
    FACTOR.valid("factor", factor)
    return 1 + SHARPER * math.log(factor)


class YaRN(Rotary):
    """RoPE slowed pair by pair, by how often each turned in the training window; and sharper attention.

    head_dim    channels of a head, even
    block_size  window of the stretched model, in tokens: `factor` times the window in training
    factor      how many times longer texts may be than in training, at least 1
    theta       base of the frequencies
    Raises BadInput for a factor below 1, a block_size below 1, or a theta of at most 1, at which no pair is
    slower than another.
    Source: Peng et al. 2023, arXiv:2309.00071.
    """

    numbers: ClassVar = {"theta": Number(above=1), "factor": FACTOR}

    def __init__(self, head_dim: int, block_size: int, factor: float = 1.0, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, theta)
        self.numbers["theta"].valid("theta", theta)  # at 1 no pair is slower than another
        self.window, self.factor = trained_window(block_size, factor), float(factor)

    def frequencies(self) -> Tensor:
        slowed = yarn_slowed(self.head_dim, self.window, self.theta)
        plain = super().frequencies()
        return plain * (1 - slowed) + plain / self.factor * slowed

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        sharper = yarn_temperature(self.factor)
        q, k = super().transform_qk(q, k, positions)
        return q * sharper, k * sharper
