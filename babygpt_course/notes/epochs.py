"""Branches in epochs and slices, every text once before any comes again: how note 002 trains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from babygpt.config import require_positive, require_seed, setting, settle_numbers
from babygpt.data.batches import cut
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.memory import require_memory
from babygpt.objectives import Branches


@dataclass(frozen=True)
class EpochConfig:
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
        settle_numbers(self)
        require_positive(self, "epochs", "batch_size", "branch_slice_count")
        if self.max_steps is not None:
            require_positive(self, "max_steps")

    @property
    def n_branches(self) -> tuple[int, int]:
        """The fewest and the most texts of a sample. Raises BadInput where the flags contradict."""
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


class BranchEpochs(Branches):
    """Branches that are read in order: every text once, shuffled, before any is read again.

    corpus      the text
    block_size  times in a window
    config      what is read, and in which portions
    seed        shuffles the texts and draws the numbers of branches
    Raises BadInput for what `Branches` refuses, or if a slice has too few texts for a sample.
    Source: note 002, its stages 1 to 3.
    """

    def __init__(self, corpus: Corpus, block_size: int, config: EpochConfig, seed: int = 0) -> None:
        require_seed(seed)
        require_memory(f"batches of {config.batch_size} texts", 8 * config.batch_size * block_size)
        by_samples = config.batch_by_samples
        super().__init__(corpus, block_size, config.n_branches, config.length, by_samples=by_samples)
        self.config = config
        starts = torch.arange(0, len(self.train) - self.length, self.length)
        slices, n = config.branch_slice_count, self.n_branches[1]
        if len(starts) // slices < n:
            raise BadInput(
                f"{len(starts)} texts in {slices} slices are too few for samples of {n} branches: "
                "take a longer corpus, shorter texts, fewer slices or fewer branches"
            )
        parts = starts.tensor_split(slices)
        self.slices = parts if config.branch_loop_all else parts[:1]
        self.texts_per_epoch, self.texts_read, self.seed = sum(map(len, self.slices)), 0, seed
        self.count_generator = torch.Generator().manual_seed(seed + 2)
        self.upcoming = self.shuffled_starts()

    @property
    def epochs_read(self) -> float:
        """How many epochs were read so far."""
        return self.texts_read / self.texts_per_epoch

    def place(self) -> dict[str, Any]:
        """Where it stands in the texts: how many were read, and what draws the numbers of branches."""
        return {"texts_read": self.texts_read, "counts": self.count_generator.get_state()}

    def seek(self, place: dict[str, Any]) -> None:
        """Go to where it stood. Raises BadInput, and stays, if it cannot have stood there."""
        read, counts = place.get("texts_read"), torch.Generator()
        most = self.config.epochs * self.texts_per_epoch + self.config.batch_size * self.n_branches[1]
        if type(read) is not int or not 0 <= read <= most:
            raise BadInput(f"texts_read ({read!r}) must be a whole number between 0 and {most}")
        try:
            counts.set_state(place["counts"])
        except (KeyError, TypeError, RuntimeError) as error:
            raise BadInput(f"the numbers of branches cannot be drawn from this state: {error!r}") from None
        self.texts_read, self.count_generator = read, counts
        epochs, texts = divmod(read, self.texts_per_epoch)
        self.upcoming = islice(self.shuffled_starts(epochs), texts, None)

    def shuffled_starts(self, epochs: int = 0) -> Iterator[int]:
        """Where the texts begin, in the order they are read, epoch after epoch without end.

        epochs  that were read before
        """
        generator = torch.Generator().manual_seed(self.seed + 1)
        for part in self.slices * epochs:
            torch.randperm(len(part), generator=generator)
        while True:
            for part in self.slices:
                yield from part[torch.randperm(len(part), generator=generator)].tolist()

    def texts(self, n: int, generator: torch.Generator) -> Tensor:
        """Read the next n texts: (n, length + 1)."""
        self.texts_read += n
        return cut(self.train, torch.tensor(list(islice(self.upcoming, n))), self.length + 1)

    def counts(self, batch_size: int, generator: torch.Generator) -> Tensor:
        """How many texts each sample has, drawn from a generator of its own, so that `steps` foresees it."""
        return super().counts(batch_size, self.count_generator)

    def steps(self) -> int:
        """Batches until every text was read `epochs` times, at most max_steps; the last one may read on."""
        foresight = torch.Generator()
        foresight.set_state(self.count_generator.get_state())
        left, steps = self.config.epochs * self.texts_per_epoch - self.texts_read, 0
        while left > 0 and (self.config.max_steps is None or steps < self.config.max_steps):
            left -= int(super().counts(self.config.batch_size, foresight).sum())
            steps += 1
        return steps
