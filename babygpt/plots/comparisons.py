"""The same measurement of several models, each trained from several seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from babygpt.plots.artists import finish
from babygpt.plots.style import COLOURS


def draw_seed_curves(
    ax: Axes, steps: Sequence[int], curves: Mapping[str, np.ndarray], title: str, y_label: str
) -> None:
    """The mean of all seeds as a line, in a band from the lowest seed to the highest.

    steps   (n,)  where it was measured
    curves  name -> (seeds, n)
    """
    colours = list(COLOURS.values())
    for i, (name, seeds) in enumerate(curves.items()):
        colour = colours[i % len(colours)]
        style = ("-", "--", ":")[i // len(colours) % 3]
        ax.plot(steps, seeds.mean(axis=0), style, color=colour, marker="o", ms=4, label=name)
        ax.fill_between(steps, seeds.min(axis=0), seeds.max(axis=0), color=colour, alpha=0.2, lw=0)
    finish(ax, title, "step", y_label)
    ax.legend()


def draw_seed_bars(ax: Axes, values: Mapping[str, Sequence[float]], title: str, y_label: str) -> None:
    """A bar for each name, as high as the mean of its seeds, which are dots.

    values  name -> a number for each seed
    """
    colours = list(COLOURS.values())
    for i, (name, seeds) in enumerate(values.items()):
        mean = float(np.mean(seeds))
        ax.bar(i, mean, color=colours[i % len(colours)], alpha=0.75, label=name)
        ax.plot([i] * len(seeds), seeds, "ko", ms=4)
        ax.annotate(f"{mean:#.4g}", (i, max(seeds)), (0, 5), textcoords="offset points", ha="center")
    ax.set_xticks(range(len(values)), list(values), rotation=20 if len(values) > 4 else 0)
    ax.margins(y=0.1)
    finish(ax, title, "", y_label)
