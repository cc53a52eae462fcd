"""What models of parallel branches promise."""

from __future__ import annotations

import torch
from torch import Tensor

from babygpt.errors import BadInput
from babygpt.invariants.base import Verdict, row, some
from babygpt.models.base import LanguageModel
from babygpt.models.cache import KVCache
from babygpt.positions import Positions, sees


def _known_branches(positions: Positions) -> Tensor:
    if positions.branch is None:
        raise BadInput("positions.branch is None: this promise is about several texts in one sequence")
    return positions.branch


@torch.inference_mode()
def nothing_leaks(model: LanguageModel, idx: Tensor, positions: Positions) -> Verdict:
    """Changing every token of all other branches changes no prediction of a branch, not even by rounding.

    idx     (T,)  token ids, of several branches
    positions (T,)  their times and branches
    Raises ValueError if places know no branches.
    """
    branch, here, worst = _known_branches(positions), row(model, idx, positions), 0.0
    for own in (branch == b for b in branch.unique()):
        other = torch.where(own, idx, (idx + 1) % model.config.vocab_size)
        worst = max(worst, float((row(model, other, positions) - here)[own].abs().max()))
    return Verdict("what other branches say changes nothing", worst, 0.0)


@torch.inference_mode()
def sees_the_past_alone(model: LanguageModel, idx: Tensor, positions: Positions) -> Verdict:
    """Changing a token changes no earlier prediction, and none of its own time in another branch.

    idx     (T,)  token ids
    positions (T,)  their times and, of several texts, their branches
    """
    here, visible, worst = row(model, idx, positions), sees(positions, positions)[0], 0.0  # (Tq, Tk)
    for t in range(len(idx)):
        other = idx.clone()
        other[t] = (idx[t] + 1) % model.config.vocab_size
        change = (row(model, other, positions) - here).abs().amax(dim=-1)  # (T,)
        worst = max(worst, float(change.masked_fill(visible[:, t], 0.0).max()))
    return Verdict("sees itself and strictly earlier times, no more", worst, 1e-5)


@torch.inference_mode()
def branches_permute(model: LanguageModel, idx: Tensor, positions: Positions, seed: int = 0) -> Verdict:
    """With branches in another order in every column, each with its code, predictions move along unchanged.

    idx     (T,)  token ids, of several branches
    positions (T,)  their times and branches
    seed    draws the orders
    Raises ValueError if places know no branches.
    """
    branch, here, worst = _known_branches(positions), row(model, idx, positions), 0.0
    draw, n = torch.Generator().manual_seed(seed), int(branch.max()) + 1
    for _ in range(4):
        rank = torch.randperm(n, generator=draw)[branch.cpu()].to(branch.device)
        order = (positions.time * n + rank).argsort()
        moved = row(model, idx[order], some(positions, order))
        worst = max(worst, float((moved - here[order]).abs().max()))
    return Verdict("the order of branches does not matter, only their codes", worst, 1e-4)


@torch.inference_mode()
def parallel_cache_equals_full(model: LanguageModel, idx: Tensor, positions: Positions) -> Verdict:
    """Reading time by time with a cache, all branches at once, gives the logits of reading all at once.

    idx     (T,)  token ids, in order of time
    positions (T,)  their times and branches
    Raises ValueError if places know no branches.
    """
    _known_branches(positions)
    columns, cache = [positions.time == t for t in positions.time.unique()], KVCache(len(idx))
    steps = [model(idx[at][None], some(positions, at), cache)[0] for at in columns]
    change = (torch.cat(steps) - row(model, idx, positions)).abs().max()
    return Verdict("reading all branches with a cache changes nothing", float(change), 1e-4)


@torch.inference_mode()
def one_branch_is_one_text(model: LanguageModel, plain: LanguageModel, idx: Tensor) -> Verdict:
    """A model of parallel branches reads a text alone as the plain model with the same weights does.

    Measured as the largest change of a logit, as a share of the largest logit where that is above 1.

    plain  such as v4
    idx    (T,)  token ids
    """
    time = Positions.arange(len(idx), device=idx.device).time
    alone, text = row(model, idx, Positions(time, torch.zeros_like(time))), plain(idx[None])[0]
    change = (alone - text).abs().max() / text.abs().max().clamp(min=1.0)
    return Verdict("one branch is one text", float(change), 1e-6)
