"""v7: a gate for every dimension, cos(i omega_k), in place of a rotation.

The note's gate stands first, as the note has it. Every class after it repairs one thing and keeps the
repairs before it, down to PoPE, a published encoding that goes the same way to its end.

Unlike RoPE, a gate needs no pairs: each of the D dimensions has a frequency of its own,
omega_k = theta^(-k/D). The note has a phase for every layer; here all layers share one encoding, and so one
phase, unless a model is built with `per_layer=True`.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babygpt.encodings.base import SMALLEST, Encoding, norm, require_finite
from babygpt.encodings.rotary import angles
from babygpt.errors import BadInput
from babygpt.positions import Positions

ALPHA = 0.3  # the note's
LONGEST_TABLE = 2**16  # positions, 8 MB for 32 channels; what is further away is computed each time


class Waves(Encoding):
    """The base of all gates: a wave for each dimension, and what multiplies a key (`key_gates`).

    head_dim  D, channels of a head
    theta     base of the frequencies
    Raises ValueError if head_dim is below 1, or theta not above 0.
    Source: note 000, section 2.1.
    """

    minimum: ClassVar = {"theta": SMALLEST}

    def __init__(self, head_dim: int, theta: float = 10_000.0) -> None:
        super().__init__()
        if head_dim < 1:
            raise BadInput(f"head_dim ({head_dim}) must be at least 1")
        self.head_dim, self.theta = head_dim, float(theta)
        self.wave(Positions.arange(1))  # refuses a wrong theta at once

    def wave(self, positions: Positions) -> Tensor:
        """The angle i omega_k of each position and dimension: (T, D) or (B, 1, T, D), radians, float64."""
        return angles(positions.time, 2 * self.head_dim, self.theta)  # RoPE's, for twice as many channels

    def key_gates(self, positions: Positions) -> Tensor:
        """What multiplies keys, and in some classes queries: (B or 1, H or 1, T, D or 2 D), or without B."""
        raise TypeError(f"{type(self).__name__} does not say what multiplies its keys")


def cos_sin(x: Tensor, wave: Tensor) -> Tensor:
    """Two copies of every channel, times cosine and sine of an angle: (B, H, T, D) -> (B, H, T, 2 D)."""
    return torch.cat([x * wave.cos().to(x.dtype), x * wave.sin().to(x.dtype)], dim=-1)


class Gated(Waves):
    """Waves, and a factor for MASK tokens.

    alpha  the factor; the other arguments are those of `Waves`
    Raises ValueError if alpha is not finite.
    Source: note 000, section 2.2.
    """

    def __init__(self, head_dim: int, alpha: float = ALPHA, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, theta)
        require_finite("alpha", alpha)
        self.alpha = float(alpha)

    def mask_gate(self, positions: Positions) -> Tensor:
        """The factor alpha where a token is MASK, and 1 elsewhere: (B, 1, T, 1)."""
        if positions.masked is None:
            raise BadInput("gates need positions.masked: which tokens are MASK (denoise tells them)")
        return 1.0 + (self.alpha - 1.0) * positions.masked[..., None, :, None]


class Polar(Gated):
    """The gates as the note has them: cos(i omega) cos(phi), alpha where a token is MASK, and then a norm.

    Two of the three do nothing. The norm divides alpha out again, a scalar like any other, as long as alpha^2
    is large beside the norm's eps: in float32 (1e-7) the scores move by a hundred-thousandth of their spread
    at 0.3, half a percent at 0.01, and a third or more at 0.001; at 0 all is lost. And the gradient of
    cos(phi) is 0 where phi begins, so phi stays there.

    pos_gate  (1, L, 1, D)  cos(i omega) of the positions met so far, in the note's layout: it meets the
              note's (B, T, H, D). Here heads stand before positions, so what is sliced from it has the shape
              (T, D), which meets (B, H, T, D). No part of a checkpoint: it is made again when it is needed,
              grows with the text, and follows theta.
    Arguments are those of `Gated`.
    Source: note 000, sections 2.1 to 2.3.
    """

    pos_gate: Tensor

    def __init__(self, head_dim: int, alpha: float = ALPHA, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, alpha, theta)
        self.phi = nn.Parameter(torch.zeros(head_dim))
        self.register_buffer("pos_gate", torch.empty(1, 0, 1, head_dim), persistent=False)
        self.table_thetas = (self.theta,)  # a tuple, since numbers can be steered

    def steerable(self) -> list[str]:
        return [name for name in super().steerable() if name != "pos_gate"]

    def cosines(self, positions: Positions) -> Tensor:
        """cos(i omega) of each position and dimension: (T, D), a slice of `pos_gate`, or (B, 1, T, D).

        Only positions that are known to follow on each other, up to LONGEST_TABLE, are sliced.
        """
        start, end = positions.start, (positions.start or 0) + len(positions)
        if start is None or start < 0 or end > LONGEST_TABLE:
            return self.wave(positions).cos()
        table = self.pos_gate  # another thread may replace it
        if end > table.shape[1] or self.table_thetas != (self.theta,):
            table = self.tabulate(end, positions.time.device)
        return table[0, start:end, 0]

    def tabulate(self, length: int, device: torch.device) -> Tensor:
        """Make `pos_gate` anew, for as many positions as the power of two from `length` on: (1, L, 1, D)."""
        with torch.inference_mode(False):  # or it could not be trained with later
            rows = Positions.arange(1 << (length - 1).bit_length(), device=device)
            table = self.wave(rows).cos().float()[None, :, None]
        self.pos_gate, self.table_thetas = table, (self.theta,)
        return table

    def gate(self, positions: Positions) -> Tensor:
        """The gate of each position and dimension: (T, D) or (B, 1, T, D)."""
        return self.cosines(positions) * self.phi.cos()

    def key_gates(self, positions: Positions) -> Tensor:
        return self.gate(positions) * self.mask_gate(positions)

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        gates = self.key_gates(positions).to(q.dtype)
        return norm(q * gates), norm(k * gates)


class ExactPhase(Polar):
    """Repair 1: cos(i omega + phi), of which the note's is an approximation. Now phi has a gradient at 0."""

    def gate(self, positions: Positions) -> Tensor:
        return (self.wave(positions) + self.phi).cos()


class RandomPhase(ExactPhase):
    """Repair 2: phi begins anywhere, so that not every dimension has its crest at position 0."""

    def __init__(self, head_dim: int, alpha: float = ALPHA, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, alpha, theta)
        nn.init.uniform_(self.phi, -math.pi, math.pi)


class GatesLast(RandomPhase):
    """Repair 3: no norm after the gates; the body has normalised q and k before them. Now alpha counts."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        gates = self.key_gates(positions).to(q.dtype)
        return q * gates, k * gates


class KeysOnly(GatesLast):
    """Repair 4: alpha on keys only. On queries it flattens the attention of just those to be predicted."""

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        gate = self.gate(positions)
        return q * gate.to(q.dtype), k * (gate * self.mask_gate(positions)).to(k.dtype)


class Quadrature(Gated):
    """Repair 5: a sine beside each cosine, [q cos, q sin] and [k cos, k sin].

    cos a cos b + sin a sin b = cos(a - b), so a score is the sum of q_k k_k cos((i - j) omega_k): nothing
    of i + j is left. A phase that q and k share would cancel, so there is none. But a cosine is even: of two
    keys alike, one to the left and one as far to the right, a query cannot tell which is which.

    Arguments are those of `Gated`; q and k leave with twice the channels.
    Source: note 000, repaired.
    """

    def key_wave(self, wave: Tensor) -> Tensor:
        """The angle of keys, given that of queries: here the same."""
        return wave

    def key_gates(self, positions: Positions) -> Tensor:
        wave = self.key_wave(self.wave(positions))
        return cos_sin(torch.ones_like(wave), wave) * self.mask_gate(positions)

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        wave = self.wave(positions)
        keys = cos_sin(k, self.key_wave(wave)) * self.mask_gate(positions).to(k.dtype)
        return cos_sin(q, wave), keys


def phases(n_head: int, head_dim: int) -> nn.Parameter:
    """A phase for each head and dimension, 0 at first: (H, D). Raises ValueError if n_head is below 1."""
    if n_head < 1:
        raise BadInput(f"n_head ({n_head}) must be at least 1")
    return nn.Parameter(torch.zeros(n_head, head_dim))


class LearnedPhase(Quadrature):
    """Repair 6: the waves of q and k stand apart by a phase, learned for each head and dimension.

    A score is the sum of q_k k_k cos((i - j) omega_k - delta_k), which is uneven: left is not right.

    n_head  number of heads; the other arguments are those of `Gated`
    Source: Gopalakrishnan et al. 2025, arXiv:2509.10534 (the phase, there called delta).
    """

    def __init__(self, n_head: int, head_dim: int, alpha: float = ALPHA, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, alpha, theta)
        self.delta = phases(n_head, head_dim)

    def key_wave(self, wave: Tensor) -> Tensor:
        """The angle of keys, ahead of that of queries by delta: (H, T, D) or (B, H, T, D)."""
        return wave + self.delta[:, None]


class PoPE(Waves):
    """As published: q and k give magnitudes only, softplus(q) and softplus(k), and no token is gated.

    What a token looks for and where it looks are then two things: content is in the magnitudes, position
    in the phases. Two things differ from the paper. It keeps delta between -2 pi and 0, a range that holds
    every angle once; here delta is free. And its q and k come straight from their matrices, to scores that
    are divided by sqrt(D); here the body normalises them first, and scores are twice as large.
    `babygpt_course.studies.pope` measures what that is worth.

    n_head  number of heads; the other arguments are those of `Waves`
    Source: Gopalakrishnan et al. 2025, arXiv:2509.10534, section 3.
    """

    def __init__(self, n_head: int, head_dim: int, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, theta)
        self.delta = phases(n_head, head_dim)

    def key_wave(self, wave: Tensor) -> Tensor:
        """The angle of keys, ahead of that of queries by delta: (H, T, D) or (B, H, T, D)."""
        return wave + self.delta[:, None]

    def key_gates(self, positions: Positions) -> Tensor:
        wave = self.key_wave(self.wave(positions))
        return cos_sin(torch.ones_like(wave), wave)

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        wave = self.wave(positions)
        return cos_sin(F.softplus(q), wave), cos_sin(F.softplus(k), self.key_wave(wave))
