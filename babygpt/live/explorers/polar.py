"""Explorer of polar gates: what they do to a key, and what a score still depends on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from torch import Tensor

from babygpt import plots
from babygpt.encodings.polar import ALPHA, Gated, GatesLast, KeysOnly, LearnedPhase, Polar, Quadrature
from babygpt.live.controls import THETA, Choice, Control, Scale, Slider, format_number
from babygpt.live.explorer import Explorer
from babygpt.models.transformer import norm, score_scale
from babygpt.positions import Positions

FURTHEST, HEAD_DIM = 48, 32
HIDDEN = torch.arange(FURTHEST + 1) % 16 >= 13  # MASK tokens: three of sixteen
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
CONTROLS: tuple[Control, ...] = (
    Choice("gate", tuple(GATES), "gate"),
    Choice("order", ORDERS, "order"),
    Scale("alpha", ALPHA, 0.03, 3.0, "α of MASK"),
    Slider("phi", 0, -180, 180, "φ (degrees)", step=15),
    THETA,
)


def gated(
    gate: str, order: str, alpha: float, phi: float, theta: float, masks: bool
) -> tuple[Tensor, Tensor]:
    """Return query and key (1, ..., 1) at every position, with their gates: 2 x (FURTHEST + 1, D or 2 D).

    phi    radians, equal for every dimension
    masks  whether some of the tokens are MASK
    """
    heads = {"n_head": 1} if GATES[gate] is LearnedPhase else {}
    encoding = GATES[gate](**heads, head_dim=HEAD_DIM, alpha=alpha, theta=theta)
    for phase in encoding.parameters():
        torch.nn.init.constant_(phase, phi)
    positions = Positions(torch.arange(FURTHEST + 1), masked=(HIDDEN if masks else HIDDEN & False)[None])
    ones = torch.ones(1, 1, FURTHEST + 1, HEAD_DIM, dtype=torch.float64)
    with torch.inference_mode():
        q, k = (x[0, 0] for x in encoding.transform_qk(ones, ones, positions))
    return (norm(q), norm(k)) if order == ORDERS[0] else (q, k)


def measure(gate: str, order: str, alpha: float, phi: int, theta: float) -> dict[str, Any]:
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
        "gates": gated(gate, order, alpha, math.radians(phi), theta, True)[1].numpy(),
        "scores": scores.numpy(),
        "moved": float((scores - scores_of(1.0, True)).abs().max()),
        "step": float((plain[1:, 1:] - plain[:-1, :-1]).abs().max()),
        "uneven": float((plain - plain.T).abs().max()),
        "across": across,
        "apart": float(np.ptp(list(across.values()), axis=0).max()),
        "ends": {"gates": 1.0 if order == ORDERS[1] else 2.0, "scores": 12.0 * 2.0**doubled},
    }


def draw(gates: Axes, square: Axes, curve: Axes, found: dict[str, Any]) -> None:
    """Draw gates over position and dimension, the score map, and scores across it."""
    title = f"α = {format_number(found['alpha'])} moves scores by {found['moved']:.2f}"
    plots.draw_gates(gates, found["gates"], HIDDEN.numpy(), title, "channel", top=found["ends"]["gates"])

    step, top = found["step"], found["ends"]["scores"]
    change = "constant along diagonals" if step < 1e-9 else f"diagonals change by {step:.2f}"
    labels = (f"φ = {found['phi']}°: {change}", "position of the key j", "position of the query i")
    plots.draw_matrix(square, found["scores"], *labels, diverging=True, top=top)

    title = f"Change: i + j {found['apart']:.1f}, i ↔ j {found['uneven']:.1f}"
    labels = (title, "i − j (tokens)", "score")
    spans = (-float(SUMS[0]), float(SUMS[0])), (-top, 1.9 * top)  # with room for the legend
    look: Any = ("upper right", 1, dict(zip(found["across"], plots.SHADES, strict=True)))
    plots.draw_curves(curve, np.arange(-SUMS[0], SUMS[0] + 1, 2), found["across"], *labels, *spans, *look)


def polar() -> Explorer:
    """Explore what a gate, before or after the norm, leaves of two positions in a score.

    Source: note 000, section 2, and its repairs.
    """
    together = [("gate", "order", name) for name in ("alpha", "phi", "theta")]
    return Explorer("polar gates", measure, draw, CONTROLS, widths=(1, 1.15, 1), together=together)
