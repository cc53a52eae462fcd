"""What encodings do to one query and one key, wherever the two stand."""

from __future__ import annotations

import torch
from torch import Tensor

from babygpt.encodings import Encoding
from babygpt.invariants.base import Verdict, count, random_heads


def score(encoding: Encoding, q: Tensor, k: Tensor, m: int, n: int) -> Tensor:
    """What attention would compare: scores of q placed at m with k placed at n, (B, H)."""
    queries, keys = count(1, m), count(1, n)
    q_m, _ = encoding.transform_qk(q, q, queries)
    _, k_n = encoding.transform_qk(k, k, keys)
    scores = (q_m * k_n).sum(dim=-1)[..., 0]  # (B, H)
    bias = encoding.score_bias(queries, keys)
    return scores if bias is None else scores + bias[..., 0, 0]


@torch.inference_mode()
def norm_preserved(encoding: Encoding, n_head: int = 4, head_dim: int = 32, furthest: int = 512) -> Verdict:
    """Placing a query anywhere leaves its length as it was."""
    q, k = random_heads(n_head, head_dim)
    changes = [
        (encoding.transform_qk(q, k, count(1, m))[0].norm(dim=-1) / q.norm(dim=-1) - 1).abs().max()
        for m in range(0, furthest, 31)
    ]
    return Verdict("a query keeps its length wherever it stands", float(max(changes)), 1e-6)


@torch.inference_mode()
def shift_invariant(encoding: Encoding, n_head: int = 4, head_dim: int = 32, furthest: int = 512) -> Verdict:
    """The score of q at m and k at n depends on m - n only.

    Measured on what `transform_qk` and `bias` do to fixed random q and k: the largest change of a score when
    both places move together.
    """
    q, k = random_heads(n_head, head_dim)
    worst = 0.0
    for m, n in ((0, 0), (5, 2), (40, 0), (100, 37)):
        here = score(encoding, q, k, m, n)
        for shift in (1, 10, furthest - m):
            worst = max(worst, float((score(encoding, q, k, m + shift, n + shift) - here).abs().max()))
    return Verdict("a score depends on the distance alone", worst, 1e-6)


@torch.inference_mode()
def mirrored(encoding: Encoding, n_head: int = 4, head_dim: int = 32, furthest: int = 512) -> Verdict:
    """A key as far to the right as another is to the left has the same score: left and right look alike."""
    q, k = random_heads(n_head, head_dim)
    worst = 0.0
    for distance in (1, 2, 10, furthest // 2):
        left, right = (score(encoding, q, k, furthest, furthest + d) for d in (-distance, distance))
        worst = max(worst, float((left - right).abs().max()))
    return Verdict("left and right look alike", worst, 1e-6)
