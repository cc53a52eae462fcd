"""Polar gates: what they do to a key, and what is left of two places when a query meets it."""

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
HIDDEN = torch.arange(FURTHEST + 1) % 16 >= 13  # what is MASK: three tokens of sixteen
SUMS = (24, 48, 72)  # of i + j
ORDERS = ("gates, then norm", "norm, then gates")


class Product(GatesLast):
    """The note's gate, cos(i omega) cos(phi), without the norm after it."""

    def gate(self, positions: Positions) -> Tensor:
        return Polar.gate(self, positions)


GATES: dict[str, type[Gated]] = {
    "cos(iω) cos φ": Product,
    "cos(iω + φ)": GatesLast,
    "... α on keys only": KeysOnly,
    "[cos, sin]": Quadrature,
    "[cos, sin], φ between": LearnedPhase,
}


def gated(gate: str, order: str, alpha: float, phi: float, theta: float, some: bool) -> tuple[Tensor, Tensor]:
    """Return query and key (1, ..., 1) at every position, with their gates: 2 x (FURTHEST + 1, D or 2 D).

    phi   radians, the same for every dimension
    some  whether some of the tokens are MASK
    """
    heads = {"n_head": 1} if GATES[gate] is LearnedPhase else {}
    encoding = GATES[gate](**heads, head_dim=HEAD_DIM, alpha=alpha, theta=theta)
    for phase in encoding.parameters():
        torch.nn.init.constant_(phase, phi)
    positions = Positions(torch.arange(FURTHEST + 1), masked=(HIDDEN if some else HIDDEN & False)[None])
    ones = torch.ones(1, 1, FURTHEST + 1, HEAD_DIM, dtype=torch.float64)
    with torch.inference_mode():
        q, k = (x[0, 0] for x in encoding.transform_qk(ones, ones, positions))
    return (norm(q), norm(k)) if order == ORDERS[0] else (q, k)


def scores_of(*how: Any) -> Tensor:
    """Return the scores of the query at every row with the key at every column: (FURTHEST + 1, same)."""
    q, k = gated(*how)
    return q @ k.T * score_scale(torch.ones(HEAD_DIM))


def measure(gate: str, order: str, alpha: float, phi: int, theta: float) -> dict[str, Any]:
    """Return the gates of a key, the scores of q = k = (1, ..., 1), and how far they break their promises.

    phi      degrees, the same for every dimension
    returns  what was set; gates and scores with some tokens MASK; by how much alpha changes a score;
             without MASK, by how much a score changes along a diagonal, and when i and j are exchanged;
             for some i + j the scores over i - j, and how far apart they are at most; and where the
             colours of gates and scores end, which no slider moves
    """
    radians = math.radians(phi)
    scores = scores_of(gate, order, alpha, radians, theta, True)
    plain = scores_of(gate, order, alpha, radians, theta, False)
    curves = {f"i + j = {n}": across(plain, n) for n in SUMS}
    return {
        "gates": gated(gate, order, alpha, radians, theta, True)[1].numpy(),
        "scores": scores.numpy(),
        "set": {"α": format_number(alpha), "φ": phi},
        "moved": float((scores - scores_of(gate, order, 1.0, radians, theta, True)).abs().max()),
        "step": float((plain[1:, 1:] - plain[:-1, :-1]).abs().max()),
        "uneven": float((plain - plain.T).abs().max()),
        "tops": {"gates": 1.0 if order == ORDERS[1] else 2.0, "scores": axis_end(plain, 12.0)},
        "across": curves,
        "apart": float(np.ptp(list(curves.values()), axis=0).max()),
    }


def across(scores: Tensor, total: int) -> np.ndarray:
    """Return the scores where i + j is `total` and i - j goes from -SUMS[0] to SUMS[0] in steps of two."""
    half = torch.arange(-SUMS[0] // 2, SUMS[0] // 2 + 1)
    return scores[total // 2 + half, total // 2 - half].numpy()


def draw(gates: Axes, square: Axes, curve: Axes, found: dict[str, Any]) -> None:
    """Draw gates over position and dimension, the score map, and scores across it."""
    title = f"α = {found['set']['α']} moves scores by {found['moved']:.2f}"
    mask, names = HIDDEN.numpy(), ("channel", "MASK")
    plots.draw_gates(gates, found["gates"], mask, title, *names, top=found["tops"]["gates"])
    same = found["step"] < 1e-9
    title = "constant along diagonals" if same else f"diagonals change by {found['step']:.2f}"
    labels = (f"φ = {found['set']['φ']}°: {title}", "position of the key j", "position of the query i")
    top = found["tops"]["scores"]
    plots.draw_matrix(square, found["scores"], *labels, diverging=True, top=top)
    apart, uneven = found["apart"], found["uneven"]
    moved = [("nothing" if by < 1e-9 else f"by {by:.1f}") for by in (apart, uneven)]
    title = f"i + j: {moved[0]}, i ↔ j: {moved[1]}"
    labels = (title, "i − j (tokens)", "score")
    spans = (-float(SUMS[0]), float(SUMS[0])), (-top, 1.9 * top)  # with room for the legend
    look: Any = ("upper right", 1, dict(zip(found["across"], plots.SHADES, strict=True)))
    plots.draw_curves(curve, np.arange(-SUMS[0], SUMS[0] + 1, 2), found["across"], *labels, *spans, *look)


def axis_end(values: Tensor, least: float) -> float:
    """Return the end of an axis about 0 that holds the values: `least`, doubled as often as it must be."""
    return least * 2.0 ** max(0.0, math.ceil(math.log2(float(values.abs().max()) / least + 1e-9)))


def polar() -> Explorer:
    """Explore what a gate, before or after the norm, leaves of two positions in a score.

    Source: note 000, section 2, and its repairs.
    """
    controls: list[Control] = [
        Choice("gate", tuple(GATES), "gate"),
        Choice("order", ORDERS, "order"),
        Scale("alpha", ALPHA, 0.03, 3.0, "α of MASK"),
        Slider("phi", 0, -180, 180, "φ (degrees)", step=15),
        THETA,
    ]
    together = [("gate", "order", name) for name in ("alpha", "phi", "theta")]
    return Explorer("polar gates", measure, draw, controls, widths=(1, 1.15, 1), together=together)
