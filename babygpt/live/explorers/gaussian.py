"""Explorer of the Gaussian kernel: how K falls, what it does to scores and to the attention of one token."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from torch import Tensor

from babygpt import plots
from babygpt.encodings.gaussian import ALPHAS, KERNELS, SIGMAS
from babygpt.encodings.rotary import Rotary
from babygpt.live.controls import Choice, Control, Scale, Slider
from babygpt.live.explorer import Explorer
from babygpt.metrics.inspection import kernel_values, reach
from babygpt.models.transformer import norm, score_scale
from babygpt.plots import artists
from babygpt.positions import Positions

FURTHEST, HEAD_DIM, NEAR = 64, 32, 8
POWERS = (1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0)
POSITIONS = Positions.arange(FURTHEST + 1)
CONTROLS: tuple[Control, ...] = (
    Choice("kernel", tuple(reversed(KERNELS)), "kernel"),
    Slider("position", 40, 1, FURTHEST, "position of q"),
    Scale("sigma1", SIGMAS[0], 1.0, 100.0, "σ₁ (tokens)"),
    Scale("sigma2", SIGMAS[1], 1.0, 100.0, "σ₂ (tokens)"),
    Scale("alpha1", ALPHAS[0], 0.01, 10.0, "α₁"),
    Scale("alpha2", ALPHAS[1], 0.01, 10.0, "α₂"),
)


def scores_of(encoding: Rotary) -> Tensor:
    """Return scores of one random query at every row with one random key at every column: (65, 65).

    Both are as long as a model's.
    """
    q, k = norm(torch.randn(2, 1, 1, 1, HEAD_DIM, generator=torch.Generator().manual_seed(5)))
    q, k = (x.expand(1, 1, len(POSITIONS), HEAD_DIM) for x in (q, k))
    q, k = encoding.transform_qk(q, k, POSITIONS)
    scores, bias = (q @ k.mT)[0, 0] * score_scale(q), encoding.score_bias(POSITIONS, POSITIONS)
    return scores if bias is None else scores + bias[0]


def measure(
    kernel: str, position: int, sigma1: float, sigma2: float, alpha1: float, alpha2: float
) -> dict[str, Any]:
    """Return what a kernel does to the scores of one query and one key, at every pair of positions.

    returns  K at each distance, whole and by its two parts; the score map; the attention of a query at
             `position` on tokens up to there, with the kernel and without; how far K reaches; step, by how
             much a score changes at most when query and key move on by one
    """
    encoding = KERNELS[kernel](HEAD_DIM, (alpha1, alpha2), (sigma1, sigma2), learnable=False)
    away = np.arange(FURTHEST + 1)
    parts = [a * np.exp(-((away / s) ** 2) / 2) for a, s in ((alpha1, sigma1), (alpha2, sigma2))]
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


def draw(fall: Axes, square: Axes, row: Axes, found: dict[str, Any]) -> None:
    """Draw K over the distance, scores with one query marked, and that query's attention."""
    if fall.get_yscale() != "log":
        fall.set_yscale("log")
    artists.set_ticks(fall.yaxis, POWERS, [f"{power:g}" for power in POWERS])
    half, hundredth = found["reach"].values()
    away, x_span = np.arange(FURTHEST + 1), (0.0, float(FURTHEST))
    labels = (f"K: half at {half:,}, 1/100 at {hundredth:,}", "m (tokens)", "K(m), powers of ten")
    floored = {name: np.maximum(values, 1e-12) for name, values in found["K"].items()}
    plots.draw_curves(fall, away, floored, *labels, x_span, (1e-4, 1000.0), "upper right", 2)

    title = f"Along a diagonal it changes by {found['step']:.2f}"
    labels = (title, "position of the key n", "position of the query m")
    plots.draw_matrix(square, found["scores"], *labels, diverging=True, top=6.0)
    position = found["position"]
    artists.horizontal_line(square, "position", position, color=plots.COLOURS["red"], lw=1.5)

    near = {name: weights[-NEAR - 1 :].sum() for name, weights in found["rows"].items()}
    title = f"{near['with K']:.0%} within {NEAR} tokens; RoPE {near['RoPE']:.0%}"
    labels = (title, "position of the key n", "share of attention")
    later = (0, FURTHEST - position)  # no query looks ahead: nan draws nothing there
    shown = {name: np.pad(weights, later, constant_values=np.nan) for name, weights in found["rows"].items()}
    plots.draw_curves(row, away, shown, *labels, x_span, (0.0, 1.25), "upper right", 2)


def gaussian() -> Explorer:
    """Explore what the two scales of K do to scores: by the note's formula, or repaired.

    Source: note 001.
    """
    together = [("kernel", "sigma1", "sigma2"), ("kernel", "position"), ("kernel", "alpha1", "alpha2")]
    return Explorer("Gaussian kernel", measure, draw, CONTROLS, widths=(1, 1.1, 1.15), together=together)
