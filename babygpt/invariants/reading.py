"""What a model that reads one text may see, and what it makes of the order."""

from __future__ import annotations

import torch
from torch import Tensor

from babygpt.invariants.base import Verdict, count, read, some
from babygpt.models.base import LanguageModel
from babygpt.models.cache import KVCache
from babygpt.positions import Positions


@torch.inference_mode()
def order_blind(model: LanguageModel, idx: Tensor, seed: int = 0) -> Verdict:
    """Shuffling the tokens before the last one leaves the last one's prediction as it was.

    idx  (T,)  token ids
    """
    draw = torch.Generator().manual_seed(seed)
    last = idx[-1:]
    here = read(model, idx)[-1]
    worst = 0.0
    for _ in range(4):
        shuffled = torch.cat([idx[:-1][torch.randperm(len(idx) - 1, generator=draw)], last])
        worst = max(worst, float((read(model, shuffled)[-1] - here).abs().max()))
    return Verdict("blind to the order of what came before", worst, 1e-4)


@torch.inference_mode()
def blind_to_the_past(model: LanguageModel, idx: Tensor) -> Verdict:
    """Replacing every token before the last one leaves its prediction as it was.

    idx  (T,)  token ids
    """
    other = torch.cat([(idx[:-1] + 1) % model.config.vocab_size, idx[-1:]])
    change = (read(model, idx)[-1] - read(model, other)[-1]).abs().max()
    return Verdict("sees one token at a time", float(change), 1e-4)


@torch.inference_mode()
def causal(model: LanguageModel, idx: Tensor, positions: Positions | None = None) -> Verdict:
    """Changing the last token changes no prediction before it.

    idx     (T,)  token ids
    positions where they stand; by default 0, 1, 2, ...
    """
    positions = positions or count(len(idx), device=idx.device)
    other = torch.cat([idx[:-1], (idx[-1:] + 1) % model.config.vocab_size])
    change = (model(idx[None], positions) - model(other[None], positions))[0, :-1].abs().max()
    return Verdict("no token sees the future", float(change), 1e-5)


@torch.inference_mode()
def cache_equals_full(model: LanguageModel, idx: Tensor, positions: Positions | None = None) -> Verdict:
    """Reading token by token with a cache gives the logits of reading all at once.

    idx     (T,)  token ids, at most block_size
    positions (T,)  where they stand; by default 0, 1, 2, ...
    """
    positions, cache = positions or count(len(idx), device=idx.device), KVCache(len(idx))
    steps = [model(idx[at][None], some(positions, at), cache) for at in torch.arange(len(idx)).split(1)]
    change = (torch.cat(steps, dim=1) - model(idx[None], positions)).abs().max()
    return Verdict("reading with a cache changes nothing", float(change), 1e-4)


@torch.inference_mode()
def extrapolates_or_refuses(model: LanguageModel, idx: Tensor, branch: Tensor | None = None) -> Verdict:
    """Past its window a model gives finite logits, or refuses with an error; it never guesses silently.

    idx     (T,)  token ids; read at positions that begin where the window ends
    branch  (T,)  which text each belongs to, for models that have to be told; None for one text
    """
    positions = count(len(idx), model.config.block_size, idx.device)
    beyond = Positions(positions.time, branch, positions.masked)
    try:
        broken = (~torch.isfinite(model(idx[None], beyond))).float().mean()
    except ValueError:
        broken = torch.zeros(())
    return Verdict("past its window it goes on or says no", float(broken), 0.0)
