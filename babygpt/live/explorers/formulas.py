"""Explorers of closed formulas: the sinusoid, RoPE, ALiBi, the Gaussian kernel, branch codes, polar gates."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from babygpt.encodings.alibi import slopes
from babygpt.encodings.fourier import branch_codes
from babygpt.encodings.gaussian import ALPHAS, KERNELS, SIGMAS
from babygpt.encodings.polar import ALPHA, Gated, GatesLast, KeysOnly, LearnedPhase, Polar, Quadrature
from babygpt.encodings.rotary import Rotary, rotate
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt.live.explorer import Choice, Explorer, Scale, Slider
from babygpt.metrics.inspection import kernel_values, reach
from babygpt.metrics.parallel_texts import cosines
from babygpt.models.transformer import SHARPNESS, norm, score_scale
from babygpt.plots import explorers as draw
from babygpt.positions import Positions

HEAD_DIM = 32
FURTHEST = 64  # tokens; rows of the sinusoid's table too
AWAY = np.arange(FURTHEST + 1)
LATER = 37  # tokens from one pair of hands to the other, which has the same distance between q and k
THETA = Scale("theta", 10_000.0, 10.0, 1_000_000.0, "θ")  # of RoPE's and the sinusoid's frequencies


def measure_sinusoid(position: int, width: int, theta: float) -> dict[str, Any]:
    """Return the code of every position, and its likeness to the code at `position`.

    returns  table (FURTHEST, width); likeness (FURTHEST,), 1 at `position` itself; turning, the number
             of pairs of channels that turn at least once within the table; position
    """
    table = sinusoid(torch.arange(FURTHEST), width, theta)
    likeness = table @ table[position] / (width / 2)
    turning = int((frequencies(width, theta) * FURTHEST >= 2 * math.pi).sum())
    return {"table": table.numpy(), "likeness": likeness.numpy(), "turning": turning, "position": position}


def sinusoidal() -> Explorer:
    """Explore the code of each position, and how quickly positions stop looking alike.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.5.
    """
    controls = [
        Slider("position", 20, 0, FURTHEST - 1, "position (tokens)"),
        Slider("width", 64, 8, 128, "width (channels)", step=8),
        THETA,
    ]
    together = ("width", "theta")
    return Explorer("sinusoid", measure_sinusoid, draw.sinusoid, controls, (1.3, 1), together=together)


def measure_rope(position: int, distance: int, pair: int, theta: float) -> dict[str, Any]:
    """Return the angles of a query at `position` and a key `distance` before it, and all scores.

    returns  angles of q and k in one pair, radians, and those of a query and a key LATER tokens on; the
             score of q = k = (1, ..., 1) at each distance, as a share of the score at distance 0
    """
    omega = float(frequencies(HEAD_DIM, theta)[pair - 1])
    ones = torch.ones(1, 1, FURTHEST + 1, HEAD_DIM, dtype=torch.float64)
    rotated = rotate(ones, torch.arange(FURTHEST + 1), theta)[0, 0]
    here, later = (
        {f"q at {q}": q * omega, f"k at {q - distance}": (q - distance) * omega}
        for q in (position, position + LATER)
    )
    scores = (rotated @ rotated[0] / HEAD_DIM).numpy()
    found = {"hands": here, "later": later, "scores": scores, "distance": distance, "shift": LATER}
    return found | {"between": distance * omega}


def rotary() -> Explorer:
    """Explore RoPE: the angle and the score of a query and a key depend only on their distance.

    Source: Su et al. 2021, arXiv:2104.09864.
    """
    controls = [
        Slider("position", 20, 16, 100, "position of q"),
        Slider("distance", 3, 0, 16, "distance (tokens)"),
        Slider("pair", 3, 1, HEAD_DIM // 2, "pair of channels"),
        THETA,
    ]
    together = ("position", "distance")
    return Explorer("RoPE", measure_rope, draw.rope, controls, (1.15, 1.15, 1.5), 3.5, together)


def measure_alibi(n_head: int, steepness: float, theta: float, distance: int) -> dict[str, Any]:
    """Return the scores of each head at each distance if all keys are alike, and RoPE's if q = k.

    returns  scores, and weights summed up to each distance: name -> (FURTHEST + 1,); near: name -> share of
             attention on tokens at most `distance` away; distance
    """
    away = torch.arange(FURTHEST + 1, dtype=torch.float64)
    scores = {f"head {h + 1}": -steepness * s * away for h, s in enumerate(slopes(n_head).double())}
    likeness = torch.cos(away[:, None] * frequencies(HEAD_DIM, theta)).mean(dim=-1)
    scores["RoPE"] = SHARPNESS * HEAD_DIM**0.5 * (likeness - 1)  # as for normalised q and k
    weights = {name: score.softmax(dim=0) for name, score in scores.items()}
    return {
        "scores": {name: score.numpy() for name, score in scores.items()},
        "near": {name: float(weight[: distance + 1].sum()) for name, weight in weights.items()},
        "weights": {name: weight.cumsum(dim=0).numpy() for name, weight in weights.items()},
        "distance": distance,
    }


def alibi() -> Explorer:
    """Explore how far each head of ALiBi looks, beside RoPE with a query that equals its keys.

    Source: Press et al. 2022, arXiv:2108.12409.
    """
    controls = [
        Slider("distance", 8, 0, FURTHEST, "distance (tokens)"),
        Choice("n_head", (4, 2, 6), "heads"),
        Scale("steepness", 1.0, 0.1, 10.0, "steepness"),
        Scale("theta", 10_000.0, 10.0, 1_000_000.0, "θ of RoPE"),
    ]
    together = ("n_head", "steepness")
    return Explorer("ALiBi", measure_alibi, draw.alibi, controls, (1, 1), together=together)


POSITIONS = Positions.arange(FURTHEST + 1)


def scores_of(encoding: Rotary) -> Tensor:
    """Return scores of one random query at every row with one random key at every column: (65, 65).

    Both are as long as a model's.
    """
    q, k = norm(torch.randn(2, 1, 1, 1, HEAD_DIM, generator=torch.Generator().manual_seed(5)))
    q, k = (x.expand(1, 1, len(POSITIONS), HEAD_DIM) for x in (q, k))
    q, k = encoding.transform_qk(q, k, POSITIONS)
    scores, bias = (q @ k.mT)[0, 0] * score_scale(q), encoding.score_bias(POSITIONS, POSITIONS)
    return scores if bias is None else scores + bias[0]


def measure_kernel(
    kernel: str, position: int, sigma1: float, sigma2: float, alpha1: float, alpha2: float
) -> dict[str, Any]:
    """Return what a kernel does to the scores of one query and one key, at every pair of positions.

    returns  K at each distance, whole and by its two parts; the score map; the attention of a query at
             `position` on tokens up to there, with the kernel and without; how far K reaches; step, by how
             much a score changes at most when query and key move on by one
    """
    encoding = KERNELS[kernel](HEAD_DIM, (alpha1, alpha2), (sigma1, sigma2), learnable=False)
    parts = [a * np.exp(-((AWAY / s) ** 2) / 2) for a, s in ((alpha1, sigma1), (alpha2, sigma2))]
    scores, plain = scores_of(encoding), scores_of(Rotary(HEAD_DIM))
    rows = {"RoPE": plain[position, : position + 1], "with K": scores[position, : position + 1]}
    return {
        "K": {"K": kernel_values(encoding, FURTHEST), "α₁ part": parts[0], "α₂ part": parts[1]},
        "reach": {share: reach(encoding, share) for share in (0.5, 0.01)},
        "scores": scores.numpy(),
        "step": float((scores[1:, 1:] - scores[:-1, :-1]).abs().max()),
        "rows": {name: row.softmax(dim=0).numpy() for name, row in rows.items()},
        "position": position,
    }


def gaussian() -> Explorer:
    """Explore what the two scales of K do to scores: by the note's formula, or repaired.

    Source: note 001.
    """
    controls = [
        Choice("kernel", tuple(reversed(KERNELS)), "kernel"),
        Slider("position", 40, 1, FURTHEST, "position of q"),
        Scale("sigma1", SIGMAS[0], 1.0, 100.0, "σ₁ (tokens)"),
        Scale("sigma2", SIGMAS[1], 1.0, 100.0, "σ₂ (tokens)"),
        Scale("alpha1", ALPHAS[0], 0.01, 10.0, "α₁"),
        Scale("alpha2", ALPHAS[1], 0.01, 10.0, "α₂"),
    ]
    together = ("kernel", "sigma1", "sigma2")
    return Explorer(
        "Gaussian kernel", measure_kernel, draw.kernel, controls, (1, 1.1, 1.15), together=together
    )


def measure_branches(n: int, stride: float, theta: float, width: int) -> dict[str, Any]:
    """Return the similarity of n branches under two codes that share their frequencies.

    returns  cosines of the Fourier codes and of a rotated vector of ones, (n, n) each; distance of the
             first two codes; cosine of branch 0 with each branch, by all pairs of channels and by the
             slowest pair alone
    """
    added, rotated = (codes.double() for codes in branch_codes(width, theta, stride, n).values())
    slowest = torch.arange(n, dtype=torch.float64) * stride * frequencies(width, theta)[-1]
    alike = cosines(added)
    return {
        "fourier": alike.numpy(),
        "rope": cosines(rotated).numpy(),
        "distance": float((added[0] - added[1]).norm()),
        "to first": {"all pairs": alike[0].numpy(), "the slowest pair": slowest.cos().numpy()},
    }


def branches() -> Explorer:
    """Explore how far apart Fourier codes and 2-D RoPE put parallel texts.

    Source: notes 002 and 003.
    """
    controls = [
        Scale("stride", 128.0, 1.0, 8192.0, "stride (positions)"),
        Slider("n", 8, 2, 16, "branches"),
        Slider("width", 512, 8, 512, "width (channels)", step=8),
        THETA,
    ]
    together = ("stride", "n")
    return Explorer("branches", measure_branches, draw.branches, controls, (1.15, 1.15, 1), together=together)


LAST = 48  # position
HIDDEN = torch.arange(LAST + 1) % 16 >= 13  # MASK tokens: three of sixteen
SUMS = (24, 48, 72)  # of i + j
ORDERS = ("gates, then norm", "norm, then gates")


class Product(GatesLast):
    """Gate of the note, cos(i omega) cos(phi), without the norm after it."""

    def gate(self, positions: Positions) -> Tensor:
        return Polar.gate(self, positions)


GATES: dict[str, type[Gated]] = {
    "cos(iω) cos φ": Product,
    "cos(iω + φ)": GatesLast,
    "... α on keys only": KeysOnly,
    "[cos, sin]": Quadrature,
    "[cos, sin], φ between": LearnedPhase,
}


def gated(
    gate: str, order: str, alpha: float, phi: float, theta: float, masks: bool
) -> tuple[Tensor, Tensor]:
    """Return query and key (1, ..., 1) at every position, with their gates: 2 x (LAST + 1, D or 2 D).

    phi    radians, equal for every dimension
    masks  whether some of the tokens are MASK
    """
    heads = {"n_head": 1} if GATES[gate] is LearnedPhase else {}
    encoding = GATES[gate](**heads, head_dim=HEAD_DIM, alpha=alpha, theta=theta)
    for phase in encoding.parameters():
        torch.nn.init.constant_(phase, phi)
    positions = Positions(torch.arange(LAST + 1), masked=(HIDDEN if masks else HIDDEN & False)[None])
    ones = torch.ones(1, 1, LAST + 1, HEAD_DIM, dtype=torch.float64)
    with torch.inference_mode():
        q, k = (x[0, 0] for x in encoding.transform_qk(ones, ones, positions))
    return (norm(q), norm(k)) if order == ORDERS[0] else (q, k)


def measure_gates(gate: str, order: str, alpha: float, phi: int, theta: float) -> dict[str, Any]:
    """Return the gates of a key, the scores of q = k = (1, ..., 1), and how far they break their promises.

    phi      degrees, equal for every dimension
    returns  alpha and phi; gates and scores with some tokens MASK; moved: by how much alpha changes a score;
             without MASK, step and uneven: by how much a score changes along a diagonal, and when i and j are
             exchanged; across: for some i + j the scores over i - j, and apart: how far apart these are at
             most; the ends of the colours of gates and scores, which no slider moves
    """

    def scores_of(alpha: float, masks: bool) -> Tensor:  # (i, j)
        q, k = gated(gate, order, alpha, math.radians(phi), theta, masks)
        return q @ k.T * score_scale(torch.ones(HEAD_DIM))

    scores, plain = scores_of(alpha, True), scores_of(alpha, False)
    half = torch.arange(-SUMS[0] // 2, SUMS[0] // 2 + 1)  # of i - j
    across = {f"i + j = {n}": plain[n // 2 + half, n // 2 - half].numpy() for n in SUMS}
    doubled = max(0.0, math.ceil(math.log2(float(plain.abs().max()) / 12.0 + 1e-9)))
    return {
        "alpha": alpha,
        "phi": phi,
        "masked": HIDDEN.numpy(),
        "gates": gated(gate, order, alpha, math.radians(phi), theta, True)[1].numpy(),
        "scores": scores.numpy(),
        "moved": float((scores - scores_of(1.0, True)).abs().max()),
        "step": float((plain[1:, 1:] - plain[:-1, :-1]).abs().max()),
        "uneven": float((plain - plain.T).abs().max()),
        "across": across,
        "apart": float(np.ptp(list(across.values()), axis=0).max()),
        "ends": {"gates": 1.0 if order == ORDERS[1] else 2.0, "scores": 12.0 * 2.0**doubled},
    }


def polar() -> Explorer:
    """Explore what a gate, before or after the norm, leaves of two positions in a score.

    Source: note 000, section 2, and its repairs.
    """
    controls = [
        Choice("gate", tuple(GATES), "gate"),
        Choice("order", ORDERS, "order"),
        Scale("alpha", ALPHA, 0.03, 3.0, "α of MASK"),
        Slider("phi", 0, -180, 180, "φ (degrees)", step=15),
        THETA,
    ]
    together = ("gate", "order", "alpha")
    return Explorer("polar gates", measure_gates, draw.polar, controls, (1, 1.15, 1), together=together)
