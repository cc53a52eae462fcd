"""A corpus read from beginning to end, in epochs and slices: how note 002 trains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from babygpt.config import require_positive, setting
from babygpt.data.batches import cut
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.memory import require_room
from babygpt.objectives import Branches


@dataclass(frozen=True)
class ReadConfig:
    """The flags of note 002 that say what is read; texts are windows of the training part, side by side."""

    epochs: int = setting(1, "how often each text is read; every epoch shuffles them anew")
    batch_size: int = setting(4, "texts in a batch, or samples with --batch-by-samples")
    batch_by_samples: bool = setting(
        False, "let a batch count samples, each with its own number of texts, and not texts"
    )
    branches_per_sample: int | None = setting(None, "texts in each sample: sets both numbers below")
    min_branches_per_sample: int | None = setting(None, "fewest texts in a sample  [default: 1]")
    max_branches_per_sample: int | None = setting(None, "most texts in a sample  [default: the fewest]")
    branch_slice_count: int = setting(1, "cut the texts into so many slices; only the first is read")
    branch_loop_all: bool = setting(False, "read all slices in turn, each for its share of every epoch")
    length: int | None = setting(None, "tokens of a text  [default: three quarters of the window]")
    max_steps: int | None = setting(None, "stop after so many steps, the learning rate falling in time")

    def __post_init__(self) -> None:
        require_positive(self, "epochs", "batch_size", "branch_slice_count")
        if self.max_steps is not None:
            require_positive(self, "max_steps")

    @property
    def n_branches(self) -> tuple[int, int]:
        """The fewest and the most texts of a sample. Raises ValueError where the flags contradict."""
        both, low, high = (
            self.branches_per_sample,
            self.min_branches_per_sample,
            self.max_branches_per_sample,
        )
        if both is not None and {low, high} - {None, both}:
            raise BadInput(
                f"branches_per_sample ({both}) sets the fewest and the most texts, and "
                f"min_branches_per_sample ({low}) or max_branches_per_sample ({high}) says otherwise"
            )
        fewest = next(n for n in (both, low, 1) if n is not None)
        return fewest, next(n for n in (both, high, fewest) if n is not None)


class Reading(Branches):
    """Branches that are read in order: every text once, shuffled, before any is read again.

    corpus      the text
    block_size  times in a window
    config      what is read, and in which portions
    seed        shuffles the texts and draws the numbers of branches
    Raises ValueError for what `Branches` refuses, or if a slice has too few texts for a sample.
    Source: note 002, its stages 1 to 3.
    """

    def __init__(self, corpus: Corpus, block_size: int, config: ReadConfig, seed: int = 0) -> None:
        require_room(f"batches of {config.batch_size} texts", 8 * config.batch_size * block_size)
        by_samples = config.batch_by_samples
        super().__init__(corpus, block_size, config.n_branches, config.length, by_samples=by_samples)
        self.config = config
        starts = torch.arange(0, len(self.train) - self.length, self.length)
        require_texts(len(starts), config.branch_slice_count, self.n_branches[1])
        parts = starts.tensor_split(config.branch_slice_count)
        self.slices = parts if config.branch_loop_all else parts[:1]
        self.epoch, self.done = sum(map(len, self.slices)), 0  # texts: in an epoch, and read so far
        shuffling, self.counting = (torch.Generator().manual_seed(seed + i) for i in (1, 2))
        self.ahead = self.order(shuffling)

    def order(self, generator: torch.Generator) -> Iterator[int]:
        """Where the texts begin, in the order they are read, epoch after epoch without end."""
        while True:
            for part in self.slices:
                yield from part[torch.randperm(len(part), generator=generator)].tolist()

    def texts(self, n: int, generator: torch.Generator) -> Tensor:
        """Read the next n texts: (n, length + 1)."""
        self.done += n
        return cut(self.train, torch.tensor(list(islice(self.ahead, n))), self.length + 1)

    def counts(self, batch_size: int, generator: torch.Generator) -> Tensor:
        """How many texts each sample has, drawn from a generator of its own, so that `steps` foresees it."""
        return super().counts(batch_size, self.counting)

    def steps(self) -> int:
        """Batches until every text was read `epochs` times, at most max_steps; the last one may read on."""
        foresight = torch.Generator()
        foresight.set_state(self.counting.get_state())
        left, steps, most = self.config.epochs * self.epoch - self.done, 0, self.config.max_steps
        while left > 0 and (most is None or steps < most):
            left -= int(super().counts(self.config.batch_size, foresight).sum())
            steps += 1
        return steps


def require_texts(there: int, slices: int, n: int) -> None:
    """Raise a ValueError unless every slice has a text for each branch of a sample."""
    if there // slices < n:
        raise BadInput(
            f"{there} texts in {slices} slices are too few for samples of {n} branches: "
            "take a longer corpus, shorter texts, fewer slices or fewer branches"
        )
