"""Tables of numbers that depend on positions alone, kept from layer to layer and from step to step."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from babygpt.positions import Positions

BLOCK = 256  # positions: a text that grows token by token needs new rows once in this many steps


class PositionTable:
    """Rows of a function of positions, for positions next to each other.

    A model asks for the same rows in every layer, and while it writes for one more row with each token.
    """

    def __init__(self) -> None:
        self.block: tuple[object, int, Tensor] | None = None  # key, first position, rows

    def rows(self, positions: Positions, function: Callable[[Tensor], Tensor], key: object) -> Tensor:
        """Return the function at positions that follow each other, from the table where it has them.

        positions  T, in a row
        function   maps (N,) positions to (N, ...)
        key        all that the function depends on: if it changes, all rows are computed anew
        returns    (T, ...)
        """
        first = positions.first
        last = first + len(positions)
        block = self.block  # read once, because another thread may replace it
        if block is None or block[0] != key or first < block[1] or last > block[1] + len(block[2]):
            block = key, *self.computed(first, last, positions.device, function)
            if not block[2].requires_grad:  # a gradient belongs to one step
                self.block = block
        return block[2][first - block[1] : last - block[1]]

    @staticmethod
    def computed(
        first: int, last: int, device: torch.device, function: Callable[[Tensor], Tensor]
    ) -> tuple[int, Tensor]:
        """Return the first position of whole blocks around some positions, and the rows of these blocks."""
        begin, end = first // BLOCK * BLOCK, -(-last // BLOCK) * BLOCK
        # The rows outlive this call, so they must be tensors that a later training step can use, too.
        with torch.inference_mode(False), torch.enable_grad():
            return begin, function(torch.arange(begin, end, device=device))


def versions(module: nn.Module) -> tuple[object, ...]:
    """Return what changes whenever one of a module's own tensors is replaced, or changed in place."""
    tensors = (*module._parameters.values(), *module._buffers.values())
    return tuple((id(t), t.is_inference() or t._version) for t in tensors if t is not None)
