"""v7: a gate for every dimension, cos(i omega_k), in place of a rotation.

`Polar` is the gate as the note writes it. Every class after it repairs one thing and keeps the repairs before
it, but `Quadrature` drops phi. The last one, PoPE, is a published encoding that completes this path.

Unlike RoPE, a gate needs no pairs: each of the D dimensions has a frequency of its own,
omega_k = theta^(-k/D). The note has a phase for every layer. Here all layers share one encoding, and so one
phase, unless a model is built with `per_layer=True`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babygpt.encodings.base import THETA, Encoding, Number, norm
from babygpt.encodings.rotary import angles
from babygpt.errors import BadInput
from babygpt.positions import Positions

ALPHA = 0.3  # the note's


class Waves(Encoding, ABC):
    """The base of all gates: a wave for each dimension, and what multiplies a key (`key_gates`).

    head_dim  D, channels of a head
    theta     base of the frequencies
    Raises BadInput for a theta not above 0.
    Source: note 000, section 2.1.
    """

    numbers: ClassVar[Mapping[str, Number]] = {"theta": THETA}

    def __init__(self, head_dim: int, theta: float = 10_000.0) -> None:
        super().__init__()
        self.head_dim, self.theta = head_dim, float(theta)
        self.wave(Positions.arange(1))  # refuses a wrong theta at once

    def wave(self, positions: Positions) -> Tensor:
        """Return the angle i omega_k of each position and dimension: (T, D) or (B, 1, T, D), float64."""
        return angles(positions.time, 2 * self.head_dim, self.theta)  # RoPE of 2 D channels has D frequencies

    @abstractmethod
    def key_gates(self, positions: Positions) -> Tensor:
        """Return the factors of keys, and in some classes of queries: (B|, H or 1, T, D or 2 D)."""


def cos_sin(x: Tensor, wave: Tensor) -> Tensor:
    """Return x times cosine beside x times sine of an angle: (B, H, T, D) -> (B, H, T, 2 D)."""
    return torch.cat([x * wave.cos().to(x.dtype), x * wave.sin().to(x.dtype)], dim=-1)


class Gated(Waves):
    """Waves, and a factor for MASK tokens.

    alpha  factor of MASK tokens
    The other arguments are those of `Waves`.
    Raises BadInput if alpha is not finite.
    Source: note 000, section 2.2.
    """

    numbers: ClassVar = {**Waves.numbers, "alpha": Number()}

    def __init__(self, head_dim: int, alpha: float = ALPHA, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, theta)
        self.alpha = self.numbers["alpha"].valid("alpha", alpha)

    def mask_gate(self, positions: Positions) -> Tensor:
        """Return the factor alpha where a token is MASK, and 1 elsewhere: (B, 1, T, 1)."""
        if positions.masked is None:
            raise BadInput("gates need positions.masked: which tokens are MASK (denoise sets them)")
        return 1.0 + (self.alpha - 1.0) * positions.masked[..., None, :, None]


class Polar(Gated):
    """The gates as the note has them: cos(i omega) cos(phi), alpha where a token is MASK, and then a norm.

    Two of the three do nothing. The norm divides alpha out again, like any other scalar, as long as alpha^2
    is large beside the norm's eps. In float32 eps is 1e-7: the scores move by a hundred-thousandth of their
    spread at alpha 0.3, by half a percent at 0.01, and by a third or more at 0.001; at 0 all is lost. And the
    gradient of cos(phi) is 0 where phi begins, so phi stays there.

    Arguments are those of `Gated`.
    Source: note 000, sections 2.1 to 2.3.
    """

    numbers: ClassVar = {**Gated.numbers, "phi": Number()}

    def __init__(self, head_dim: int, alpha: float = ALPHA, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, alpha, theta)
        self.phi = nn.Parameter(torch.zeros(head_dim))

    def gate(self, positions: Positions) -> Tensor:
        """Return the gate of each position and dimension: (T, D) or (B, 1, T, D)."""
        return self.wave(positions).cos().to(self.phi.dtype) * self.phi.cos()

    def key_gates(self, positions: Positions) -> Tensor:
        return self.gate(positions) * self.mask_gate(positions)

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        gates = self.key_gates(positions).to(q.dtype)
        return norm(q * gates), norm(k * gates)


class ExactPhase(Polar):
    """Repair 1: cos(i omega + phi), which the note approximates. Now phi has a gradient at 0."""

    def gate(self, positions: Positions) -> Tensor:
        return (self.wave(positions) + self.phi).cos()


class RandomPhase(ExactPhase):
    """Repair 2: phi begins at random, so that not every dimension has its crest at position 0."""

    def __init__(self, head_dim: int, alpha: float = ALPHA, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, alpha, theta)
        nn.init.uniform_(self.phi, -math.pi, math.pi)


class GatesLast(RandomPhase):
    """Repair 3: no norm after the gates; the body normalises q and k before. Now alpha has an effect."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        gates = self.key_gates(positions).to(q.dtype)
        return q * gates, k * gates


class KeysOnly(GatesLast):
    """Repair 4: alpha on keys only. On queries it flattens the attention of the tokens to be predicted."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        gate = self.gate(positions)
        return q * gate.to(q.dtype), k * (gate * self.mask_gate(positions)).to(k.dtype)


class Quadrature(Gated):
    """Repair 5: a sine beside each cosine, [q cos, q sin] and [k cos, k sin].

    cos a cos b + sin a sin b = cos(a - b), so a score is the sum of q_k k_k cos((i - j) omega_k): no term of
    i + j is left. A phase that q and k share would cancel, so there is none. But a cosine is even: a query
    gives the same score to equal keys at the same distance to its left and right.

    Arguments are those of `Gated`; q and k leave with twice the channels.
    Source: note 000, repaired.
    """

    def key_wave(self, wave: Tensor) -> Tensor:
        """Return the angle of keys, given that of queries: here the same."""
        return wave

    def key_gates(self, positions: Positions) -> Tensor:
        wave = self.key_wave(self.wave(positions))
        return cos_sin(torch.ones_like(wave), wave) * self.mask_gate(positions)

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        wave = self.wave(positions)
        keys = cos_sin(k, self.key_wave(wave)) * self.mask_gate(positions).to(k.dtype)
        return cos_sin(q, wave), keys


class LearnedPhase(Quadrature):
    """Repair 6: the waves of q and k stand apart by a phase, learned for each head and dimension.

    A score is the sum of q_k k_k cos((i - j) omega_k - delta_k), which is uneven: left is not right.

    n_head  number of heads; the other arguments are those of `Gated`
    Source: Gopalakrishnan et al. 2025, arXiv:2509.10534 (the phase, there called delta).
    """

    numbers: ClassVar = {**Quadrature.numbers, "delta": Number()}

    def __init__(self, n_head: int, head_dim: int, alpha: float = ALPHA, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, alpha, theta)
        self.delta = nn.Parameter(torch.zeros(n_head, head_dim))

    def key_wave(self, wave: Tensor) -> Tensor:
        """Return the angle of keys, ahead of that of queries by delta: (H, T, D) or (B, H, T, D)."""
        return wave + self.delta[:, None]


class PoPE(Waves):
    """PoPE as published: q and k give magnitudes only, softplus(q) and softplus(k), and no token is gated.

    Content is in the magnitudes and position in the phases, so a token can look for both independently. Two
    things differ from the paper. It keeps delta between -2 pi and 0, a range that holds every angle once;
    here delta is free. And its q and k come straight from their matrices, with scores divided by sqrt(D);
    here the body normalises them first, and scores are twice as large.

    n_head  number of heads; the other arguments are those of `Waves`
    Source: Gopalakrishnan et al. 2025, arXiv:2509.10534, section 3.
    """

    numbers: ClassVar = {**Waves.numbers, "delta": Number()}

    def __init__(self, n_head: int, head_dim: int, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, theta)
        self.delta = nn.Parameter(torch.zeros(n_head, head_dim))

    def key_wave(self, wave: Tensor) -> Tensor:
        """Return the angle of keys, ahead of that of queries by delta: (H, T, D) or (B, H, T, D)."""
        return wave + self.delta[:, None]

    def key_gates(self, positions: Positions) -> Tensor:
        wave = self.key_wave(self.wave(positions))
        return cos_sin(torch.ones_like(wave), wave)

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        wave = self.wave(positions)
        return cos_sin(F.softplus(q), wave), cos_sin(F.softplus(k), self.key_wave(wave))
