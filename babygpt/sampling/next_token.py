"""Writing one text, or several texts at once, one token of each after another."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from babygpt.data.batches import interleave
from babygpt.errors import BadInput
from babygpt.models.cache import KVCache
from babygpt.models.language_model import LanguageModel, require_causal
from babygpt.positions import Positions


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


@torch.no_grad()
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
    require_request(idx, n_tokens, temperature, top_k)
    block_size, device = model.config.block_size, next(model.parameters()).device
    text = idx.to(device)
    start = max(0, text.shape[1] - block_size)  # where the window begins
    cache, read = KVCache(block_size), start
    for _ in range(n_tokens):
        if text.shape[1] - start > block_size:
            start = text.shape[1] - (block_size + 1) // 2
            cache, read = KVCache(block_size), start
        first = read if use_cache else start
        logits, read = model(text[:, first:], cache=cache if use_cache else None), text.shape[1]
        # Tokens are drawn on the CPU, alike on every device.
        token = sample_token(logits[:, -1].float().cpu(), temperature, top_k, generator)  # (B,)
        text = torch.cat([text, token[:, None].to(device)], dim=1)
    return text


# ---------------------------------------------------------------- several texts in one sequence


@torch.no_grad()
def generate_parallel(
    model: LanguageModel,
    prompts: Sequence[Tensor],
    n_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
    use_cache: bool = True,
) -> list[Tensor]:
    """Continue several texts at once: each forward pass adds one token to every branch.

    The prompts end at the same time, and share one window, which begins with the longest. When it is full, a
    new one starts with the later half of the old, times counted from 0 again: for all of them at once, so
    that a shorter one loses its beginning sooner than it would alone, and from then on goes on otherwise.

    model        causal; for several prompts one made for branches, such as a v6
    prompts      n of (T_b,)  token ids, T_b at least 1 and at most block_size
    n_tokens     how many to add to each; the other arguments are those of `generate`
    returns      n of (T_b + n_tokens,)
    Raises ValueError for no prompt, an empty one or one longer than the window, for several with a model that
    cannot keep them apart, and what `generate` refuses.
    Source: note 002, section 3.
    """
    block_size = model.config.block_size
    if not prompts:
        raise BadInput("0 branches: at least 1 prompt is needed")
    require_causal(model)
    if len(prompts) > 1 and not model.encoding.for_branches:
        raise BadInput(
            f"{len(prompts)} texts at once need a model that is made for branches, such as a v6; "
            f"this one ({type(model.encoding).__name__}) cannot see which token belongs to which text"
        )
    for b, prompt in enumerate(prompts):
        require_request(prompt[None], n_tokens, temperature, top_k)
        if len(prompt) > block_size:
            raise BadInput(f"branch {b} has {len(prompt)} tokens; the window holds {block_size}")
    device = next(model.parameters()).device
    texts, longest = [prompt.cpu() for prompt in prompts], max(map(len, prompts))
    start, read, cache = 0, 0, KVCache(len(texts) * block_size)
    for now in range(longest, longest + n_tokens):
        if now - start > block_size:
            start = now - (block_size + 1) // 2
            read, cache = start, KVCache(len(texts) * block_size)
        first = read if use_cache else start
        tokens, positions = _columns(texts, now, first, start)
        logits = model(tokens.to(device), positions.to(device), cache if use_cache else None)
        read = now
        drawn = sample_token(logits[0, -len(texts) :].float().cpu(), temperature, top_k, generator)  # (n,)
        texts = [torch.cat([text, token[None]]) for text, token in zip(texts, drawn, strict=True)]
    return texts


def _columns(texts: Sequence[Tensor], now: int, first: int, start: int) -> tuple[Tensor, Positions]:
    """Return the tokens of all texts from time `first` on, column by column, when all texts end at `now`.

    start    the time that counts as 0
    returns  (1, T) token ids, and their positions
    """
    begins = [now - len(text) for text in texts]  # time of each text's first token
    times = [max(first, begin) for begin in begins]
    pieces = [text[time - begin :] for text, time, begin in zip(texts, times, begins, strict=True)]
    ends = [torch.cat([piece, piece[-1:]]) for piece in pieces]  # interleave drops the last token, a target
    columns = interleave(ends, [time - start for time in times])
    return columns.tokens, columns.positions
