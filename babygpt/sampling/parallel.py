"""Writing several texts at once: one token of each text in every forward pass."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from babygpt.data.batches import interleave
from babygpt.errors import BadInput
from babygpt.models.language_model import KVCache, LanguageModel, require_causal
from babygpt.positions import Positions
from babygpt.sampling.next_token import require_request, sample_token


@torch.inference_mode()
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
    require_branches_apart(model, len(prompts))
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


def require_branches_apart(model: LanguageModel, n: int) -> None:
    """Raise BadInput for n texts and a model that would mix them up, or that looks both ways."""
    require_causal(model)
    if n > 1 and not model.encoding.for_branches:
        name = type(model.encoding).__name__
        raise BadInput(
            f"{n} texts at once need a model that is made for branches, such as a v6; "
            f"this one ({name}) would not know which token belongs to which"
        )


def _columns(texts: Sequence[Tensor], now: int, first: int, start: int) -> tuple[Tensor, Positions]:
    """The tokens of all texts from time `first` on, column by column, when all texts end at `now`.

    start    the time that counts as 0
    returns  (1, T) token ids, and their positions
    """
    begins = [now - len(text) for text in texts]  # when each text's first token stands
    there = [max(first, begin) for begin in begins]
    pieces = [text[at - begin :] for text, at, begin in zip(texts, there, begins, strict=True)]
    ends = [torch.cat([piece, piece[-1:]]) for piece in pieces]  # interleave drops the last token, a target
    columns = interleave(ends, [at - start for at in there])
    return columns.tokens, columns.positions
