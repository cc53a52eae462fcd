"""Where each token stands."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Places:
    """What an encoding may know of a token besides which token it is.

    time      (T,) or (B, T)  position in the text, in tokens, counted from 0
    branch    (T,) or (B, T)  which of several parallel texts it belongs to, or None
    masked    (B, T)          whether it is the MASK token, or None
    """

    time: Tensor
    branch: Tensor | None = None
    masked: Tensor | None = None

    @classmethod
    def count(cls, n: int, start: int = 0, device: torch.device | str | None = None) -> Places:
        """Places of n tokens in a row, the first at position `start`."""
        return cls(torch.arange(start, start + n, device=device))

    def then(self, more: Places) -> Places:
        """These places followed by others, which know of branch and masked if these do."""

        def join(one: Tensor | None, other: Tensor | None) -> Tensor | None:
            return None if one is None or other is None else torch.cat([one, other], dim=-1)

        time = torch.cat([self.time, more.time], dim=-1)
        return Places(time, join(self.branch, more.branch), join(self.masked, more.masked))

    def __len__(self) -> int:
        return self.time.shape[-1]

    @property
    def furthest(self) -> int:
        """The largest position, in tokens."""
        return int(self.time.max())
