"""The figure of the lookup task: who learns it, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.experiments.lookup import RIVALS, learners
from babygpt.plots.comparisons import draw_seed_bars

Results = dict[str, Any]


def draw_lookup(figure: Figure, results: Results) -> None:
    """Right answers of each seed at the end, and while training, beside a guess."""
    end, way = figure.subplots(1, 2, width_ratios=(1.1, 1.0), sharey=True)
    curves = {RIVALS.get(name, name): 100 * np.array(seeds) for name, seeds in results["curves"].items()}
    steps = [results["every"] * (i + 1) for i in range(results["steps"] // results["every"])]
    last = {name: seeds[:, -1].tolist() for name, seeds in curves.items()}
    draw_seed_bars(end, last, learners(results), "right answers (%)")
    colours = plots.COLOURS.values()  # those of the bars
    for (name, seeds), colour in zip(curves.items(), colours, strict=False):
        way.plot(steps, seeds.T, color=colour, label=[name] + ["_"] * (len(seeds) - 1))
    way.set_title("While training: a line for each seed")
    way.set_xlim(0, results["steps"])
    way.set_xlabel("step")
    for ax in (end, way):
        ax.axhline(100 * results["guess"], color="black", lw=1, ls="--", zorder=2.5)
        ax.set_ylim(0, 112)
    way.annotate("guess", (0, 100 * results["guess"]), (0, 3), textcoords="offset points")
    way.legend(loc="lower right", ncols=2)
