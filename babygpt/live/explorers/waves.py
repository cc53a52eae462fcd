"""Explorers of codes made of waves: the sinusoid, RoPE, and codes for parallel texts."""

import math
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes

from babygpt import plots
from babygpt.encodings.fourier import branch_codes
from babygpt.encodings.rotary import rotate
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt.live.explorer import THETA, Explorer, Scale, Slider
from babygpt.metrics.parallel_texts import cosines
from babygpt.plots import artists

N_POSITIONS = 64  # rows of the sinusoid's table
HEAD_DIM, FURTHEST = 32, 64  # of RoPE
LATER = 37  # tokens from one pair of hands to the other, which has the same distance between q and k

# ------------------------------------------------------------ the sinusoid


def measure_sinusoid(position: int, width: int, theta: float) -> dict[str, Any]:
    """Return the code of every position, and its likeness to the code at `position`.

    returns  table (N_POSITIONS, width); likeness (N_POSITIONS,), 1 at `position` itself; turning, the number
             of pairs of channels that turn at least once within the table; position
    """
    table = sinusoid(torch.arange(N_POSITIONS), width, theta)
    likeness = table @ table[position] / (width / 2)
    turning = int((frequencies(width, theta) * N_POSITIONS >= 2 * math.pi).sum())
    return {"table": table.numpy(), "likeness": likeness.numpy(), "turning": turning, "position": position}


def draw_sinusoid(codes: Axes, curve: Axes, found: dict[str, Any]) -> None:
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
    controls = [
        Slider("position", 20, 0, N_POSITIONS - 1, "position (tokens)"),
        Slider("width", 64, 8, 128, "width (channels)", step=8),
        THETA,
    ]
    together = [("width", "theta")]
    return Explorer("sinusoid", measure_sinusoid, draw_sinusoid, controls, (1.3, 1), together=together)


# ------------------------------------------------------------ RoPE


def measure_rope(position: int, distance: int, pair: int, theta: float) -> dict[str, Any]:
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
    between = distance * omega
    return {"hands": here, "later": later, "scores": scores, "distance": distance, "between": between}


def draw_rope(here: Axes, later: Axes, curve: Axes, found: dict[str, Any]) -> None:
    """Draw two hands on a circle, two more further on, and the score over the distance."""
    angle = f"{found['between']:.2f} rad"
    titles = f"From k to q: {angle}", f"{LATER} tokens on: again {angle}"
    for clock, hands, title in zip((here, later), (found["hands"], found["later"]), titles, strict=True):
        plots.draw_clock(clock, list(hands.values()), list(hands), title, arcs=[(1, 0)])
    at, score = found["distance"], found["scores"][found["distance"]]
    title = f"Score at distance {at}: {score:.2f} of the most"
    labels = (title, "distance m − n (tokens)", "score (share of q·k)")
    spans = (0.0, float(FURTHEST)), (-0.6, 1.1)
    plots.draw_curves(curve, np.arange(FURTHEST + 1), {"all pairs": found["scores"]}, *labels, *spans)
    artists.dot(curve, "here", (at, score), plots.COLOURS["red"])


def rotary() -> Explorer:
    """Explore RoPE: the angle and the score of a query and a key depend only on their distance.

    Source: Su et al. 2021, arXiv:2104.09864.
    """
    controls = [
        Slider("position", 20, 16, 100, "position of q"),
        Slider("distance", 3, 0, 16, "distance (tokens)"),
        Slider("pair", 3, 1, HEAD_DIM // 2, "pair of channels"),
        THETA,
    ]
    together = [("position", "distance"), ("pair", "theta")]
    return Explorer("RoPE", measure_rope, draw_rope, controls, (1.15, 1.15, 1.5), 3.5, together)


# ------------------------------------------------------------ codes for parallel texts


def measure_branches(n: int, stride: float, theta: float, width: int) -> dict[str, Any]:
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


def draw_branches(added: Axes, rotated: Axes, curve: Axes, found: dict[str, Any]) -> None:
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
    controls = [
        Scale("stride", 128.0, 1.0, 8192.0, "stride (positions)"),
        Slider("n", 8, 2, 16, "branches"),
        Slider("width", 512, 8, 512, "width (channels)", step=8),
        THETA,
    ]
    together = [("stride", "n"), ("width", "theta")]
    return Explorer("branches", measure_branches, draw_branches, controls, (1.15, 1.15, 1), together=together)
