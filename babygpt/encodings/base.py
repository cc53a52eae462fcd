"""The questions that the body of a model asks its encoding. Answered with "nothing", they make NoPE."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babygpt.places import Places


def norm(x: Tensor) -> Tensor:
    """RMSNorm without parameters, over the last axis: the body's, and that of encodings which norm again."""
    return F.rms_norm(x, (x.shape[-1],))


LARGEST = 1e30  # float32 ends at 3e38, and such a number is still to be multiplied


def require_usable(name: str, value: float) -> None:
    """Raise a ValueError unless a number is finite, and not so large that a product with it would not be."""
    if not abs(value) <= LARGEST:  # refuses nan too
        raise ValueError(f"{name} ({value}) must be a finite number, at most {LARGEST:g} in size")


class Encoding(nn.Module):
    """No position encoding (NoPE), and the base of every other encoding.

    A subclass overrides the one question that it has an answer to. `max_positions` is the number of
    positions that it knows, or None if it can be asked about any.

    Source: NoPE after Kazemnejad et al. 2023, arXiv:2305.19466.
    """

    max_positions: int | None = None

    def embed(self, x: Tensor, places: Places) -> Tensor:
        """Add to the token embeddings: (B, T, C) -> (B, T, C)."""
        return x

    def multiply(self, q: Tensor, k: Tensor, places: Places) -> tuple[Tensor, Tensor]:
        """Change queries and keys before they meet: (B, H, T, D) each, both at `places`."""
        return q, k

    def bias(self, queries: Places, keys: Places) -> Tensor | None:
        """Add to the scores: None, or (H or 1, Tq, Tk), with B before it where places have a B."""
        return None

    def require_number(self, name: str) -> None:
        """Raise a ValueError unless `name` is one of the encoding's numbers, such as theta."""
        if not isinstance(getattr(self, name, None), float | Tensor):
            raise ValueError(f"{type(self).__name__} has no number called {name!r} to steer")

    def steer(self, name: str, value: float) -> None:
        """Set one of the encoding's numbers between two steps of training.

        name   an attribute that is a number, or a parameter or buffer (all of it gets the value)
        value  finite
        Raises ValueError if there is no such number, or value is not finite, or as good as infinite.
        """
        self.require_number(name)
        require_usable(name, value)
        have = getattr(self, name)
        if isinstance(have, Tensor):
            with torch.no_grad():
                have.fill_(value)
        else:
            setattr(self, name, float(value))
