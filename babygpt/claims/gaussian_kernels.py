"""What the claims of note 001 are measured on: the note's own code, and random queries and keys."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from babygpt.encodings.base import Encoding
from babygpt.encodings.gaussian import ALPHAS, SIGMAS
from babygpt.encodings.sinusoidal import frequencies
from babygpt.models.transformer import norm, score_scale
from babygpt.positions import Positions

NOTE = "001_e1f3ab19410e1e33.txt"
HEAD_DIM = 32
LATE, NEAR = 60, 8  # a query far from the start, and what counts as near it, in tokens
TEXTS = 512  # random ones


def note_kernel(m: Tensor) -> Tensor:
    """K as the note writes it, with its own numbers: (T,) -> (T,)."""
    return sum((a * torch.exp(-(m**2) / (2 * s**2)) for a, s in zip(ALPHAS, SIGMAS, strict=True)), 0 * m)


def note_rotation(x: Tensor) -> Tensor:
    """The note's rotation, without its kernel: angles for half-split pairs, partners interleaved."""
    m = torch.arange(x.shape[-2])
    angle = m[:, None] * frequencies(x.shape[-1]).float()
    emb = torch.cat((angle, angle), dim=-1)  # (T, D)
    x1, x2 = x[..., ::2], x[..., 1::2]
    return x * emb.cos() + torch.stack((-x2, x1), dim=-1).flatten(-2) * emb.sin()


class NoteRotary(nn.Module):
    """The note's module, shortened: its kernel's weights and widths are plain numbers, as there."""

    def forward(self, x: Tensor) -> Tensor:
        """Multiply K and the rotation as the note does: (B, T, D) -> (B, T, D), where T and D are equal."""
        return note_kernel(torch.arange(x.shape[-2]).float()) * note_rotation(x)


def scores_at(encoding: Encoding, m: int, n: int = TEXTS) -> Tensor:
    """Attention scores of a query at m with all keys up to itself, of n random texts: (n, m + 1)."""
    draw, positions = torch.Generator().manual_seed(0), Positions.arange(m + 1)
    q, k = norm(torch.randn(2, n, 1, m + 1, HEAD_DIM, generator=draw))
    q, k = encoding.transform_qk(q, k, positions)
    scores = (q @ k.mT * score_scale(q))[:, 0]
    bias = encoding.score_bias(positions, positions)
    return (scores if bias is None else scores + bias)[:, -1]


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
