"""Codes that say which of several texts a token belongs to: an added vector for the branch, RoPE for time."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from babygpt.encodings.base import Encoding
from babygpt.encodings.learned import look_up, require_table
from babygpt.encodings.rotary import Rotary
from babygpt.errors import BadInput
from babygpt.positions import Positions


class BranchCode(Encoding):
    """Time by RoPE, the branch by a vector that is added to the token's; a subclass says which vector.

    head_dim  channels of a head, even
    Source: note 002 (its diagram of the architecture).
    """

    for_branches = True

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        self.rotary = Rotary(head_dim)

    def code(self, branch: Tensor) -> Tensor:
        """The vector of each branch: (...,) whole numbers from 0 -> (..., C)."""
        raise TypeError(f"{type(self).__name__} does not say which vector a branch gets")

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        if positions.branch is None:
            raise BadInput("a branch code needs positions.branch: which text each token belongs to")
        return x + self.code(positions.branch).to(x.dtype)

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        return self.rotary.transform_qk(q, k, positions)


class NoBranchCode(Rotary):
    """The other control: RoPE, so that nothing but the mask of attention tells branches apart.

    head_dim  channels of a head, even
    """

    for_branches = True


class LearnedBranches(BranchCode):
    """One trained vector for each branch, as segment embeddings are.

    head_dim      channels of a head, even
    n_embd        channels
    max_branches  rows of the table
    Source: note 002, question 5; Devlin et al. 2019, arXiv:1810.04805, section 3 (segment embeddings).
    """

    def __init__(self, head_dim: int, n_embd: int, max_branches: int = 8) -> None:
        super().__init__(head_dim)
        require_table("max_branches", max_branches, n_embd)
        self.table = nn.Parameter(0.02 * torch.randn(max_branches, n_embd))

    def code(self, branch: Tensor) -> Tensor:
        return look_up(self.table, branch)


class RandomBranches(BranchCode):
    """The control: vectors drawn once and never trained, as long as Fourier codes are.

    head_dim      channels of a head, even
    n_embd        channels
    max_branches  rows of the table
    """

    def __init__(self, head_dim: int, n_embd: int, max_branches: int = 8) -> None:
        super().__init__(head_dim)
        require_table("max_branches", max_branches, n_embd)
        self.register_buffer("table", torch.randn(max_branches, n_embd) * 0.5**0.5)

    def code(self, branch: Tensor) -> Tensor:
        return look_up(self.get_buffer("table"), branch)
