"""v7: a gate for every dimension, cos(i omega_k), in place of a rotation.

`Polar` is the gate as the note writes it. Every class after it repairs one thing and keeps the repairs before
it. The last one, PoPE, is a published encoding that completes this path.

Unlike RoPE, a gate needs no pairs: each of the D dimensions has a frequency of its own,
omega_k = theta^(-k/D). The note has a phase for every layer. Here all layers share one encoding, and so one
phase, unless a model is built with `per_layer=True`.
"""

import math
from collections.abc import Mapping
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babygpt.config import require_countable
from babygpt.encodings.base import Encoding, Number, norm
from babygpt.encodings.rotary import angles
from babygpt.encodings.sinusoidal import THETA
from babygpt.errors import BadInput
from babygpt.positions import Positions

ALPHA = 0.3  # the note's
LONGEST_TABLE = 2**16  # positions, 8 MB for 32 channels; gates further away are computed each time


class Waves(Encoding):
    """The base of all gates: a wave for each dimension, and what multiplies a key (`key_gates`).

    head_dim  D, channels of a head
    theta     base of the frequencies
    Raises BadInput if head_dim is below 1, or theta not above 0.
    Source: note 000, section 2.1.
    """

    numbers: ClassVar[Mapping[str, Number]] = {"theta": THETA}

    def __init__(self, head_dim: int, theta: float = 10_000.0) -> None:
        super().__init__()
        require_countable("head_dim", head_dim)
        self.head_dim, self.theta = head_dim, float(theta)
        self.wave(Positions.arange(1))  # refuses a wrong theta at once

    def wave(self, positions: Positions) -> Tensor:
        """Return the angle i omega_k of each position and dimension: (T, D) or (B, 1, T, D), float64."""
        return angles(positions.time, 2 * self.head_dim, self.theta)  # RoPE of 2 D channels has D frequencies

    def key_gates(self, positions: Positions) -> Tensor:
        """Return the factors of keys, and in some classes of queries: (B|, H or 1, T, D or 2 D)."""
        raise TypeError(f"{type(self).__name__} does not say what multiplies its keys")


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
        self.alpha = self.numbers["alpha"].checked("alpha", alpha)

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

    pos_gate  (1, L, 1, D)  cos(i omega) of the positions met so far, in the note's layout for (B, T, H, D).
              Here heads come before positions, so slices of it have the shape (T, D), which broadcasts
              against (B, H, T, D). It is not stored in checkpoints: it grows with the text and follows theta.
    Arguments are those of `Gated`.
    Source: note 000, sections 2.1 to 2.3.
    """

    numbers: ClassVar = {**Gated.numbers, "phi": Number()}
    pos_gate: Tensor

    def __init__(self, head_dim: int, alpha: float = ALPHA, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, alpha, theta)
        self.phi = nn.Parameter(torch.zeros(head_dim))
        self.register_buffer("pos_gate", torch.empty(1, 0, 1, head_dim), persistent=False)
        self._table_theta = self.theta  # of the cosines in pos_gate

    def cosines(self, positions: Positions) -> Tensor:
        """Return cos(i omega) of each position and dimension: (T, D), a slice of `pos_gate`, or (B, 1, T, D).

        Only consecutive positions up to LONGEST_TABLE are sliced.
        """
        start, end = positions.start, (positions.start or 0) + len(positions)
        if start is None or start < 0 or end > LONGEST_TABLE:
            return self.wave(positions).cos()
        table = self.pos_gate  # read once, because a dashboard's thread may replace it
        if end > table.shape[1] or self._table_theta != self.theta:
            rows = 1 << (end - 1).bit_length()  # a power of two, so that decoding rarely makes a new table
            with torch.inference_mode(False):  # training could not use a table made in inference mode
                wave = self.wave(Positions.arange(rows, device=positions.time.device))
                table = wave.cos().float()[None, :, None]  # (1, L, 1, D)
            self.pos_gate, self._table_theta = table, self.theta
        return table[0, start:end, 0]

    def gate(self, positions: Positions) -> Tensor:
        """Return the gate of each position and dimension: (T, D) or (B, 1, T, D)."""
        return self.cosines(positions) * self.phi.cos()

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


def phases(n_head: int, head_dim: int) -> nn.Parameter:
    """Return a trainable phase for each head and dimension, 0 at first: (H, D). Refuse n_head below 1."""
    require_countable("n_head", n_head)
    return nn.Parameter(torch.zeros(n_head, head_dim))


class LearnedPhase(Quadrature):
    """Repair 6: the waves of q and k stand apart by a phase, learned for each head and dimension.

    A score is the sum of q_k k_k cos((i - j) omega_k - delta_k), which is uneven: left is not right.

    n_head  number of heads; the other arguments are those of `Gated`
    Source: Gopalakrishnan et al. 2025, arXiv:2509.10534 (the phase, there called delta).
    """

    numbers: ClassVar = {**Quadrature.numbers, "delta": Number()}

    def __init__(self, n_head: int, head_dim: int, alpha: float = ALPHA, theta: float = 10_000.0) -> None:
        super().__init__(head_dim, alpha, theta)
        self.delta = phases(n_head, head_dim)

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
        self.delta = phases(n_head, head_dim)

    def key_wave(self, wave: Tensor) -> Tensor:
        """Return the angle of keys, ahead of that of queries by delta: (H, T, D) or (B, H, T, D)."""
        return wave + self.delta[:, None]

    def key_gates(self, positions: Positions) -> Tensor:
        wave = self.key_wave(self.wave(positions))
        return cos_sin(torch.ones_like(wave), wave)

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        wave = self.wave(positions)
        return cos_sin(F.softplus(q), wave), cos_sin(F.softplus(k), self.key_wave(wave))
