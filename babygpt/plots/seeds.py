"""What each seed gave, beside each other: bars and dots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from babygpt.plots.artists import finish, fit, keep, limits, line, ticks, upright
from babygpt.plots.style import COLOURS, ENCODING_COLOURS


def draw_accuracies(
    ax: Axes, accuracies: Mapping[str, Sequence[float]], title: str, chance: float = 0.5
) -> None:
    """One bar for each model, a dot for each seed, a line at chance.

    accuracies  name -> accuracy of each seed, between 0 and 1
    """
    for i, (name, values) in enumerate(accuracies.items()):
        ax.bar(i, 100 * np.mean(values), color=ENCODING_COLOURS.get(name), alpha=0.75)
        ax.plot([i] * len(values), 100 * np.asarray(values), "ko", ms=4)
    ax.axhline(100 * chance, color="black", lw=1, ls="--")
    ax.annotate("chance", (len(accuracies) - 0.45, 100 * chance), va="bottom", ha="right")
    ax.set_xticks(range(len(accuracies)), list(accuracies))
    ax.set_ylim(0, 105)
    finish(ax, title, "", "right answers (%)")


def draw_gaps(ax: Axes, gaps: Mapping[str, Mapping[str, Sequence[float]]], title: str) -> None:
    """What company costs under each code: a row for each code, a colour for each number of branches.

    gaps  code -> number of branches, in words -> nats per character, one for each seed
    """
    names = list(gaps)
    for colour, asked in zip(COLOURS.values(), next(iter(gaps.values())), strict=False):
        for row, name in enumerate(names):
            values, label = gaps[name][asked], f"{asked} branches" if row == 0 else None
            ax.plot(values, [row] * len(values), "o", ms=6, alpha=0.75, color=colour, label=label)
    ax.set_xscale("symlog", linthresh=0.01)  # linear about 0: a gap may be slightly negative
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) + 0.4, -0.6)  # the first code on top, and room for the legend below
    finish(ax, title, "interference gap (nats per character)", "")
    ax.legend(loc="lower right", ncols=3)


def draw_rows(
    ax: Axes,
    values: Mapping[str, Sequence[float]],
    title: str,
    x_label: str,
    marks: Mapping[str, float] | None = None,
    span: tuple[float, float] | None = None,
) -> None:
    """A row for each name, with a dot for each seed and a bar at their mean; called again, all of it moves.

    values  name -> a number for each seed; the first name is on top
    marks   name -> a number that all rows are compared with, drawn as an upright line
    span    of the horizontal axis; None to fit it
    """
    names = list(values)
    keep(ax, Line2D, {*names, *(f"mean of {name}" for name in names), *(marks or {})})
    for row, (name, seeds) in enumerate(values.items()):
        colour = ENCODING_COLOURS.get(name, COLOURS["blue"])
        line(
            ax,
            name,
            list(seeds),
            [row] * len(seeds),
            color=colour,
            ls="",
            marker="o",
            ms=7,
            alpha=0.7,
            zorder=2.1,
        )
        mean = [float(np.mean(seeds))] * 2
        line(ax, f"mean of {name}", mean, [row - 0.3, row + 0.3], color=colour, lw=2.5, zorder=2.2)
    for name, at in (marks or {}).items():
        upright(ax, name, at, color="black", lw=1, ls="--", zorder=2)
    ticks(ax.yaxis, range(len(names)), names)
    limits(ax, span, (len(names) - 0.4, -0.6))
    if span is None:
        fit(ax)
    finish(ax, title, x_label, "")
