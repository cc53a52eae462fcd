"""Promises of encodings: of scores, of codes that are added, of a gate's alpha and phase."""

import math
from copy import deepcopy

import torch
from torch import Tensor

from babygpt.encodings import Encoding, Sinusoidal
from babygpt.encodings.rotary import rotate_pairs
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt.errors import BadInput
from babygpt.invariants.base import Promise, random_qk, unmasked_positions
from babygpt.models.language_model import LanguageModel
from babygpt.models.transformer import norm
from babygpt.objectives import cross_entropy, denoise
from babygpt.objectives.diffusion import mask_token_id
from babygpt.positions import Positions

MASKED = torch.arange(16) % 3 == 1  # which of sixteen tokens in a row are MASK
ALPHAS = (0.1, 0.3, 3.0)  # each is compared with alpha = 1


def score(encoding: Encoding, q: Tensor, k: Tensor, m: int, n: int) -> Tensor:
    """Return the scores of queries at position m with keys at position n, before any scaling: (B, H)."""
    queries, keys = unmasked_positions(1, m), unmasked_positions(1, n)
    q_m, _ = encoding.transform_qk(q, q, queries)
    _, k_n = encoding.transform_qk(k, k, keys)
    scores = (q_m * k_n).sum(dim=-1)[..., 0]  # (B, H)
    bias = encoding.score_bias(queries, keys)
    return scores if bias is None else scores + bias[..., 0, 0]


@torch.inference_mode()
def norm_preserved(encoding: Encoding, n_head: int = 4, head_dim: int = 32, furthest: int = 512) -> Promise:
    """Measure how much the norm of a query changes with its position."""
    q, k = random_qk(n_head, head_dim)
    changes = [
        (encoding.transform_qk(q, k, unmasked_positions(1, m))[0].norm(dim=-1) / q.norm(dim=-1) - 1)
        .abs()
        .max()
        for m in range(0, furthest, 31)
    ]
    return Promise("a query keeps its length at every position", float(max(changes)), 1e-6)


@torch.inference_mode()
def shift_invariant(encoding: Encoding, n_head: int = 4, head_dim: int = 32, furthest: int = 512) -> Promise:
    """Measure the largest change of a score of q at m and k at n when both positions move together.

    q and k are random; `transform_qk` and `score_bias` make the scores.
    """
    q, k = random_qk(n_head, head_dim)
    worst = 0.0
    for m, n in ((0, 0), (5, 2), (40, 0), (100, 37)):
        here = score(encoding, q, k, m, n)
        for shift in (1, 10, furthest - m):
            worst = max(worst, float((score(encoding, q, k, m + shift, n + shift) - here).abs().max()))
    return Promise("a score depends on the distance alone", worst, 1e-6)


@torch.inference_mode()
def left_right_symmetry(
    encoding: Encoding, n_head: int = 4, head_dim: int = 32, furthest: int = 512
) -> Promise:
    """Measure how the scores of equal keys differ, as far to the right of a query as to its left."""
    q, k = random_qk(n_head, head_dim)
    worst = 0.0
    for distance in (1, 2, 10, furthest // 2):
        left_score, right_score = (
            score(encoding, q, k, furthest, furthest + shift) for shift in (-distance, distance)
        )
        worst = max(worst, float((left_score - right_score).abs().max()))
    return Promise("left and right look alike", worst, 1e-6)


def table_equals_closed_form(encoding: Sinusoidal) -> Promise:
    """Compare the sinusoidal encoding with sin(m theta^(-2i/C)) and cos(m theta^(-2i/C))."""
    added = encoding.embed(torch.zeros(1, 64, encoding.n_embd), Positions.arange(64))[0]
    worst = 0.0
    for m in range(64):
        for c in range(encoding.n_embd):
            angle = m / math.pow(encoding.theta, 2 * (c // 2) / encoding.n_embd)
            worst = max(worst, abs(float(added[m, c]) - (math.cos if c % 2 else math.sin)(angle)))
    return Promise("the table equals its closed form", worst, 1e-6)


def shift_is_rotation(width: int = 64, shift: int = 7, theta: float = 10_000.0) -> Promise:
    """Compare the sinusoid at m + shift with that at m, each pair rotated by -shift times its frequency.

    The sign is negative because a pair holds (sin, cos) and not (cos, sin).
    """
    here, there = (sinusoid(torch.arange(100) + s, width, theta) for s in (0, shift))
    rotated = rotate_pairs(here, -shift * frequencies(width, theta))
    return Promise("a shift is a rotation", float((rotated - there).abs().max()), 1e-5)


@torch.inference_mode()
def alpha_is_idle(encoding: Encoding, n_head: int = 4, head_dim: int = 32) -> Promise:
    """Measure how alpha changes the scores of random q and k, in standard deviations of all scores.

    encoding  with a number called alpha; n_head heads of head_dim channels
    Raises BadInput if it has none.
    """
    draw, positions = torch.Generator().manual_seed(0), Positions(torch.arange(len(MASKED)), masked=MASKED)
    q, k = norm(torch.randn(2, 1, n_head, len(MASKED), head_dim, generator=draw, dtype=torch.float64))

    def scores(alpha: float) -> Tensor:
        changed = deepcopy(encoding)
        changed.steer("alpha", alpha)
        new_q, new_k = changed.transform_qk(q, k, positions)
        return new_q @ new_k.mT  # (1, H, T, T)

    plain = scores(1.0)
    worst = max(float((scores(alpha) - plain).abs().max()) for alpha in ALPHAS)
    return Promise("alpha changes no score", worst / float(plain.std()), 1e-3)


def phase_gradient(model: LanguageModel, idx: Tensor, phase: str = "phi") -> float:
    """Return the largest gradient of the encoding's phase when every other token of a text is filled in.

    idx      (T,)  token ids, no MASK among them
    phase    name of the parameter: "phi", or "delta"
    Raises BadInput if the encoding has no such parameter. Raises it also if no gradient reaches the
    queries, as before the first step: then a gradient of 0 would say nothing about the phase.
    """
    parameter = dict(model.encoding.named_parameters()).get(phase)
    if parameter is None:
        raise BadInput(f"{type(model.encoding).__name__} has no parameter called {phase!r}")
    queries = [p for name, p in model.named_parameters() if name.endswith("to_q.weight")]
    holes = idx.clone()
    holes[::2] = mask_token_id(model)
    loss = cross_entropy(denoise(model, holes[None]), idx[None])[0, ::2].mean()
    phase_grad, *query_grads = torch.autograd.grad(loss, [parameter, *queries])
    if not any(bool(grad.any()) for grad in query_grads):
        raise BadInput("no gradient reaches the queries: train the model for a few steps first")
    return float(phase_grad.abs().max())


def phase_never_learns(model: LanguageModel, idx: Tensor, phase: str = "phi") -> Promise:
    """Measure the gradient of the phase; the arguments are those of `phase_gradient`."""
    return Promise("the phase gets no gradient", phase_gradient(model, idx, phase), 0.0)
