"""Pairs of channels as hands of a clock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

from babygpt import artists
from babygpt.artists import finish
from babygpt.plots.style import COLOURS


def draw_clock(ax: Axes, angles: Sequence[float], labels: Sequence[str], title: str) -> None:
    """Pairs of channels as hands on the unit circle.

    angles  radians, counted from the right, anticlockwise
    """
    ring = np.linspace(0, 2 * np.pi, 200)
    artists.line(ax, "ring", np.cos(ring), np.sin(ring), color=COLOURS["grey"], lw=1)
    names = [f"hand {i}" for i in range(len(labels))]
    artists.keep(ax, Line2D, ["ring", *names])
    artists.keep(ax, Annotation, [f"{name}'s label" for name in names])
    for name, angle, label, colour in zip(names, angles, labels, COLOURS.values(), strict=False):
        tip = float(np.cos(angle)), float(np.sin(angle))
        beside = (1.5 * tip[0], 1.3 * tip[1])
        artists.hand(ax, name, tip, colour)
        artists.words(ax, f"{name}'s label", beside, label, ha="center", va="center", color=colour)
    artists.limits(ax, (-1.95, 1.95), (-1.6, 1.6))
    if ax.get_aspect() != 1.0:
        ax.set_aspect("equal")
    finish(ax, title, "first channel of the pair", "second channel")
