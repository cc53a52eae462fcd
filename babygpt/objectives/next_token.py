"""The objective of v1 to v5: predict the next token."""

from __future__ import annotations

import torch
from torch import Tensor

from babygpt.data.batches import cut, line_starts, require_window, whole_split
from babygpt.data.corpus import Corpus
from babygpt.models.base import LanguageModel, require_causal
from babygpt.objectives.base import Batch, cross_entropy, mean_loss


class NextToken:
    """Predict every token from those before it, in windows cut from a corpus.

    corpus      the text
    block_size  tokens in a window
    aligned     whether windows begin where a line begins, or anywhere
    Raises ValueError if either part of the corpus is too short for a window; `loss` and `validate` refuse a
    model that is not causal.
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

    def loss(self, model: LanguageModel, batch: Batch) -> Tensor:
        """Mean loss of a batch, in nats per token: a scalar with a gradient."""
        require_causal(model)
        x, y = batch
        return cross_entropy(model(x), y).mean()

    def count(self, batch: Batch) -> int:
        """Targets of a batch."""
        return batch[1].numel()

    def validate(self, model: LanguageModel) -> float:
        """Loss on the whole validation text, in nats per token; if aligned, on its lines' beginnings."""
        require_causal(model)
        if self.val_starts is None:
            return mean_loss(model, whole_split(self.val, self.block_size))
        windows = (cut(self.val, s, self.block_size + 1) for s in self.val_starts.split(64))
        return mean_loss(model, ((w[:, :-1], w[:, 1:]) for w in windows))
