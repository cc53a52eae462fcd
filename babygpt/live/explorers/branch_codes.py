"""Explorer of branch codes: the similarity of texts by Fourier codes and by 2-D RoPE."""

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
from babygpt.metrics.parallel_texts import cosines

CONTROLS: tuple[Control, ...] = (
    Scale("stride", 128.0, 1.0, 8192.0, "stride (positions)"),
    Slider("n", 8, 2, 16, "branches"),
    Slider("width", 512, 8, 512, "width (channels)", step=8),
    THETA,
)


def measure(n: int, stride: float, theta: float, width: int) -> dict[str, Any]:
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


def draw(added: Axes, rotated: Axes, curve: Axes, found: dict[str, Any]) -> None:
    """Draw two matrices that differ if the codes do, and the cosines of branch 0 with the others."""
    n = len(found["fourier"])
    look = ("branch", "branch", [str(b) for b in range(n)], True, 1.0, True)
    near = f"{found['fourier'][0, 1]:.0%} alike, {found['distance']:.1f} apart"
    plots.draw_matrix(added, found["fourier"], f"Fourier: {near}", *look)
    difference = np.abs(found["fourier"] - found["rope"]).max()
    plots.draw_matrix(rotated, found["rope"], f"2-D RoPE: the same to {difference:.0e}", *look)
    names = ("What the slowest pair hides", "branch", "cosine with branch 0")
    spans = (0.0, n - 1.0), (-1.05, 1.6)
    plots.draw_curves(curve, np.arange(n), found["to first"], *names, *spans, "upper right")


def branches() -> Explorer:
    """Explore how far apart Fourier codes and 2-D RoPE put parallel texts.

    Source: notes 002 and 003.
    """
    together = (("stride", "n"), ("width", "theta"))
    return Explorer("branches", measure, draw, CONTROLS, widths=(1.15, 1.15, 1), together=together)
