"""v4: rotate queries and keys by an angle that grows with position (RoPE).

Everywhere in this course the channels are paired *interleaved*, as in the RoFormer paper: (0, 1),
(2, 3), ... Pair i is rotated by +position * theta^(-2i/D). The other common layout pairs channel i with
i + D/2. Either layout works, but mixing them does not (notebook 04a shows why).
"""

import math
from typing import ClassVar

import torch
from torch import Tensor

from babygpt.encodings.base import THETA, Encoding, Number, frequencies, high_precision
from babygpt.errors import BadInput
from babygpt.positions import Positions


def rotate_pairs(x: Tensor, angle: Tensor) -> Tensor:
    """Rotate each adjacent pair of channels by its own angle: a product of complex numbers.

    x         (..., D)      D even
    angle     (..., D / 2)  radians, broadcast against x
    returns   (..., D)      same norm as x
    """
    return multiply_pairs(x, rotations_by(angle, x.dtype))


def rotations_by(angle: Tensor, dtype: torch.dtype) -> Tensor:
    """Return complex numbers of length 1 at some angles, for the pairs of tensors of a precision."""
    exact = torch.polar(torch.ones_like(angle), angle)
    return exact.to(torch.complex128 if dtype == torch.float64 else torch.complex64)


def multiply_pairs(x: Tensor, rotations: Tensor) -> Tensor:
    """Multiply each adjacent pair of channels, as a complex number, by another one.

    x          (..., D)      D even
    rotations  (..., D / 2)  complex, broadcast against x
    returns    (..., D)
    """
    if x.dtype not in (torch.float32, torch.float64):  # bfloat16 has no complex kind
        return multiply_pairs(x.float(), rotations).to(x.dtype)
    pairs = torch.view_as_complex(x.contiguous().view(*x.shape[:-1], -1, 2))  # (..., D / 2)
    return torch.view_as_real(pairs * rotations).flatten(-2)


def angles(position: Tensor, head_dim: int, theta: float = 10_000.0) -> Tensor:
    """Return RoPE's angle of each pair of channels at each position.

    position  (T,) or (B, T)  in tokens
    head_dim  channels of a head, even
    returns   (T, D / 2) or (B, 1, T, D / 2)  radians, float64; broadcasts against (B, H, T, D / 2)
    Raises BadInput if head_dim is odd.
    """
    return angles_at(position, frequencies(head_dim, theta))


def angles_at(position: Tensor, frequency: Tensor) -> Tensor:
    """Return the angle of each pair at each position, for pairs of any frequencies.

    position   (T,) or (B, T)  in tokens
    frequency  (P,)  of each pair, in radians per token
    returns    (T, P) or (B, 1, T, P)  radians, float64; broadcasts against (B, H, T, P)
    """
    exact = high_precision(position)  # a product of float32 numbers would lose the angle far from the start
    angle = exact[..., None] * frequency.to(exact)
    return angle if position.dim() == 1 else angle[:, None]  # one axis for the heads


def rotate(x: Tensor, position: Tensor, theta: float = 10_000.0) -> Tensor:
    """Rotate feature pair i of x by position * theta^(-2i/D).

    x         (B, H, T, D)  queries or keys, D even
    position  (T,) or (B, T)  in tokens
    theta     base of the frequencies
    returns   (B, H, T, D)  same norm as x
    Raises BadInput if D is odd.
    Source: Su et al. 2021, arXiv:2104.09864, eq. 34.
    """
    return rotate_pairs(x, angles(position, x.shape[-1], theta))


class Rotary(Encoding):
    """RoPE: q at m and k at n are rotated so that their score depends on m - n only.

    head_dim  channels of a head, even
    theta     base of the frequencies
    Source: Su et al. 2021, arXiv:2104.09864.
    """

    numbers: ClassVar = {"theta": THETA}

    def __init__(self, head_dim: int, theta: float = 10_000.0) -> None:
        super().__init__()
        frequencies(head_dim, theta)  # refuses an odd head_dim at once
        self.head_dim, self.theta = head_dim, float(theta)

    def frequencies(self) -> Tensor:
        """Return the angle per token of each pair: (D / 2,), radians, float64, the quickest first."""
        return frequencies(self.head_dim, self.theta)

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        def rotations(time: Tensor) -> Tensor:
            return rotations_by(angles_at(time, self.frequencies()), q.dtype)

        turns = positions.table(self, rotations)
        return multiply_pairs(q, turns), multiply_pairs(k, turns)


class Rotary2D(Encoding):
    """RoPE in two coordinates: some pairs rotate with the branch, the others with time.

    head_dim      channels of a head, even
    branch_share  share of the pairs that rotate with the branch, between 0 and 1; a half pair is rounded up
    theta         base of the frequencies, each coordinate with its own full band
    stride        distance between neighbouring branches, in positions
    Raises BadInput for a share outside 0 to 1, and where rounding takes the last pair from the branch or from
    time: all branches, or all times, would then silently look alike.
    Source: notes 002 and 003 (RoPE 2D); Heo et al. 2024, arXiv:2403.13298 (axial frequencies).
    """

    numbers: ClassVar = {"theta": THETA, "stride": Number()}
    for_branches = True

    def __init__(
        self, head_dim: int, branch_share: float = 0.5, theta: float = 10_000.0, stride: float = 1.0
    ) -> None:
        super().__init__()
        frequencies(head_dim, theta)  # refuses an odd head_dim at once
        if not 0 <= branch_share <= 1:
            raise BadInput(f"branch_share ({branch_share}) must lie between 0 and 1")
        pairs = head_dim // 2
        chosen = math.floor(branch_share * pairs + 0.5)  # not round(), which takes 1.5 and 2.5 both to 2
        if (branch_share > 0 and chosen == 0) or (branch_share < 1 and chosen == pairs):
            raise BadInput(
                f"branch_share ({branch_share}) of {pairs} pairs leaves none for "
                f"{'time' if chosen else 'the branch'}: choose another share, or a head of more channels"
            )
        self.branch_width = 2 * chosen
        self.theta, self.stride = float(theta), self.numbers["stride"].valid("stride", stride)

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        if positions.branch is None:
            raise BadInput("2-D RoPE needs positions.branch: which text each token belongs to")
        time_width = q.shape[-1] - self.branch_width
        branch = high_precision(positions.branch) * self.stride
        parts = [(branch, self.branch_width), (positions.time, time_width)]
        angle = torch.cat([angles(p, width, self.theta) for p, width in parts if width], dim=-1)
        return rotate_pairs(q, angle), rotate_pairs(k, angle)
