"""softmax(scale q k^T + mask) v by whichever of PyTorch's operators is quickest for these inputs."""

import torch
import torch.nn.functional as F
from torch import Tensor

ROWS = 128  # queries of a block: the keys after it are skipped, and more, smaller blocks save little


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    causal: bool,
    scale: float,
    bias: Tensor | None = None,
) -> Tensor:
    """Return the mean of the values, weighted by the softmax of the scores.

    q, k, v  (B, H, Tq, E), (B, H, Tk, E), (B, H, Tk, D)  E at least D
    mask     None, or a term to add to the scores, (B or 1, H or 1, Tq or 1, Tk), -inf where nothing may look
    causal   whether query i sees the keys 0 to i only, besides what the mask hides; then Tq is Tk
    scale    factor of q k^T
    bias     None, or one more term, (B or 1, H or 1, Tq or 1, Tk), that hides nothing
    returns  (B, H, Tq, D)
    """
    D = v.shape[-1]
    if bias is not None:
        mask = bias if mask is None else mask + bias
    if mask is not None and causal and mask.shape[-2] > 1:
        later = torch.ones(mask.shape[-2:], dtype=torch.bool, device=mask.device).triu(1)
        mask, causal = mask.masked_fill(later, -torch.inf), False
    if mask is not None and causal:
        q, k, mask = *with_terms_of_keys(q, k, mask / scale), None
    elif mask is not None and mask.requires_grad:
        return attend_in_blocks(q, k, v, mask, scale)
    # The fused operator wants values as wide as queries. Without it, all scores would be kept in memory.
    if v.shape[-1] < q.shape[-1]:
        v = F.pad(v, (0, q.shape[-1] - D))
    y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale)
    return y if y.shape[-1] == D else y[..., :D]


def with_terms_of_keys(q: Tensor, k: Tensor, terms: Tensor) -> tuple[Tensor, Tensor]:
    """Widen queries and keys, so that each score q k^T grows by its key's term: (B, H, T, E + 3) each.

    terms  (B or 1, H or 1, 1, Tk)
    """
    # Three channels hold 8 bits of a term each. So it survives bfloat16, in which 1,000 and 1,001 are one.
    parts: list[Tensor] = []
    rest = terms
    for _ in range(2):
        parts.append(rest.bfloat16().to(terms.dtype))
        rest = rest - parts[-1]
    columns = torch.cat([*parts, rest], dim=-2).mT.to(k.dtype)  # (B|1, H|1, Tk, 3)
    return F.pad(q, (0, 3), value=1.0), torch.cat([k, columns.expand(*k.shape[:3], 3)], dim=-1)


def attend_in_blocks(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> Tensor:
    """Return what `attend` does, block of queries by block, for a mask that is trained.

    The fused operators give no gradient of a mask. Of a causal one, blocks skip what is hidden: almost half.
    """
    whole = mask.expand(*mask.shape[:-2], q.shape[2], k.shape[2])
    outputs, last = [], 0
    for queries, terms in zip((q * scale).split(ROWS, dim=2), whole.split(ROWS, dim=2), strict=True):
        last += queries.shape[2]
        later = terms[..., last:]
        n = k.shape[2] if later.numel() and bool((later > -torch.inf).any()) else min(last, k.shape[2])
        scores = queries @ k[:, :, :n].mT + terms[..., :n]
        outputs.append(scores.softmax(dim=-1) @ v[:, :, :n])
    return torch.cat(outputs, dim=2)
