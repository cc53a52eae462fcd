"""RoPE: two hands on a circle, and what their angle makes of a score."""

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
LATER = 37  # tokens from one pair to the other, which stands at the same distance
CONTROLS: tuple[Control, ...] = (
    Slider("place", 20, 16, 100, "place of q"),
    Slider("distance", 3, 0, 16, "distance (tokens)"),
    Slider("pair", 3, 1, HEAD_DIM // 2, "pair of channels"),
    THETA,
)


def measure(place: int, distance: int, pair: int, theta: float) -> dict[str, Any]:
    """Return where a query at `place` and a key `distance` before it point, and the score at every distance.

    returns  angles of q and k in one pair, radians, and those of a query and a key LATER tokens on; the
             score of q = k = (1, ..., 1) at each distance, as a share of the score at distance 0
    """
    omega = float(frequencies(HEAD_DIM, theta)[pair - 1])
    ones = torch.ones(1, 1, FURTHEST + 1, HEAD_DIM, dtype=torch.float64)
    rotated = rotate(ones, torch.arange(FURTHEST + 1), theta)[0, 0]
    scores = (rotated @ rotated[0] / HEAD_DIM).numpy()
    here, later = (
        {f"q at {q}": q * omega, f"k at {q - distance}": (q - distance) * omega}
        for q in (place, place + LATER)
    )
    between = {"distance": distance, "between": distance * omega}
    return {"hands": here, "later": later, "scores": scores, **between}


def draw(here: Axes, later: Axes, curve: Axes, found: dict[str, Any]) -> None:
    """Draw two hands on a circle, two more further on, and the score over the distance."""
    angle = f"{found['between']:.2f} rad"
    titles = f"From k to q: {angle}", f"{LATER} tokens on: again {angle}"
    for clock, hands, title in zip((here, later), (found["hands"], found["later"]), titles, strict=True):
        plots.draw_clock(clock, list(hands.values()), list(hands), title, arcs=[(1, 0)])
    at, score = found["distance"], found["scores"][found["distance"]]
    title = f"Score at distance {at}: {score:.2f} of the most"
    distances = np.arange(FURTHEST + 1)
    spans = (0.0, float(FURTHEST)), (-0.6, 1.1)
    labels = (title, "distance m − n (tokens)", "score (share of q·k)")
    plots.draw_curves(curve, distances, {"all pairs": found["scores"]}, *labels, *spans)
    artists.dot(curve, "here", (at, score), plots.COLOURS["red"])


def rotary() -> Explorer:
    """Explore RoPE: only the distance between a query and a key changes their angle, and their score.

    Source: Su et al. 2021, arXiv:2104.09864.
    """
    together = (("place", "distance"), ("pair", "theta"))
    return Explorer("RoPE", measure, draw, CONTROLS, widths=(1.15, 1.15, 1.5), height=3.5, together=together)
