"""The objective of v6: predict the next token of each of several texts in one sequence."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from babygpt.data.batches import (
    BranchBatch,
    branch_batches,
    collate,
    cut,
    interleave,
    require_branches,
    require_window,
)
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.memory import BatchShape
from babygpt.models.base import LanguageModel
from babygpt.objectives.base import Batch, MeanObjective, cross_entropy
from babygpt.positions import Positions


def branch_losses(model: LanguageModel, batch: Batch) -> Tensor:
    """Loss of each target in its own branch, in nats: a BranchBatch -> (B, T), 0 where there is none."""
    tokens, targets, time, branch = batch
    return cross_entropy(model(tokens, Positions(time, branch)), targets)


class Branches(MeanObjective):
    """Predict, in each of several parallel texts, every token from what stands at earlier times.

    corpus      the text
    block_size  times in a window
    n_branches  the fewest and the most texts of a sample, drawn anew for each batch
    length      tokens of a text; it begins at a random time of the window. None for three quarters of it
    numbers     the texts of a sample get different branch numbers from 0 to numbers - 1, drawn anew; None
                for 0, 1, 2, ... in order
    by_samples  whether a batch counts samples, each with its own number of texts and the shorter ones
                filled up, or texts, which share one number and fill nothing up
    Raises ValueError for fewer than 1 branch, texts longer than the window or than the corpus.
    Source: note 002, its stages 1 to 3.
    """

    def __init__(
        self,
        corpus: Corpus,
        block_size: int,
        n_branches: tuple[int, int] = (1, 8),
        length: int | None = None,
        numbers: int | None = None,
        by_samples: bool = False,
    ) -> None:
        self.length = block_size * 3 // 4 if length is None else length
        require_branches(*n_branches, self.length, block_size)
        if numbers is not None and numbers < n_branches[1]:
            raise BadInput(f"{numbers} numbers are too few for {n_branches[1]} branches")
        require_window(corpus.train, self.length)
        require_window(corpus.val, self.length)
        if (whole := (len(corpus.val) - 1) // self.length) < n_branches[1]:  # before training, not after
            raise BadInput(
                f"the validation text makes {whole} texts of {self.length} tokens: "
                f"too few for {n_branches[1]} branches"
            )
        self.train, self.val, self.block_size = corpus.train, corpus.val, block_size
        self.n_branches, self.numbers, self.by_samples = n_branches, numbers, by_samples

    def texts(self, n: int, generator: torch.Generator) -> Tensor:
        """Draw n texts of the training part: (n, length + 1)."""
        starts = torch.randint(len(self.train) - self.length, (n,), generator=generator)
        return cut(self.train, starts, self.length + 1)

    def counts(self, batch_size: int, generator: torch.Generator) -> Tensor:
        """Draw how many texts each sample of a batch has: (samples,)."""
        low, high = self.n_branches
        if self.by_samples:
            return torch.randint(low, high + 1, (batch_size,), generator=generator)
        n = int(torch.randint(low, high + 1, (1,), generator=generator))
        return torch.full((max(1, batch_size // n),), n)

    def largest(self, batch_size: int) -> BatchShape:
        most = self.n_branches[1]
        rows = batch_size if self.by_samples else max(1, batch_size // most)
        return BatchShape(rows, most * self.length, own_positions=True)

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        """Draw texts, and interleave them: a BranchBatch."""
        counts = self.counts(batch_size, generator)
        texts = self.texts(int(counts.sum()), generator)
        offsets = torch.randint(self.block_size - self.length + 1, (len(texts),), generator=generator)
        samples = zip(texts.split(counts.tolist()), offsets.split(counts.tolist()), strict=True)
        return collate(
            [
                interleave(list(some), starts.tolist(), self.draw_numbers(len(some), generator))
                for some, starts in samples
            ]
        )

    def draw_numbers(self, n: int, generator: torch.Generator) -> list[int] | None:
        """Draw the branch numbers of a sample's n texts, or None for 0 to n - 1."""
        if self.numbers is None:
            return None
        return torch.randperm(self.numbers, generator=generator)[:n].tolist()

    def losses(self, model: LanguageModel, batch: Batch) -> Tensor:
        return branch_losses(model, batch)

    def val_batches(self) -> Iterator[BranchBatch]:
        """The validation text with as many branches as there may be, but for what makes no whole sample."""
        whole = (len(self.val) - 1) // self.length * self.length
        texts = cut(self.val, torch.arange(0, whole, self.length), self.length + 1)
        return branch_batches(texts, self.n_branches[1], self.block_size, torch.Generator().manual_seed(0))
