"""What becomes of a gate's two numbers, alpha and the phase, and what a score is made of."""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import Tensor

from babygpt.encodings import Encoding, Quadrature
from babygpt.errors import BadInput
from babygpt.invariants.base import Verdict, random_heads
from babygpt.invariants.encodings import score
from babygpt.models.base import LanguageModel
from babygpt.models.transformer import norm
from babygpt.objectives import cross_entropy, denoise
from babygpt.objectives.diffusion import mask_of
from babygpt.positions import Positions

MASKED = torch.arange(16) % 3 == 1  # of sixteen tokens in a row
ALPHAS = (0.1, 0.3, 3.0)  # set against 1


def _scores(encoding: Encoding, alpha: float, n_head: int, head_dim: int) -> Tensor:
    """Scores of random queries and keys, normalised as in a model, with this alpha: (H, T, T)."""
    changed = deepcopy(encoding)
    changed.steer("alpha", alpha)
    draw = torch.Generator().manual_seed(0)
    q, k = norm(torch.randn(2, 1, n_head, len(MASKED), head_dim, generator=draw, dtype=torch.float64))
    q, k = changed.transform_qk(q, k, Positions(torch.arange(len(MASKED)), masked=MASKED))
    return (q @ k.mT)[0]


@torch.inference_mode()
def alpha_is_idle(encoding: Encoding, n_head: int = 4, head_dim: int = 32) -> Verdict:
    """Changing alpha changes no score: the largest change, as a share of the spread of all scores.

    encoding  with a number called alpha; n_head heads of head_dim channels
    Raises ValueError if it has none.
    """
    plain = _scores(encoding, 1.0, n_head, head_dim)
    worst = max(float((_scores(encoding, a, n_head, head_dim) - plain).abs().max()) for a in ALPHAS)
    return Verdict("alpha changes no score", worst / float(plain.std()), 1e-3)


@torch.inference_mode()
def alpha_spares_queries(encoding: Encoding, n_head: int = 4, head_dim: int = 32) -> Verdict:
    """A MASK looks at what is not masked as sharply as any token: alpha does not flatten its scores.

    The largest change of such a score, as a share of their spread; the arguments are those of
    `alpha_is_idle`.
    """
    plain = _scores(encoding, 1.0, n_head, head_dim)[:, MASKED][..., ~MASKED]
    worst = 0.0
    for alpha in ALPHAS:
        changed = _scores(encoding, alpha, n_head, head_dim)[:, MASKED][..., ~MASKED]
        worst = max(worst, float((changed - plain).abs().max()))
    return Verdict("alpha leaves what a MASK looks for as it is", worst / float(plain.std()), 1e-3)


def phase_gradient(model: LanguageModel, idx: Tensor, phase: str = "phi") -> float:
    """The largest gradient that filling in a text sends to the encoding's phase, every other token masked.

    idx      (T,)  token ids, no MASK among them
    phase    name of the parameter: "phi", or "delta"
    Raises ValueError if the encoding has no such parameter, or if nothing reaches the queries either, as
    in a model before its first step: then a gradient of 0 would say nothing of the phase.
    """
    at = dict(model.encoding.named_parameters()).get(phase)
    if at is None:
        raise BadInput(f"{type(model.encoding).__name__} has no parameter called {phase!r}")
    queries = [p for name, p in model.named_parameters() if name.endswith("to_q.weight")]
    holes = idx.clone()
    holes[::2] = mask_of(model)
    loss = cross_entropy(denoise(model, holes[None]), idx[None])[0, ::2].mean()
    here, *there = torch.autograd.grad(loss, [at, *queries])
    if not any(bool(g.any()) for g in there):
        raise BadInput("no gradient reaches the queries: train the model for a few steps first")
    return float(here.abs().max())


def phase_never_learns(model: LanguageModel, idx: Tensor, phase: str = "phi") -> Verdict:
    """The phase gets no gradient, not even a small one; the arguments are those of `phase_gradient`."""
    return Verdict("the phase gets no gradient", phase_gradient(model, idx, phase), 0.0)


@torch.inference_mode()
def score_equals_closed_form(
    encoding: Quadrature, n_head: int = 4, head_dim: int = 32, furthest: int = 64
) -> Verdict:
    """The score of q at i and k at j is the sum of q_k k_k cos((i - j) omega_k - delta_k).

    encoding  without softplus; where it has no phase, delta is 0
    """
    q, k = random_heads(n_head, head_dim)
    omega = encoding.theta ** (-torch.arange(head_dim, dtype=torch.float64) / head_dim)
    delta = getattr(encoding, "delta", torch.zeros(n_head, head_dim)).double()
    worst = 0.0
    for i, j in ((0, 0), (5, 2), (2, 5), (furthest, 0), (0, furthest)):
        expected = (q * k)[:, :, 0] * ((i - j) * omega - delta).cos()  # (8, H, D)
        worst = max(worst, float((score(encoding, q, k, i, j) - expected.sum(dim=-1)).abs().max()))
    return Verdict("a score is a sum of waves of the distance", worst, 1e-5)
