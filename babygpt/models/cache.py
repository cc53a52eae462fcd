"""Keys and values of the tokens already read, so that each new token costs one forward step."""

from __future__ import annotations

from torch import Tensor

from babygpt.errors import BadInput
from babygpt.positions import Positions


class KVCache:
    """Room for the keys and values of `capacity` tokens in every attention layer.

    capacity  tokens it can hold; the buffers are made when the first keys arrive
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise BadInput(f"capacity ({capacity}) must be at least 1 token")
        self.capacity = capacity
        self.length = 0
        self.positions: Positions | None = None
        self.buffers: dict[object, tuple[Tensor, Tensor]] = {}

    def extend(self, positions: Positions) -> Positions:
        """Make room for tokens at `positions`; returns the places of all tokens held, old and new.

        Raises ValueError if they do not fit.
        """
        if self.length + len(positions) > self.capacity:
            raise BadInput(
                f"the cache holds {self.length} of {self.capacity} tokens; {len(positions)} more do not fit"
            )
        self.length += len(positions)
        self.positions = positions if self.positions is None else self.positions.then(positions)
        return self.positions

    def append(self, layer: object, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Store one layer's new keys and values; returns all of them, (B, H, length, ...) each."""
        if layer not in self.buffers:
            B, H = k.shape[:2]
            self.buffers[layer] = (
                k.new_empty(B, H, self.capacity, k.shape[-1]),  # some encodings give k more channels than v
                v.new_empty(B, H, self.capacity, v.shape[-1]),
            )
        start = self.length - k.shape[2]
        keys, values = self.buffers[layer]
        keys[:, :, start : self.length] = k
        values[:, :, start : self.length] = v
        return keys[:, :, : self.length], values[:, :, : self.length]
