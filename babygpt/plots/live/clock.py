"""Pairs of channels as hands of a clock; a second call on the same Axes moves them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

from babygpt.plots import artists
from babygpt.plots.style import COLOURS

LABEL_GAP = 0.42  # radians between two labels, so that each can be read


def draw_clock(
    ax: Axes,
    angles: Sequence[float],
    labels: Sequence[str],
    title: str,
    arcs: Sequence[tuple[int, int]] = (),
) -> None:
    """Draw pairs of channels as hands on the unit circle.

    angles  radians, counted from the right, anticlockwise
    arcs    pairs of hands: an arc goes from the first to the second, with every full turn that is between
    """
    ring = np.linspace(0, 2 * np.pi, 200)
    artists.line(ax, "ring", np.cos(ring), np.sin(ring), color=COLOURS["grey"], lw=1)
    names = [f"hand {i}" for i in range(len(labels))]
    artists.keep_only(ax, Line2D, ["ring", *names, *(f"arc {i}" for i in range(len(arcs)))])
    artists.keep_only(ax, Annotation, [f"{name}'s label" for name in names])
    beside = spaced(angles, LABEL_GAP)
    for name, angle, label, colour, at in zip(names, angles, labels, COLOURS.values(), beside, strict=False):
        artists.clock_hand(ax, name, (float(np.cos(angle)), float(np.sin(angle))), colour)
        across, up = float(np.cos(at)), float(np.sin(at))
        word = artists.text(
            ax, f"{name}'s label", (1.15 * across, 1.22 * up), label, va="center", color=colour
        )
        word.set_horizontalalignment("left" if across > 0.3 else "right" if across < -0.3 else "center")
    for i, (begin, end) in enumerate(arcs):
        artists.line(ax, f"arc {i}", *arc(angles[begin], angles[end]), color=COLOURS["red"], lw=3)
    artists.set_limits(ax, (-1.95, 1.95), (-1.5, 1.5))
    if ax.get_aspect() != 1.0:
        ax.set_aspect("equal")
    artists.set_labels(ax, title, "first channel of the pair", "second channel")


def arc(begin: float, end: float) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of an arc between two angles, radians, winding outwards so that full turns show."""
    way = np.linspace(0.0, end - begin, 100)
    radius = 0.35 + 0.12 * np.abs(way) / (2 * np.pi)
    return radius * np.cos(begin + way), radius * np.sin(begin + way)


def spaced(angles: Sequence[float], least: float) -> np.ndarray:
    """Move angles until they are `least` apart on the circle, if they fit: (n,) -> (n,) radians."""
    moved = np.mod(np.asarray(angles, dtype=float), 2 * np.pi)
    if len(moved) < 2:
        return moved
    order = np.argsort(moved, kind="stable")
    for _ in range(50):
        here, after = moved[order], np.roll(moved[order], -1)
        after[-1] += 2 * np.pi
        short = np.maximum(0.0, least - (after - here)) / 2
        moved[order] += np.roll(short, 1) - short
    return moved
