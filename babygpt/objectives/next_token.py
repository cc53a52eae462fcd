"""The objective of v1 to v5: predict the next token, at positions 0, 1, 2, ... or at random ones."""

from collections.abc import Iterator

import torch
from torch import Tensor

from babygpt.data.batches import consecutive_windows, cut, line_starts, require_window
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel, require_causal
from babygpt.objectives.objective import Batch, MeanObjective, cross_entropy, next_token_losses
from babygpt.positions import Positions

VALIDATION_SEED = 2**31  # no training uses it


class NextToken(MeanObjective):
    """Predict every token from those before it, in windows cut from a corpus.

    corpus      the text
    block_size  tokens in a window
    aligned     whether windows begin where a line begins, in training and validation, or anywhere; then
                validation reads the whole validation text
    Raises BadInput if either part of the corpus is too short for a window. `losses`, `loss` and `validate`
    refuse a model that is not causal.
    """

    def __init__(self, corpus: Corpus, block_size: int, aligned: bool = False) -> None:
        require_window(corpus.train, block_size)
        require_window(corpus.val, block_size)
        self.train, self.val, self.block_size = corpus.train, corpus.val, block_size
        self.starts = self.val_starts = None
        if aligned:
            newline = int(corpus.tokenizer.encode("\n"))
            self.starts = line_starts(self.train, newline, block_size + 1)
            self.val_starts = line_starts(self.val, newline, block_size + 1)

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        """Draw windows at random: (B, T) inputs and (B, T) targets."""
        n = len(self.train) - self.block_size if self.starts is None else len(self.starts)
        picks = torch.randint(n, (batch_size,), generator=generator)
        starts = picks if self.starts is None else self.starts[picks]
        window = cut(self.train, starts, self.block_size + 1)
        return window[:, :-1], window[:, 1:]

    def losses(self, model: LanguageModel, batch: Batch) -> Tensor:
        require_causal(model)
        return next_token_losses(model, batch)

    def loss(self, model: LanguageModel, batch: Batch) -> Tensor:
        """Return the mean loss of a batch, in nats per token: a scalar with a gradient."""
        return self.losses(model, batch).mean()  # every token is a target: nothing to count

    def val_batches(self) -> Iterator[Batch]:
        if self.val_starts is None:
            yield from consecutive_windows(self.val, self.block_size)
            return
        for starts in self.val_starts.split(64):
            window = cut(self.val, starts, self.block_size + 1)
            yield window[:, :-1], window[:, 1:]


def draw_positions(rows: int, length: int, longest: int, generator: torch.Generator) -> Tensor:
    """Draw positions for some texts: for each, `length` different ones out of `longest`, in order.

    returns  (rows, length)  in tokens
    Raises BadInput if `longest` is below `length`.
    """
    if length > longest:
        raise BadInput(f"longest ({longest}) must be at least {length}: no two tokens share a position")
    shuffled = torch.rand(rows, longest, generator=generator).argsort(dim=1)  # a permutation in each row
    return shuffled[:, :length].sort(dim=1).values


class RandomPositions(NextToken):
    """Predict the next token at random positions of a longer range, in order.

    The model meets far positions in training, although no text is long.

    longest  positions are drawn from 0 to longest - 1; the other arguments are those of `NextToken`
    Raises BadInput if longest is below block_size, and where `NextToken` does.
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
