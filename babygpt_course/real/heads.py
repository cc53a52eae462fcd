"""Kinds of heads, by the tokens that they look at: the one before, the first, the same, what followed it."""

import numpy as np
import torch
from torch import Tensor

from babygpt.metrics.inspection import each_weights
from babygpt.models.transformer import Transformer

BEFORE, FIRST, SAME, FOLLOWED = KINDS = (
    "the token before",
    "the first token",
    "the same token, earlier",
    "what followed it last time",
)


def targets(idx: Tensor) -> dict[str, Tensor]:
    """Return which tokens a head of each kind looks at: kind -> (T, T), true where row m looks at column n.

    Rows 0 and 1 are left out: there the first token is also the token before.

    idx  (T,)  token ids
    """
    row, column = torch.arange(len(idx))[:, None], torch.arange(len(idx))
    same = (idx[:, None] == idx) & (column < row)
    followed = torch.zeros_like(same)
    followed[:, 1:] = same[:, :-1]  # one place behind the same token
    every = dict(zip(KINDS, (row - column == 1, column == 0, same, followed & (column < row)), strict=True))
    return {kind: where & (row > 1) for kind, where in every.items()}


def head_looks(model: Transformer, idx: Tensor) -> dict[str, np.ndarray]:
    """Return the share of its attention that each head gives to each kind of token.

    idx      (T,)  token ids; for the last two kinds, a text in which tokens occur again
    returns  kind -> (n_layer, n_head)  mean over the tokens that have such a one; nan where none has
    Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; Olsson et al. 2022,
    arXiv:2209.11895 (induction heads).
    """
    device = model.token_embedding.weight.device
    is_target = {kind: where.to(device) for kind, where in targets(idx).items()}

    def shares(weights: Tensor) -> Tensor:  # (1, H, T, T) -> (4, H)
        shares_by_kind = [
            (weights[0] * where).sum(dim=-1)[:, where.any(dim=-1)] for where in is_target.values()
        ]
        return torch.stack([share.mean(dim=-1) for share in shares_by_kind])

    shares_by_kind = (
        torch.stack(each_weights(model, idx[None], shares), dim=1).float().cpu().numpy()
    )  # (4, L, H)
    return dict(zip(KINDS, shares_by_kind, strict=True))


def looks_by_distance(model: Transformer, idx: Tensor, furthest: int) -> np.ndarray:
    """Return the share of its attention that each head gives to the token at each distance.

    idx       (T,)  token ids, more than `furthest`
    furthest  in tokens; distance 0 is the token itself
    returns   (n_layer, n_head, furthest)  mean over the tokens that have `furthest` before them
    """
    rows = torch.arange(furthest, len(idx))
    columns = rows[:, None] - torch.arange(furthest)  # (R, furthest)

    def by_distance(weights: Tensor) -> Tensor:  # (1, H, T, T) -> (H, furthest)
        return weights[0][:, rows[:, None], columns].mean(dim=1)

    return torch.stack(each_weights(model, idx[None], by_distance)).float().cpu().numpy()


def repeated_tokens(n: int, vocab_size: int, start: int, seed: int) -> Tensor:
    """Return random tokens, twice: only what stood there before tells what comes next in the second half.

    n        tokens in a half
    start    token id before them
    returns  (2 n + 1,)  token ids
    """
    drawn = torch.randint(1000, vocab_size, (n,), generator=torch.Generator().manual_seed(seed))
    return torch.cat([torch.tensor([start]), drawn, drawn])
