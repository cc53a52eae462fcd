"""The objective of v1 to v5 at random positions: far ones are met in training, though no text is long."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.models.base import LanguageModel, require_causal
from babygpt.objectives.base import Batch, cross_entropy
from babygpt.objectives.next_token import NextToken
from babygpt.positions import Positions

VALIDATION_SEED = 2**31  # no training uses it


def draw_positions(rows: int, length: int, longest: int, generator: torch.Generator) -> Tensor:
    """Positions of some texts: for each, `length` different ones out of `longest`, in order.

    returns  (rows, length)  in tokens
    Raises ValueError if there are not as many.
    """
    if length > longest:
        raise BadInput(f"longest ({longest}) must be at least {length}: no two tokens share a position")
    return torch.rand(rows, longest, generator=generator).argsort(dim=1)[:, :length].sort(dim=1).values


class RandomPositions(NextToken):
    """Predict every token from those before it, which stand at random positions of a longer range, in order.

    longest  positions are drawn from 0 to longest - 1; the other arguments are those of `NextToken`
    Raises ValueError if longest is below block_size, and as `NextToken` does.
    Source: Ruoss et al. 2023, arXiv:2305.16843.
    """

    def __init__(self, corpus: Corpus, block_size: int, longest: int, aligned: bool = False) -> None:
        super().__init__(corpus, block_size, aligned)
        if longest < block_size:
            raise BadInput(f"longest ({longest}) must be at least block_size ({block_size})")
        self.longest = longest

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        """Draw windows at random: (B, T) inputs, (B, T) targets, and (B, T) the inputs' positions."""
        inputs, targets = super().batch(batch_size, generator)
        return inputs, targets, draw_positions(batch_size, self.block_size, self.longest, generator)

    def losses(self, model: LanguageModel, batch: Batch) -> Tensor:
        require_causal(model)
        inputs, targets, time = batch
        return cross_entropy(model(inputs, Positions(time)), targets)

    def val_batches(self) -> Iterator[Batch]:
        """The windows of `NextToken`, at random positions that are the same in every call."""
        generator = torch.Generator().manual_seed(VALIDATION_SEED)
        for inputs, targets in super().val_batches():
            rows, length = inputs.shape
            yield inputs, targets, draw_positions(rows, length, self.longest, generator)
