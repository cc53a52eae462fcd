"""Explorer of ALiBi: heads that forget steeply or gently, beside RoPE, whose score oscillates."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes

from babygpt import plots
from babygpt.encodings.alibi import slopes
from babygpt.encodings.sinusoidal import frequencies
from babygpt.live.controls import Choice, Control, Scale, Slider
from babygpt.live.explorer import Explorer
from babygpt.models.transformer import SHARPNESS

FURTHEST, HEAD_DIM = 64, 32
CONTROLS: tuple[Control, ...] = (
    Slider("distance", 8, 0, FURTHEST, "distance (tokens)"),
    Choice("n_head", (4, 2, 6), "heads"),
    Scale("steepness", 1.0, 0.1, 10.0, "steepness"),
    Scale("theta", 10_000.0, 10.0, 1_000_000.0, "θ of RoPE"),
)


def measure(n_head: int, steepness: float, theta: float, distance: int) -> dict[str, Any]:
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


def draw(score: Axes, share: Axes, found: dict[str, Any]) -> None:
    """Draw the scores over the distance, and the share of attention spent up to each distance."""
    away, x_span = np.arange(FURTHEST + 1), (0.0, float(FURTHEST))
    labels = ("What distance takes from a score", "distance (tokens)", "score")
    plots.draw_curves(score, away, found["scores"], *labels, x_span, (-20.0, 6.0), "upper right", 4)
    near, first = found["near"], next(iter(found["near"]))
    title = f"Within {found['distance']} tokens: head 1 {near[first]:.0%}, RoPE {near['RoPE']:.0%}"
    labels = (title, "distance (tokens)", "attention up to there")
    plots.draw_curves(share, away, found["weights"], *labels, x_span, (0.0, 1.05), "lower right", 2)
    plots.mark_x(share, found["distance"])


def alibi() -> Explorer:
    """Explore how far each head of ALiBi looks, beside RoPE with a query that equals its keys.

    Source: Press et al. 2022, arXiv:2108.12409.
    """
    return Explorer("ALiBi", measure, draw, CONTROLS, widths=(1, 1), together=[("n_head", "steepness")])
