"""What a measured promise is, and what all that measure one begin with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from babygpt.models.base import LanguageModel
from babygpt.objectives.diffusion import mask_of
from babygpt.positions import Positions
from babygpt.tables import MARKS, Table


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


def promises(verdicts: Iterable[Verdict]) -> Table:
    """Which promises hold, with what was measured and what was allowed."""
    rows = [
        (MARKS["holds" if v.holds else "fails"], v.promise, f"{v.value:.1e}", f"{v.limit:.0e}")
        for v in verdicts
    ]
    return Table(("", "promise", "measured", "allowed"), rows, stable=2)


def random_heads(n_head: int, head_dim: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Eight queries and eight keys of every head: (8, H, 1, D) each, float64."""
    draw = torch.Generator().manual_seed(seed)
    q, k = (torch.randn(8, n_head, 1, head_dim, generator=draw, dtype=torch.float64) for _ in range(2))
    return q, k


def row(model: LanguageModel, idx: Tensor, positions: Positions) -> Tensor:
    """Logits of one sequence: (T,) token ids -> (T, vocab_size)."""
    return model(idx[None], positions)[0]


def some(positions: Positions, at: Tensor) -> Positions:
    """The places of some tokens of one sequence: those at these indices, or where a mask is true."""
    branch, masked = (None if known is None else known[at] for known in (positions.branch, positions.masked))
    return Positions(positions.time[at], branch, masked)


def count(n: int, start: int = 0, device: torch.device | None = None) -> Positions:
    """Positions of n tokens in a row, none of them MASK: what any encoding can be asked about."""
    time = Positions.arange(n, start, device).time
    return Positions(time, masked=torch.zeros_like(time, dtype=torch.bool))


def read(model: LanguageModel, idx: Tensor) -> Tensor:
    """Logits of a text that begins at position 0: (T,) token ids -> (T, vocab_size).

    The last of the vocabulary is taken for MASK, as models that fill in have it; no others listen.
    """
    positions = Positions(Positions.arange(len(idx), device=idx.device).time, masked=idx == mask_of(model))
    return row(model, idx, positions)
