"""Token shift: each token also carries the embedding of the token before it."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babygpt.encodings.base import LARGEST_WHOLE, Encoding
from babygpt.encodings.rotary import Rotary
from babygpt.errors import BadInput
from babygpt.positions import Positions


def token_before(x: Tensor, positions: Positions, back: int = 1) -> Tensor:
    """Return at each token the embedding of the token `back` positions before it, or 0 where there is none.

    x          (B, T, C)  embeddings
    positions  of these tokens; with branches, the token before is one of the same branch
    returns    (B, T, C)
    """
    T = x.shape[1]
    if positions.in_a_row:
        back = min(back, T)
        return F.pad(x[:, : T - back], (0, 0, back, 0))
    is_before = positions.time[..., :, None] - back == positions.time[..., None, :]  # (T, T) or (B, T, T)
    if positions.branch is not None:
        is_before = is_before & (positions.branch[..., :, None] == positions.branch[..., None, :])
    return is_before.to(x.dtype) @ x


class TokenShift(Encoding):
    """x + w * (embedding of the token before), with one trained w for each channel. They begin at 0.

    Alone it is NoPE with token shift. Before another base, as in `ShiftedRotary`, it shifts the tokens, and
    what that base adds to them is not shifted.

    n_embd  channels of an embedding
    back    positions between a token and the one that it carries; 0, the token itself, is a control with as
            many weights
    Raises BadInput if back is negative.
    Source: Peng et al. 2023, arXiv:2305.13048, section 3.1 (RWKV mixes each token with the one before).
    """

    sees_earlier = True

    def __init__(self, n_embd: int, back: int = 1) -> None:
        super().__init__()
        self.add_shift(n_embd, back)

    def add_shift(self, n_embd: int, back: int) -> None:
        """Add the weights; arguments as of the class. A subclass with another base calls it at the end."""
        if not 0 <= back <= LARGEST_WHOLE:
            raise BadInput(f"back ({back}) must be at least 0, because a token may not carry a later one")
        self.back, self.shift = back, nn.Parameter(torch.zeros(n_embd))

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        return super().embed(x + self.shift.to(x.dtype) * token_before(x, positions, self.back), positions)


class ShiftedRotary(TokenShift, Rotary):
    """RoPE with token shift.

    head_dim  channels of a head, even
    n_embd    channels of an embedding
    theta     base of the frequencies
    back      positions between a token and the one that it carries; 0 is the token itself
    """

    def __init__(self, head_dim: int, n_embd: int, theta: float = 10_000.0, back: int = 1) -> None:
        Rotary.__init__(self, head_dim, theta)
        self.add_shift(n_embd, back)
