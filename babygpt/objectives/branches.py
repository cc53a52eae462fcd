"""The objective of v6: predict the next token of each of several texts in one sequence."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from babygpt.data.batches import (
    IGNORED,
    Columns,
    cut,
    in_company,
    require_branches,
    require_window,
    stack,
    weave,
)
from babygpt.data.corpus import Corpus
from babygpt.device import mixed_precision
from babygpt.errors import BadInput
from babygpt.models.base import LanguageModel
from babygpt.objectives.base import Batch, cross_entropy, targets_of


def branch_losses(model: LanguageModel, columns: Columns) -> Tensor:
    """Negative log-likelihood of each target in its own branch, in nats: (B, T), 0 where there is none."""
    return cross_entropy(model(columns.tokens, columns.positions), columns.targets)


@torch.inference_mode()
def mean_branch_loss(model: LanguageModel, batches: Iterable[Columns]) -> float:
    """Mean loss over all targets of some columnar batches, in nats per token."""
    device = next(model.parameters()).device
    total, count = 0.0, 0
    for batch in batches:
        with mixed_precision(device):
            losses = branch_losses(model, Columns(*(part.to(device) for part in batch)))
        total, count = total + losses.sum().item(), count + int((batch.targets != IGNORED).sum())
    return total / count


class Branches:
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

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        """Draw texts, and weave them into samples."""
        counts = self.counts(batch_size, generator)
        texts = self.texts(int(counts.sum()), generator)
        offsets = torch.randint(self.block_size - self.length + 1, (len(texts),), generator=generator)
        samples = zip(texts.split(counts.tolist()), offsets.split(counts.tolist()), strict=True)
        return stack(
            [
                weave(list(some), starts.tolist(), self.draw_numbers(len(some), generator))
                for some, starts in samples
            ]
        )

    def draw_numbers(self, n: int, generator: torch.Generator) -> list[int] | None:
        """The branch numbers of a sample's n texts, or None for 0 to n - 1."""
        if self.numbers is None:
            return None
        return torch.randperm(self.numbers, generator=generator)[:n].tolist()

    def loss(self, model: LanguageModel, batch: Batch) -> Tensor:
        """Mean loss of a batch, in nats per token: a scalar with a gradient."""
        columns = Columns(*batch)
        return branch_losses(model, columns).sum() / (columns.targets != IGNORED).sum()

    def count(self, batch: Batch) -> int:
        """Targets of a batch."""
        return targets_of(batch)

    def validate(self, model: LanguageModel) -> float:
        """Loss on the validation text with as many branches as there may be, in nats per token.

        All of it but its last, shorter text, and those that make no whole sample.
        """
        whole = (len(self.val) - 1) // self.length * self.length
        starts = torch.arange(0, whole, self.length)
        n, draw = self.n_branches[1], torch.Generator().manual_seed(0)
        return mean_branch_loss(
            model, in_company(cut(self.val, starts, self.length + 1), n, self.block_size, draw)
        )
