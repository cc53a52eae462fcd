"""Explorer of RoPE: two hands on a circle, and the score that their angle makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes

from babygpt import plots
from babygpt.encodings.rotary import rotate
from babygpt.encodings.sinusoidal import frequencies
from babygpt.live.controls import THETA, Control, Slider
from babygpt.live.explorer import Explorer
from babygpt.plots import artists

HEAD_DIM, FURTHEST = 32, 64
LATER = 37  # tokens from one pair of hands to the other, which has the same distance between q and k
CONTROLS: tuple[Control, ...] = (
    Slider("position", 20, 16, 100, "position of q"),
    Slider("distance", 3, 0, 16, "distance (tokens)"),
    Slider("pair", 3, 1, HEAD_DIM // 2, "pair of channels"),
    THETA,
)


def measure(position: int, distance: int, pair: int, theta: float) -> dict[str, Any]:
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
    return {
        "hands": here,
        "later": later,
        "scores": scores,
        "distance": distance,
        "between": distance * omega,
    }


def draw(here: Axes, later: Axes, curve: Axes, found: dict[str, Any]) -> None:
    """Draw two hands on a circle, two more further on, and the score over the distance."""
    angle = f"{found['between']:.2f} rad"
    titles = f"From k to q: {angle}", f"{LATER} tokens on: again {angle}"
    for clock, hands, title in zip((here, later), (found["hands"], found["later"]), titles, strict=True):
        plots.draw_clock(clock, list(hands.values()), list(hands), title, arcs=[(1, 0)])
    at, score = found["distance"], found["scores"][found["distance"]]
    labels = (
        f"Score at distance {at}: {score:.2f} of the most",
        "distance m − n (tokens)",
        "score (share of q·k)",
    )
    spans = (0.0, float(FURTHEST)), (-0.6, 1.1)
    plots.draw_curves(curve, np.arange(FURTHEST + 1), {"all pairs": found["scores"]}, *labels, *spans)
    artists.dot(curve, "here", (at, score), plots.COLOURS["red"])


def rotary() -> Explorer:
    """Explore RoPE: the angle and the score of a query and a key depend only on their distance.

    Source: Su et al. 2021, arXiv:2104.09864.
    """
    together = (("position", "distance"), ("pair", "theta"))
    return Explorer("RoPE", measure, draw, CONTROLS, widths=(1.15, 1.15, 1.5), height=3.5, together=together)
