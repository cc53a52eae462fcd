"""The objective of v1 to v5: predict the next token."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from babygpt.data.batches import consecutive_windows, cut, line_starts, require_window
from babygpt.data.corpus import Corpus
from babygpt.models.base import LanguageModel, require_causal
from babygpt.objectives.base import Batch, MeanObjective, next_token_losses


class NextToken(MeanObjective):
    """Predict every token from those before it, in windows cut from a corpus.

    corpus      the text
    block_size  tokens in a window
    aligned     whether windows begin where a line begins, or anywhere; validation takes the whole
                validation text, or its lines' beginnings if aligned
    Raises ValueError if either part of the corpus is too short for a window; `losses`, `loss` and `validate`
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
        """Mean loss of a batch, in nats per token: a scalar with a gradient."""
        return self.losses(model, batch).mean()  # every token is a target: nothing to count

    def val_batches(self) -> Iterator[Batch]:
        if self.val_starts is None:
            yield from consecutive_windows(self.val, self.block_size)
            return
        for starts in self.val_starts.split(64):
            window = cut(self.val, starts, self.block_size + 1)
            yield window[:, :-1], window[:, 1:]
