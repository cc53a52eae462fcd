"""Objective of v6: predict the next token of several texts in one sequence."""

from collections.abc import Iterator

import torch
from torch import Tensor

from babygpt.config import check_arguments, require_countable
from babygpt.data import batches
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt.objectives.objective import Batch, Objective, cross_entropy
from babygpt.positions import Positions


def branch_losses(model: LanguageModel, batch: Batch) -> Tensor:
    """Return the loss of each target in its own branch, in nats: (B, T), 0 where there is no target."""
    tokens, targets, time, branch = batch
    return cross_entropy(model(tokens, Positions(time, branch)), targets)


class Branches(Objective):
    """Objective: predict every token of several parallel texts from the tokens at earlier times.

    corpus      the text
    block_size  times in a window
    n_branches  the fewest and the most texts of a sample, drawn anew for each batch
    length      tokens of a text, which begins at a random time of the window; None for 3/4 of the window
    numbers     branch numbers are drawn from 0 to numbers - 1, all different; None for 0, 1, 2, ...
    by_samples  whether batch_size counts samples, each with its own number of texts, the shorter ones padded;
                or texts, so that all samples have equally many and none is padded
    Raises BadInput for fewer than 1 branch, and for texts longer than the window or than the corpus.
    Source: note 002, its stages 1 to 3.
    """

    @check_arguments
    def __init__(
        self,
        corpus: Corpus,
        block_size: int,
        n_branches: tuple[int, int] = (1, 8),
        length: int | None = None,
        numbers: int | None = None,
        by_samples: bool = False,
    ) -> None:
        require_countable("block_size", block_size)
        self.length = max(1, block_size * 3 // 4) if length is None else length
        batches.require_branches(*n_branches, self.length, block_size)
        if numbers is not None and numbers < n_branches[1]:
            raise BadInput(f"{numbers} numbers are too few for {n_branches[1]} branches")
        corpus.require_tokens(self.length + 1, f"a text of {self.length} tokens")
        # Without this check, a validation text that is too short would stop a run after its training.
        n_val_texts = (len(corpus.val) - 1) // self.length
        if n_val_texts < n_branches[1]:
            raise BadInput(
                f"the validation text makes {n_val_texts} texts of {self.length} tokens: "
                f"too few for {n_branches[1]} branches"
            )
        self.train, self.val, self.block_size = corpus.train, corpus.val, block_size
        self.n_branches, self.numbers, self.by_samples = n_branches, numbers, by_samples

    def texts(self, n: int, generator: torch.Generator) -> Tensor:
        """Draw n texts of the training part: (n, length + 1)."""
        starts = torch.randint(len(self.train) - self.length, (n,), generator=generator)
        return batches.cut(self.train, starts, self.length + 1)

    def counts(self, batch_size: int, generator: torch.Generator) -> Tensor:
        """Draw the number of texts of each sample of a batch: (samples,)."""
        low, high = self.n_branches
        if self.by_samples:
            return torch.randint(low, high + 1, (batch_size,), generator=generator)
        n = int(torch.randint(low, high + 1, (1,), generator=generator))
        return torch.full((max(1, batch_size // n),), n)

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        """Draw texts and interleave them: a BranchBatch."""
        counts = self.counts(batch_size, generator)
        texts = self.texts(int(counts.sum()), generator)
        offsets = torch.randint(self.block_size - self.length + 1, (len(texts),), generator=generator)
        samples = []
        groups = zip(texts.split(counts.tolist()), offsets.split(counts.tolist()), strict=True)
        for group, starts in groups:
            numbers = None
            if self.numbers is not None:
                numbers = torch.randperm(self.numbers, generator=generator)[: len(group)].tolist()
            samples.append(batches.interleave(list(group), starts.tolist(), numbers))
        return batches.collate(samples)

    def losses(self, model: LanguageModel, batch: Batch) -> Tensor:
        return branch_losses(model, batch)

    def val_batches(self) -> Iterator[batches.BranchBatch]:
        """Return the validation text in samples of the most branches, without an incomplete last sample."""
        n_whole = (len(self.val) - 1) // self.length * self.length  # tokens that fill whole texts
        texts = batches.cut(self.val, torch.arange(0, n_whole, self.length), self.length + 1)
        draw = torch.Generator().manual_seed(0)
        return batches.branch_batches(texts, self.n_branches[1], self.block_size, draw)
