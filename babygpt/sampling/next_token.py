"""Writing a text one token after another."""

from __future__ import annotations

import torch
from torch import Tensor

from babygpt.models.base import LanguageModel, require_causal
from babygpt.models.cache import KVCache
from babygpt.sampling.draw import check, pick


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
    the later half of the old, positions counted from 0 again.

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
    check(idx, n_tokens, temperature, top_k)
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
        token = pick(logits[:, -1].float().cpu(), temperature, top_k, generator)  # (B,)
        text = torch.cat([text, token[:, None].to(device)], dim=1)
    return text
