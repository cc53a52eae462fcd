"""What a measured promise is, and what all that measure one begin with."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from babygpt.models.base import LanguageModel
from babygpt.objectives.diffusion import mask_of
from babygpt.places import Places


@dataclass(frozen=True)
class Verdict:
    """Whether a promise holds, and the number that says so.

    promise  in words
    value    what was measured
    limit    the promise holds if value is at most this
    """

    promise: str
    value: float
    limit: float

    @property
    def holds(self) -> bool:
        return self.value <= self.limit

    def __str__(self) -> str:
        return f"{'✓' if self.holds else '✗'} {self.promise}"


def random_heads(n_head: int, head_dim: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Eight queries and eight keys of every head: (8, H, 1, D) each, float64."""
    draw = torch.Generator().manual_seed(seed)
    q, k = (torch.randn(8, n_head, 1, head_dim, generator=draw, dtype=torch.float64) for _ in range(2))
    return q, k


def row(model: LanguageModel, idx: Tensor, places: Places) -> Tensor:
    """Logits of one sequence: (T,) token ids -> (T, vocab_size)."""
    return model(idx[None], places)[0]


def some(places: Places, at: Tensor) -> Places:
    """The places of some tokens of one sequence: those at these indices, or where a mask is true."""
    branch, masked = (None if known is None else known[at] for known in (places.branch, places.masked))
    return Places(places.time[at], branch, masked)


def count(n: int, start: int = 0, device: torch.device | None = None) -> Places:
    """Places of n tokens in a row, none of them MASK: what any encoding can be asked about."""
    time = Places.count(n, start, device).time
    return Places(time, masked=torch.zeros_like(time, dtype=torch.bool))


def read(model: LanguageModel, idx: Tensor) -> Tensor:
    """Logits of a text that begins at position 0: (T,) token ids -> (T, vocab_size).

    The last of the vocabulary is taken for MASK, as models that fill in have it; no others listen.
    """
    places = Places(Places.count(len(idx), device=idx.device).time, masked=idx == mask_of(model))
    return row(model, idx, places)
