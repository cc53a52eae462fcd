"""The quickest operator for each kind of mask computes the same attention, and the same gradients."""

import pytest
import torch
from torch import Tensor

from babygpt.models.transformer import ROWS, attend

H, D, SCALE = 3, 4, 0.7


def heads(
    n_queries: int, n_keys: int, width: int = D, kind: torch.dtype = torch.float64
) -> tuple[Tensor, ...]:
    sizes = ((n_queries, width), (n_keys, width), (n_keys, D))
    return tuple(torch.randn(2, H, *size, dtype=kind, requires_grad=True) for size in sizes)


def plain(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    scores = SCALE * q @ k.mT + (0.0 if mask is None else mask)
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    return scores.softmax(dim=-1) @ v


def hidden(n_queries: int, n_keys: int) -> Tensor:
    """Hide from each query the keys after it, if the queries are the last of the tokens."""
    later = torch.ones(n_queries, n_keys, dtype=torch.bool).triu(1 + n_keys - n_queries)
    return torch.zeros(n_queries, n_keys, dtype=torch.float64).masked_fill(later, -torch.inf)


LONG = 2 * ROWS + 5
CASES = {
    "no mask": (LONG, LONG, D, None, False),
    "causal, wide": (9, 9, 2 * D, None, True),
    "a term of each key": (9, 9, D, torch.randn(1, H, 1, 9), True),
    "a trained term of each key": (9, 9, 2 * D, torch.randn(1, H, 1, 9).requires_grad_(), True),
    "the last token": (1, 9, D, torch.randn(1, H, 1, 9), False),
    "a mask": (9, 9, 2 * D, torch.randn(2, 1, 9, 9), False),
    "a trained mask": (LONG, LONG, D, torch.randn(1, H, LONG, LONG).requires_grad_(), False),
    "a trained mask that hides": (LONG, LONG, 2 * D, torch.randn(1, 1, LONG, LONG).requires_grad_(), "mask"),
    "a trained mask of few queries": (3, LONG, D, torch.randn(1, H, 3, LONG).requires_grad_(), "mask"),
}


@pytest.mark.parametrize("case", CASES)
def test_outputs_and_gradients_are_those_of_plain_attention(case: str) -> None:
    n_queries, n_keys, width, terms, causal = CASES[case]
    inputs = list(heads(n_queries, n_keys, width))
    if terms is not None:
        inputs.append(terms.detach().double().requires_grad_(terms.requires_grad))
    mask = None if terms is None else inputs[3]
    if causal == "mask":
        mask = mask + hidden(n_queries, n_keys)
    got = attend(*inputs[:3], mask, causal is True, SCALE)
    expected = plain(*inputs[:3], mask, causal is True)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-12)
    weights, trained = torch.randn_like(got), [x for x in inputs if x.requires_grad]
    gradients = (torch.autograd.grad((y * weights).sum(), trained) for y in (got, expected))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-11)


def test_terms_of_keys_survive_bfloat16() -> None:
    """Let terms grow to 1,000, where bfloat16 has one number in four, and differ by 1 from key to key."""
    q, k, v = heads(1001, 1001, kind=torch.float32)
    terms = torch.arange(1001.0)[None, None, None]
    got = attend(*(x.bfloat16() for x in (q, k, v)), terms, True, SCALE)
    assert (got.float() - plain(q, k, v, terms, True)).abs().max() < 0.1
