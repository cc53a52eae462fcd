"""The sinusoid: a pattern for each place, and how alike two places look."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes

from babygpt import plots
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt.live.controls import Control, Scale, Slider
from babygpt.live.explorer import Explorer
from babygpt.plots import artists

PLACES = 64


def measure(place: int, width: int, theta: float) -> dict[str, Any]:
    """The code of every place, and its likeness to the code of one.

    returns  table (PLACES, width); likeness (PLACES,), 1 for the place itself; how many pairs of
             channels turn at least once within the table
    """
    table = sinusoid(torch.arange(PLACES), width, theta)
    likeness = table @ table[place] / (width / 2)
    turning = int((frequencies(width, theta) * PLACES >= 2 * math.pi).sum())
    return {"table": table.numpy(), "likeness": likeness.numpy(), "turning": turning, "place": place}


def draw(codes: Axes, curve: Axes, found: dict[str, Any]) -> None:
    """The table with one row marked, and the likeness of that row to all."""
    place, pairs = found["place"], found["table"].shape[1] // 2
    title = f"{found['turning']} of {pairs} pairs turn once in {PLACES} tokens"
    plots.draw_matrix(codes, found["table"], title, "channel", "position (tokens)", diverging=True, top=1.0)
    artists.level(codes, "place", place, color=plots.COLOURS["red"], lw=1.5)
    near = min(place + 8, PLACES - 1)
    title = f"Likeness of {place} and {near}: {found['likeness'][near]:.2f}"
    labels = (title, "position (tokens)", "likeness (share of code · code)")
    spans = (0.0, float(PLACES - 1)), (-0.6, 1.1)
    plots.draw_curves(curve, np.arange(PLACES), {"likeness": found["likeness"]}, *labels, *spans)
    artists.dot(curve, "here", (place, 1.0), plots.COLOURS["red"])


def sinusoidal() -> Explorer:
    """Look at the code of each place, and at how quickly places stop looking alike.

    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.5.
    """
    controls: list[Control] = [
        Slider("place", 20, 0, PLACES - 1, "place (tokens)"),
        Slider("width", 64, 8, 128, "width (channels)", step=8),
        Scale("theta", 10_000.0, 10.0, 1_000_000.0, "θ"),
    ]
    return Explorer("sinusoid", measure, draw, controls, widths=(1.3, 1))
