"""The cache of keys and values, which also knows the positions of what it holds and of what follows."""

from collections.abc import Callable

import torch
from torch import Tensor

from babygpt.errors import BadInput
from babygpt.positions import Positions, Window


class KVCache:
    """Keys and values of the tokens already read, so that each new token costs one forward step.

    A model stores the keys and values of new tokens layer by layer, and counts these tokens only when it has
    computed their logits. So a call that is refused leaves the cache as it was. An encoding that reads
    earlier tokens has their embeddings here.

    capacity   tokens it can hold; each buffer is made when its first tokens arrive
    length     tokens it holds
    positions  of these tokens, or None at first
    rows       texts of the batch, or None at first
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.length = 0
        self.positions: Positions | None = None
        self.rows: int | None = None
        self.buffers: dict[object, Tensor] = {}
        self.matrices: dict[object, Tensor] = {}

    def next_positions(self, n: int, device: torch.device | None = None) -> Positions:
        """Return the positions of n tokens that follow the last time in the cache, or from 0 if it is empty.

        Raises BadInput if it holds several branches: each continues at a time of its own.
        """
        held = self.positions
        if held is None:
            return Window(self.capacity, device).part(0, n)
        if held.window is not None:
            return held.window.part(self.length, n)
        if held.branch is not None:
            raise BadInput("the cache holds texts of several branches: give the positions of what follows")
        if held.start is not None:  # known without reading the tensor, which on a GPU would mean waiting
            return Positions.arange(n, held.start + len(held), device)
        last = held.time.amax(dim=-1, keepdim=True)  # (1,) or (B, 1)
        return Positions(last + 1 + torch.arange(n, device=last.device))

    def require_room(self, rows: int, n: int) -> None:
        """Raise BadInput if n more tokens of each text do not fit, or these are another number of texts."""
        if self.length + n > self.capacity:
            raise BadInput(f"the cache holds {self.length} of {self.capacity} tokens; {n} more do not fit")
        if self.rows not in (None, rows):
            raise BadInput(f"the cache holds {self.rows} texts; {rows} cannot be continued with it")

    def after(self, new: Positions) -> Positions:
        """Return the positions of all tokens, those held and then the new ones. Change nothing."""
        return new if self.positions is None else self.positions.concat(new)

    def append(self, owner: object, new: Tensor) -> Tensor:
        """Store what `owner` makes of the new tokens. Return that of all tokens: (..., length + T, channels).

        owner  tells apart what is kept, such as a layer's keys from its values
        new    (..., T, channels)
        """
        T = new.shape[-2]
        if owner not in self.buffers or not self.length:
            self.buffers[owner] = new.new_empty(*new.shape[:-2], self.capacity, new.shape[-1])
        self.buffers[owner].narrow(-2, self.length, T).copy_(new)
        return self.buffers[owner].narrow(-2, 0, self.length + T)

    def once(self, layer: object, make: Callable[[], Tensor]) -> Tensor:
        """Return what a layer makes of its weights, made at the first call: the cache is of these weights."""
        if layer not in self.matrices:
            self.matrices[layer] = make()
        return self.matrices[layer]

    def hold(self, positions: Positions, rows: int) -> None:
        """Count the new tokens, now that every layer has stored them; `positions` are those of all tokens."""
        self.length, self.positions, self.rows = len(positions), positions, rows
