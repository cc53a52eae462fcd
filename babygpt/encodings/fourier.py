"""v6: an added vector says which of several texts a token belongs to, and RoPE says where in the text.

v6 adds a sinusoid of the *branch*, the number of the text. Beside it are its controls: a learned vector, a
random one, and none.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from babygpt.encodings.base import THETA, Encoding, Number
from babygpt.encodings.learned import look_up, require_known
from babygpt.encodings.rotary import Rotary
from babygpt.encodings.sinusoidal import sinusoid
from babygpt.errors import BadInput
from babygpt.positions import Positions


class BranchCode(Encoding, ABC):
    """The base of all branch codes: RoPE for time, and for the branch a vector that a subclass computes.

    head_dim  channels of a head, even
    Source: note 002 (its diagram of the architecture).
    """

    for_branches = True

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        self.rotary = Rotary(head_dim)

    @abstractmethod
    def code(self, branch: Tensor) -> Tensor:
        """Return the vector of each branch: (...,) whole numbers from 0 -> (..., C)."""

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        if positions.branch is None:
            raise BadInput("a branch code needs positions.branch: which text each token belongs to")
        return x + self.code(positions.branch).to(x.dtype)

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        return self.rotary.transform_qk(q, k, positions)


def fourier(position: Tensor, width: int, theta: float = 10_000.0, band: int | None = None) -> Tensor:
    """Return sines and cosines of a branch position, the frequencies repeated after `band` channels.

    position  (...,)  branch positions: the branch's number times the stride
    width     channels, even
    theta     base of the frequencies
    band      channels after which the frequencies begin again, even, a divisor of width; None for width
    returns   (..., width)  float32
    Raises BadInput for a band that does not fit.
    Source: note 002, PE[pos, 2i] and PE[pos, 2i+1].
    """
    band = width if band is None else band
    if band < 2 or width % band:
        raise BadInput(f"band ({band}) must be even, and divide the width ({width})")
    code = sinusoid(position, band, theta)
    return code.repeat(*[1] * position.dim(), width // band)


class Fourier(BranchCode):
    """Branch b adds the sinusoid of position b * stride, and RoPE encodes time.

    head_dim       channels of a head, even
    n_embd         channels, even
    theta          base of the code's frequencies
    max_positions  rows of the note's table: positions from here on are refused
    stride         distance between neighbouring branches, in positions
    learnable      whether the table is trained; it begins as the sinusoid
    band           channels after which the frequencies begin again; None for n_embd. With the band of a
                   2-D RoPE the two codes have the same frequencies
    Raises BadInput for an odd width, a band that does not fit, or a stride below 1.
    Source: notes 002 and 003 (Fourier PE).
    """

    numbers: ClassVar = {"theta": THETA, "stride": Number(least=1, integer=True)}

    def __init__(
        self,
        head_dim: int,
        n_embd: int,
        theta: float = 10_000.0,
        max_positions: int = 32_768,
        stride: int = 128,
        learnable: bool = False,
        band: int | None = None,
    ) -> None:
        super().__init__(head_dim)
        self.n_embd, self.theta = n_embd, float(theta)
        self.stride = int(self.numbers["stride"].valid("stride", stride))
        self.table_rows, self.band = max_positions, band
        self.formula(torch.zeros(1))  # refuses a width or a band that does not fit at once
        self.table = nn.Parameter(self.formula(torch.arange(self.table_rows))) if learnable else None

    def require_number(self, name: str) -> None:
        super().require_number(name)
        if name == "theta" and self.table is not None:
            raise BadInput("theta made the table that is trained now: to steer it would change nothing")

    def require_steerable(self, name: str, value: float, branches: int = 2) -> None:
        super().require_steerable(name, value, branches)
        last = branches - 1
        if name == "stride" and value * last >= self.table_rows:
            most = f"max_positions ({self.table_rows})" + (f" / {last}" if last > 1 else "")
            raise BadInput(f"stride ({value:g}) must be below {most}: branch {last} would have no row")

    def formula(self, position: Tensor) -> Tensor:
        """Return the code at branch positions, before any training: (...,) -> (..., n_embd)."""
        return fourier(position, self.n_embd, self.theta, self.band)

    def code(self, branch: Tensor) -> Tensor:
        require_known(branch, self.table_rows, self.stride)
        position = branch * self.stride
        return self.formula(position) if self.table is None else look_up(self.table, position)


class NoBranchCode(Rotary):
    """A control: RoPE alone, so that only the attention mask tells branches apart.

    head_dim  channels of a head, even
    """

    for_branches = True


class LearnedBranches(BranchCode):
    """One trained vector for each branch, like segment embeddings.

    head_dim      channels of a head, even
    n_embd        channels
    max_branches  rows of the table
    Source: note 002, question 5; Devlin et al. 2019, arXiv:1810.04805, section 3 (segment embeddings).
    """

    numbers: ClassVar = {"table": Number()}
    table: Tensor

    def __init__(self, head_dim: int, n_embd: int, max_branches: int = 8) -> None:
        super().__init__(head_dim)
        self.table = self.draw_table(max_branches, n_embd)

    def draw_table(self, rows: int, width: int) -> Tensor:
        """Draw the first table: (rows, width), a parameter."""
        return nn.Parameter(0.02 * torch.randn(rows, width))

    def code(self, branch: Tensor) -> Tensor:
        return look_up(self.table, branch)


class RandomBranches(LearnedBranches):
    """A control: vectors that are drawn once and never trained; arguments as in `LearnedBranches`."""

    def draw_table(self, rows: int, width: int) -> Tensor:
        # Variance 1/2, the mean square of a sine, makes them as long as Fourier codes.
        return nn.Buffer(torch.randn(rows, width) * 0.5**0.5)
