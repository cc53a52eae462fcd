"""What the claims of note 001 are measured on: random queries and keys, and one key that fits its query."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from babygpt.encodings.base import Encoding
from babygpt.encodings.gaussian import ALPHAS, SIGMAS
from babygpt.encodings.sinusoidal import frequencies
from babygpt.models.transformer import norm, score_scale
from babygpt.positions import Positions

NOTE = "001_e1f3ab19410e1e33.txt"
HEAD_DIM = 32
LATE, NEAR = 60, 8  # a query far from the start, and what counts as near it, in tokens
TEXTS = 512  # random ones
RANDOM = f"an untrained head of {HEAD_DIM} channels on {TEXTS} random texts, with the note's α and σ"
BUILT = f"a head of {HEAD_DIM} channels built by hand, among 64 tokens"
TWO_KERNELS = "m is a place in the formula and a distance in the text: K(m) and K(m − n) were both asked"


def note_kernel(m: Tensor) -> Tensor:
    """K as the note writes it, with its own numbers: (T,) -> (T,)."""
    return sum((a * torch.exp(-(m**2) / (2 * s**2)) for a, s in zip(ALPHAS, SIGMAS, strict=True)), 0 * m)


def scores_of(encoding: Encoding, q: Tensor, k: Tensor) -> Tensor:
    """Attention scores of the last query of each text: (n, 1, T, D) twice -> (n, T)."""
    positions = Positions.arange(q.shape[-2])
    q, k = encoding.transform_qk(q, k, positions)
    scores, bias = (q @ k.mT * score_scale(q))[:, 0], encoding.score_bias(positions, positions)
    return (scores if bias is None else scores + bias)[:, -1]


def random_heads(T: int, n: int = TEXTS) -> tuple[Tensor, Tensor]:
    """Queries and keys of n random texts, as long as a model's: 2 x (n, 1, T, HEAD_DIM)."""
    q, k = norm(torch.randn(2, n, 1, T, HEAD_DIM, generator=torch.Generator().manual_seed(0)))
    return q, k


def scores_at(encoding: Encoding, m: int, n: int = TEXTS) -> Tensor:
    """Attention scores of a query at m with all keys up to itself, of n random texts: (n, m + 1)."""
    return scores_of(encoding, *random_heads(m + 1, n))


def attention_on_match(encoding: Encoding, m: int, back: int) -> float:
    """What a query at m gives to a key `back` tokens before it that is just what it asks for, on average."""
    q, k = random_heads(m + 1)
    k[:, :, m - back] = q[:, :, m]
    return float(scores_of(encoding, q, k).softmax(dim=-1)[:, m - back].mean().detach())


def attention_by_distance(encoding: Encoding, m: int) -> np.ndarray:
    """How a query at m shares out its attention by distance, on average: (m + 1,), nearest first."""
    weights: np.ndarray = scores_at(encoding, m).softmax(dim=-1).mean(dim=0).flip(0).detach().numpy()
    return weights


def mean_distance(encoding: Encoding, m: int = LATE) -> float:
    """How far back a query at m looks on average, in tokens."""
    return float(attention_by_distance(encoding, m) @ np.arange(m + 1))


def attention_with_pairs(pairs: slice, back: int = 1) -> Tensor:
    """Attention at each distance from 0 to 63 if q and k use these pairs only, and q asks for `back`."""
    away = torch.arange(64, dtype=torch.float64) - back
    likeness = torch.cos(away[:, None] * frequencies(HEAD_DIM)[pairs]).mean(dim=-1)
    return (score_scale(torch.ones(HEAD_DIM)) * HEAD_DIM * likeness).softmax(dim=0)
