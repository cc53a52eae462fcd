"""Drawing of stored results, seed by seed, on empty Axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from babygpt_live import COLOURS, ENCODING_COLOURS, set_labels

if TYPE_CHECKING:  # A learner's first cell would wait for Matplotlib.
    from matplotlib.axes import Axes


def draw_kernels(ax: Axes, kernels: Mapping[str, np.ndarray], first: np.ndarray, title: str) -> None:
    """Draw kernels after training, a line for each seed, and the one that all began with.

    kernels  name -> (seeds, furthest + 1)  K at 0, 1, 2, ... tokens, as a share of K(0)
    first    (furthest + 1,)  the same before the first step
    """
    away = np.arange(len(first))
    ax.plot(away, first, color="black", lw=1, ls="--", label="before training")
    for name, seeds in kernels.items():
        for i, values in enumerate(seeds):
            ax.plot(away, values, color=ENCODING_COLOURS.get(name), lw=1.5, label=None if i else name)
    set_labels(ax, title, "distance (tokens)", "K, as a share of K at distance 0")
    ax.legend()


def draw_gaps(
    ax: Axes,
    gaps: Mapping[str, Mapping[str, Sequence[float]]],
    title: str,
    own: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
) -> None:
    """Draw interference gaps: a row for each branch code, a colour for each number of branches.

    gaps  code -> number of branches, in words -> nats per character, one for each seed; a code may have none
    own   the same of the part that a text pays for its own tag, drawn as rings below the dots
    """
    counts = list(dict.fromkeys(n for gap_by_count in gaps.values() for n in gap_by_count))
    for colour, n in zip(COLOURS.values(), counts, strict=False):
        for row, name in enumerate(gaps):
            values, label = gaps[name].get(n, ()), f"{n} texts" if row == 0 else None
            ax.plot(values, [row] * len(values), "o", ms=6, alpha=0.75, color=colour, label=label)
            own_gaps = (own or {}).get(name, {}).get(n, ())
            ax.plot(own_gaps, [row + 0.25] * len(own_gaps), "o", ms=5, mfc="none", color=colour)
    ax.set_xscale("symlog", linthresh=0.01)  # linear about 0: a gap may be slightly negative
    ticks = (0.0, 0.01, 0.1, 1.0)
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_yticks(range(len(gaps)), list(gaps))
    ax.set_ylim(len(gaps) + 0.4, -0.6)  # the first code on top, and room for the legend below
    set_labels(ax, title, "gap (nats per character; linear to 0.01,\nthen logarithmic)", "")
    ax.legend(loc="lower right", ncols=3)


def draw_by_stride(
    ax: Axes, curves: Mapping[str, Mapping[int, Sequence[float]]], title: str, y_label: str
) -> None:
    """Draw a line for each code over strides, with a dot for each seed.

    curves  name -> stride -> a number for each seed; a name that ends in "(formula)" is drawn dashed
    """
    for colour, (name, by_stride) in zip(COLOURS.values(), curves.items(), strict=False):
        means = [float(np.mean(values)) for values in by_stride.values()]
        ax.plot(list(by_stride), means, "--" if name.endswith("(formula)") else "-", color=colour, label=name)
        for stride, values in by_stride.items():
            ax.plot([stride] * len(values), values, "o", ms=5, alpha=0.75, color=colour)
    ax.set_xscale("log", base=2)
    strides = sorted({stride for by_stride in curves.values() for stride in by_stride})
    ax.set_xticks(strides, [str(stride) for stride in strides], rotation=45)
    ax.minorticks_off()
    set_labels(ax, title, "stride (positions)", y_label)
    ax.legend()


def draw_seed_points(
    ax: Axes,
    groups: Mapping[str, Mapping[str, Sequence[float] | np.ndarray]],
    title: str,
    x_label: str,
    y_label: str,
) -> None:
    """Draw a point for each seed, and no mean: outcomes may have two peaks and nothing between them.

    groups  group -> name -> a number for each seed; groups stand side by side, in each the names
    """
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    others = iter(COLOURS.values())
    colours = {name: ENCODING_COLOURS.get(name) or next(others) for name in names}
    for name in names:
        offset = (names.index(name) - (len(names) - 1) / 2) * 0.8 / len(names)
        points = [(i + offset, x) for i, group in enumerate(groups.values()) for x in group.get(name, ())]
        ax.plot(*zip(*points, strict=True), "o", ms=6, alpha=0.75, color=colours[name], label=name)
    ax.set_xticks(range(len(groups)), list(groups))
    ax.set_xlim(-0.5, len(groups) - 0.5)
    ax.margins(y=0.2)  # The legend needs this room.
    set_labels(ax, title, x_label, y_label)
    ax.legend(ncols=3, fontsize=9)


def draw_seed_lines(
    ax: Axes,
    x: Sequence[float],
    curves: Mapping[str, np.ndarray],
    title: str,
    x_label: str,
    y_label: str,
) -> None:
    """Draw a line for each seed, and no mean.

    x       (n,)  where it was measured
    curves  name -> (seeds, n)
    """
    for name, seeds in curves.items():
        for i, values in enumerate(seeds):
            colour, label = ENCODING_COLOURS.get(name), None if i else name
            ax.plot(x, values, color=colour, marker="o", ms=3, lw=1.2, label=label)
    set_labels(ax, title, x_label, y_label)
    ax.legend(fontsize=9)


def draw_seed_dots(
    ax: Axes,
    values: Mapping[str, Sequence[float]],
    title: str,
    x_label: str,
    marks: Mapping[str, float] | None = None,
    span: tuple[float, float] | None = None,
    rings: Mapping[str, Sequence[float]] | None = None,
    notes: Mapping[str, str] | None = None,
    means: bool = False,
) -> None:
    """Draw a row for each name, with a dot for each seed.

    values  name -> a number for each seed, or none; the first name is on top, and the part before its comma
            gives the colour
    marks   name -> a number that all rows are compared with, drawn as an upright line
    span    of the horizontal axis; None to fit it
    rings   name -> a second measurement of each seed, drawn as rings
    notes   name -> words at the right end of a row
    means   whether a bar stands at each row's mean, which says little about runs of two kinds
    """
    marks, rings, notes = marks or {}, rings or {}, notes or {}
    for row, (name, seeds) in enumerate(values.items()):
        colour = ENCODING_COLOURS.get(name.split(", ")[0], COLOURS["blue"])
        second = list(rings.get(name, ()))
        ax.plot(seeds, [row] * len(seeds), "o", color=colour, ms=7, alpha=0.7, zorder=2.1)
        ring: Any = {"ms": 8, "mfc": "none", "mew": 1.5, "zorder": 2.2}
        ax.plot(second, [row] * len(second), "o", color=colour, **ring)
        if means:
            ax.plot([np.mean(seeds)] * 2, [row - 0.3, row + 0.3], color=colour, lw=2.5, zorder=2.2)
        if name in notes:
            where: Any = {"xycoords": ax.get_yaxis_transform(), "ha": "right", "va": "center"}
            ax.annotate(notes[name], (1.0, row), color=colour, **where)
    for mark in marks.values():
        ax.axvline(mark, color="black", lw=1, ls="--", zorder=2)
    ax.set_yticks(range(len(values)), list(values))
    ax.autoscale_view()  # The marks have to lie in the view, too.
    ax.set(xlim=span, ylim=(len(values) - 0.4, -0.6))
    set_labels(ax, title, x_label, "")
