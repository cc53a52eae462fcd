"""Explorer of the sinusoidal code: a pattern for each position, and the likeness of two positions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes

from babygpt import plots
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt.live.controls import THETA, Control, Slider
from babygpt.live.explorer import Explorer
from babygpt.plots import artists

N_POSITIONS = 64
CONTROLS: tuple[Control, ...] = (
    Slider("position", 20, 0, N_POSITIONS - 1, "position (tokens)"),
    Slider("width", 64, 8, 128, "width (channels)", step=8),
    THETA,
)


def measure(position: int, width: int, theta: float) -> dict[str, Any]:
    """Return the code of every position, and its likeness to the code at `position`.

    returns  table (N_POSITIONS, width); likeness (N_POSITIONS,), 1 at `position` itself; turning, the number
             of pairs of channels that turn at least once within the table; position
    """
    table = sinusoid(torch.arange(N_POSITIONS), width, theta)
    likeness = table @ table[position] / (width / 2)
    turning = int((frequencies(width, theta) * N_POSITIONS >= 2 * math.pi).sum())
    return {"table": table.numpy(), "likeness": likeness.numpy(), "turning": turning, "position": position}


def draw(codes: Axes, curve: Axes, found: dict[str, Any]) -> None:
    """Draw the table with one row marked, and the likeness of that row to all."""
    position, pairs = found["position"], found["table"].shape[1] // 2
    title = f"{found['turning']} of {pairs} pairs turn at least once in {N_POSITIONS}"
    plots.draw_matrix(codes, found["table"], title, "channel", "position (tokens)", diverging=True, top=1.0)
    artists.horizontal_line(codes, "position", position, color=plots.COLOURS["red"], lw=1.5)
    near = min(position + 8, N_POSITIONS - 1)
    title = f"Likeness of {position} and {near}: {found['likeness'][near]:.2f}"
    labels = (title, "position (tokens)", "likeness (share of code · code)")
    spans = (0.0, float(N_POSITIONS - 1)), (-0.6, 1.1)
    plots.draw_curves(curve, np.arange(N_POSITIONS), {"likeness": found["likeness"]}, *labels, *spans)
    artists.dot(curve, "here", (position, 1.0), plots.COLOURS["red"])


def sinusoidal() -> Explorer:
    """Explore the code of each position, and how quickly positions stop looking alike.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.5.
    """
    return Explorer("sinusoid", measure, draw, CONTROLS, widths=(1.3, 1), together=[("width", "theta")])
