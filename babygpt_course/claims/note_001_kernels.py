"""Heads and kernels on which note 001 is measured: random texts, pairs built by hand, and the note's code."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from babygpt.encodings.base import Encoding
from babygpt.encodings.gaussian import ALPHAS, SIGMAS, AbsoluteGaussian, RelativeGaussian
from babygpt.encodings.rotary import rotate
from babygpt.encodings.sinusoidal import frequencies
from babygpt.models.transformer import norm, score_scale
from babygpt.positions import Positions

HEAD_DIM = 32
LATE = 60  # position of a query far from the start
TEXTS = 512  # random ones


def note_kernel(m: Tensor) -> Tensor:
    """Return K as the note writes it, with its own numbers: (T,) -> (T,)."""
    return sum((a * torch.exp(-(m**2) / (2 * s**2)) for a, s in zip(ALPHAS, SIGMAS, strict=True)), 0 * m)


def random_heads(T: int, n: int = TEXTS) -> tuple[Tensor, Tensor]:
    """Return queries and keys of n random texts, as long as a model's: 2 x (n, 1, T, HEAD_DIM)."""
    q, k = norm(torch.randn(2, n, 1, T, HEAD_DIM, generator=torch.Generator().manual_seed(0)))
    return q, k


def last_scores(encoding: Encoding, q: Tensor, k: Tensor) -> Tensor:
    """Return attention scores of the last query of each text: (n, 1, T, D) twice -> (n, T)."""
    positions = Positions.arange(q.shape[-2])
    q, k = encoding.transform_qk(q, k, positions)
    scores, bias = (q @ k.mT * score_scale(q))[:, 0], encoding.score_bias(positions, positions)
    return (scores if bias is None else scores + bias)[:, -1].detach()


def attention_on_match(encoding: Encoding, m: int, back: int) -> float:
    """Return the mean attention of a query at m to a key `back` tokens before it that matches it."""
    q, k = random_heads(m + 1)
    k[:, :, m - back] = q[:, :, m]
    return float(last_scores(encoding, q, k).softmax(dim=-1)[:, m - back].mean())


def mean_distance(encoding: Encoding) -> float:
    """Return how far back a query at LATE looks on average, in tokens."""
    weights = last_scores(encoding, *random_heads(LATE + 1)).softmax(dim=-1).mean(dim=0)
    return float(weights.flip(0).double() @ torch.arange(LATE + 1).double())


def attention_with_pairs(pairs: slice, back: int = 1) -> Tensor:
    """Return the attention at distances 0 to 63 if q and k use these pairs only, and q asks for `back`."""
    away = torch.arange(64, dtype=torch.float64) - back
    likeness = torch.cos(away[:, None] * frequencies(HEAD_DIM)[pairs]).mean(dim=-1)
    return (score_scale(torch.ones(HEAD_DIM)) * HEAD_DIM * likeness).softmax(dim=0)


def angle_to_rope() -> tuple[float, float]:
    """Return the largest angle between f(x, m) and RoPE, and the largest error of its length against K(m)."""
    x, m = random_heads(64, 1)[0].double(), torch.arange(64)
    q, _ = AbsoluteGaussian(HEAD_DIM, learnable=False).double().transform_qk(x, x, Positions(m))
    cosine = torch.cosine_similarity(q, rotate(x, m), dim=-1).clamp(-1, 1)
    error = (q.norm(dim=-1) / x.norm(dim=-1) - note_kernel(m.double())).abs().max()
    return float(cosine.acos().max()), float(error)


def crossovers() -> Tensor:
    """Find where the wide Gaussian begins to outdo the narrow one, text by text: (2, TEXTS), in tokens.

    First the position from which on it leaves a query longer, under the formula; then the distance from which
    on it scores a key higher, with K(m - n).
    """
    q, _ = random_heads(LATE)
    lengths, scores = [], []  # of the narrow term alone, and of the wide one
    for alphas in ((ALPHAS[0], 0.0), (0.0, ALPHAS[1])):
        formula = AbsoluteGaussian(HEAD_DIM, alphas, learnable=False)
        lengths.append(formula.transform_qk(q, q, Positions.arange(LATE))[0].norm(dim=-1)[:, 0])
        relative = RelativeGaussian(HEAD_DIM, alphas, learnable=False)
        scores.append(last_scores(relative, *random_heads(LATE + 1)).flip(-1))
    return torch.stack([(wide > narrow).int().argmax(dim=-1) for narrow, wide in (lengths, scores)])


class NoteRotary(nn.Module):
    """Module of the note, shortened: its kernel's weights and widths are plain numbers, as there.

    dim  channels; 64 in the note's example
    """

    def __init__(self, dim: int = 64) -> None:
        super().__init__()
        self.inv_freq = 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim))

    def rotate(self, x: Tensor) -> Tensor:
        """Turn x as the note does, without its kernel: angles for half-split pairs, partners interleaved."""
        m = torch.arange(x.shape[-2], device=x.device).type_as(self.inv_freq)
        freqs = torch.einsum("i,j->ij", m, self.inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)  # (T, D)
        x1, x2 = x[..., ::2], x[..., 1::2]
        return x * emb.cos() + torch.stack((-x2, x1), dim=-1).flatten(-2) * emb.sin()

    def forward(self, x: Tensor) -> Tensor:
        """Multiply K and the rotation as the note does: (B, T, D) -> (B, T, D), where T and D are equal."""
        return note_kernel(torch.arange(x.shape[-2]).float()) * self.rotate(x)
