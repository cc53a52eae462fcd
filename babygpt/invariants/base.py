"""A promise and its measurement, and the helpers that all measurements share."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from babygpt.models.language_model import LanguageModel
from babygpt.objectives.diffusion import mask_token_id
from babygpt.positions import Positions
from babygpt.tables import MARKS, Table, format_limit, format_measured


@dataclass(frozen=True)
class Promise:
    """Promise of an encoding, a model or a sampler, and the number that says whether it holds.

    statement  the promise in words
    value      what was measured
    limit      the promise holds if value is at most this
    """

    statement: str
    value: float
    limit: float

    @property
    def holds(self) -> bool:
        return self.value <= self.limit

    @property
    def measured(self) -> str:
        """Measured value as text that is equal on every machine: "below 1e-4" for rounding noise."""
        return format_measured(self.value, self.limit)

    def __str__(self) -> str:
        return f"{'✓' if self.holds else '✗'} {self.statement}"


def promises(measured: Iterable[Promise]) -> Table:
    """Return a table of promises: whether each holds, the measured value, and the limit."""
    rows = [
        (MARKS["holds" if p.holds else "fails"], p.statement, p.measured, format_limit(p.limit))
        for p in measured
    ]
    return Table(("", "promise", "measured", "allowed"), rows, stable=4)


def random_qk(n_head: int, head_dim: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Draw eight random queries and eight keys of every head: (8, H, 1, D) each, float64."""
    draw = torch.Generator().manual_seed(seed)
    q, k = (torch.randn(8, n_head, 1, head_dim, generator=draw, dtype=torch.float64) for _ in range(2))
    return q, k


def unmasked_positions(n: int, start: int = 0, device: torch.device | None = None) -> Positions:
    """Return the positions of n tokens in a row, none of them MASK, which suit any encoding of one text."""
    return Positions.arange(n, start, device, masked=torch.zeros(n, dtype=torch.bool, device=device))


def text_logits(model: LanguageModel, idx: Tensor) -> Tensor:
    """Return the logits of a text that begins at position 0: (T,) token ids -> (T, vocab_size).

    The last token of the vocabulary counts as MASK. Models that do not fill in ignore that.
    """
    masked = idx == mask_token_id(model)
    return model(idx[None], Positions.arange(len(idx), device=idx.device, masked=masked))[0]
