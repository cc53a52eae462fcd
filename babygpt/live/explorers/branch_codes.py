"""Branch codes: how alike texts look to a model, by Fourier codes and by 2-D RoPE on the same frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes

from babygpt import plots
from babygpt.encodings.fourier import branch_codes
from babygpt.encodings.sinusoidal import frequencies
from babygpt.live.controls import THETA, Control, Scale, Slider
from babygpt.live.explorer import Explorer
from babygpt.metrics.branches import cosines


def measure(n: int, stride: float, theta: float, width: int) -> dict[str, Any]:
    """Return how alike n branches are under two codes that share their frequencies.

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
        "to first": {
            "all pairs": alike[0].numpy(),
            "the slowest pair": slowest.cos().numpy(),
        },
    }


def draw(added: Axes, rotated: Axes, curve: Axes, found: dict[str, Any]) -> None:
    """Draw two matrices that should differ if the codes do, and the cosines of branch 0 with the others."""
    n = len(found["fourier"])
    marks = [str(b) for b in range(n)]
    near = f"{found['fourier'][0, 1]:.0%} alike, {found['distance']:.1f} apart"
    look = ("branch", "branch", marks, True, 1.0, True)
    plots.draw_matrix(added, found["fourier"], f"Fourier: {near}", *look)
    apart = np.abs(found["fourier"] - found["rope"]).max()
    same = f"2-D RoPE: the same to {apart:.0e}"
    plots.draw_matrix(rotated, found["rope"], same, *look)
    title = "What the slowest pair hides"
    names = (title, "branch", "cosine with branch 0")
    plots.draw_curves(
        curve, np.arange(n), found["to first"], *names, (0.0, n - 1.0), (-1.05, 1.6), "upper right"
    )


def branches() -> Explorer:
    """Explore how far apart Fourier codes and 2-D RoPE put parallel texts.

    Source: notes 002 and 003.
    """
    controls: list[Control] = [
        Scale("stride", 128.0, 1.0, 8192.0, "stride (positions)"),
        Slider("n", 8, 2, 16, "branches"),
        Slider("width", 512, 8, 512, "width (channels)", step=8),
        THETA,
    ]
    together = (("stride", "n"), ("width", "theta"))
    return Explorer("branches", measure, draw, controls, widths=(1.15, 1.15, 1), together=together)
