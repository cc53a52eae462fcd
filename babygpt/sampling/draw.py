"""How a token is drawn from logits, and what every way of writing refuses."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from babygpt.errors import BadInput


def pick(logits: Tensor, temperature: float, top_k: int | None, generator: torch.Generator | None) -> Tensor:
    """Draw one token from each row of logits: (B, vocab_size) -> (B,)."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    if top_k is not None and top_k < logits.shape[-1]:
        best = logits.topk(top_k)  # exactly k, also where logits are equal
        logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
    logits = logits.double() - logits.max(dim=-1, keepdim=True).values  # so that no division overflows
    probabilities = (logits / temperature).softmax(dim=-1)
    return torch.multinomial(probabilities, 1, generator=generator)[:, 0]


def check(idx: Tensor, n_tokens: int, temperature: float, top_k: int | None) -> None:
    """Raise a ValueError for an empty prompt (B, T), or numbers that no text can be written with."""
    if idx.shape[1] < 1:
        raise BadInput("the prompt is empty; it needs at least 1 token")
    if n_tokens < 0:
        raise BadInput(f"n_tokens ({n_tokens}) must not be negative")
    if not 0 <= temperature < math.inf:  # refuses nan too
        raise BadInput(f"temperature ({temperature}) must be a finite number, and must not be negative")
    if top_k is not None and top_k < 1:
        raise BadInput(f"top_k ({top_k}) must be at least 1")
