"""Writing a text one token after another, and how a token is drawn from logits."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from babygpt.errors import BadInput
from babygpt.memory import portions
from babygpt.models.language_model import KVCache, LanguageModel, require_causal


def sample_token(
    logits: Tensor, temperature: float, top_k: int | None, generator: torch.Generator | None
) -> Tensor:
    """Draw one token from each row of logits: (B, vocab_size) -> (B,); options as those of `generate`."""
    if temperature == 0:
        return logits.argmax(dim=-1)
    if top_k is not None and top_k < logits.shape[-1]:
        best = logits.topk(top_k)  # exactly k, also where logits are equal
        logits = torch.full_like(logits, -torch.inf).scatter(-1, best.indices, best.values)
    logits = logits.double() - logits.max(dim=-1, keepdim=True).values  # so that no division overflows
    probabilities = (logits / temperature).softmax(dim=-1)
    return torch.multinomial(probabilities, 1, generator=generator)[:, 0]


def require_request(idx: Tensor, n_tokens: int, temperature: float, top_k: int | None) -> None:
    """Raise a ValueError for an empty prompt (B, T), or a number that no text can be written with."""
    if idx.shape[1] < 1:
        raise BadInput("the prompt is empty; it needs at least 1 token")
    if n_tokens < 0:
        raise BadInput(f"n_tokens ({n_tokens}) must not be negative")
    if not 0 <= temperature < math.inf:  # refuses nan too
        raise BadInput(f"temperature ({temperature}) must be a finite number, and must not be negative")
    if top_k is not None and top_k < 1:
        raise BadInput(f"top_k ({top_k}) must be at least 1")


@torch.inference_mode()
def generate(
    model: LanguageModel,
    idx: Tensor,
    n_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
    use_cache: bool = True,
) -> Tensor:
    """Continue a text token by token.

    The model never sees more than block_size tokens: when its window is full it starts a new one with
    the later half of the old, positions counted from 0 again. Texts for which there is no room at once are
    written some after the others.

    idx          (B, T)  the prompt, T at least 1
    n_tokens     how many to add
    temperature  logits are divided by it; 0 always takes the likeliest token
    top_k        sample among the k likeliest tokens only; None for all
    generator    source of randomness, on the CPU; None for the global one
    use_cache    keep keys and values of the window, or compute them anew each step (same result)
    returns      (B, T + n_tokens)
    Raises ValueError for a model that is not causal, an empty prompt, a negative n_tokens or temperature, or
    a top_k below 1.
    """
    require_causal(model)
    require_request(idx, n_tokens, temperature, top_k)
    length = min(idx.shape[1] + n_tokens, model.config.block_size)
    parts = portions(model, idx, length=length)
    how = (temperature, top_k, generator, use_cache)
    return torch.cat([_generate(model, some, n_tokens, *how) for (some,) in parts])


def _generate(
    model: LanguageModel,
    idx: Tensor,
    n_tokens: int,
    temperature: float,
    top_k: int | None,
    generator: torch.Generator | None,
    use_cache: bool,
) -> Tensor:
    """Continue texts that are read together."""
    block_size = model.config.block_size
    device = next(model.parameters()).device
    text = idx.to(device)
    start = max(0, text.shape[1] - block_size)  # where the window begins
    cache, read = KVCache(block_size), start
    for _ in range(n_tokens):
        if text.shape[1] - start > block_size:
            start = text.shape[1] - (block_size + 1) // 2
            cache, read = KVCache(block_size), start
        if use_cache:
            logits, read = model(text[:, read:], cache=cache), text.shape[1]
        else:
            logits = model(text[:, start:])
        token = sample_token(logits[:, -1].float().cpu(), temperature, top_k, generator)  # (B,)
        text = torch.cat([text, token[:, None].to(device)], dim=1)
    return text
