"""The figure of the lookup task: who learns it, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.experiments.lookup import RIVALS, learners

Results = dict[str, Any]


def draw_lookup(figure: Figure, results: Results) -> None:
    """Right answers of each seed at the end, beside a guess; and while training, from seed to seed."""
    end, way = figure.subplots(1, 2, width_ratios=(1.0, 1.25))
    names = {name: RIVALS.get(name, name) for name in results["accuracy"]}
    rows = {names[n]: [100 * share for share in seeds] for n, seeds in results["accuracy"].items()}
    marks = {"guess": 100 * results["guess"]}
    plots.draw_rows(end, rows, learners(results), "right answers (%)", marks, (0.0, 105.0))
    end.annotate("guess", (marks["guess"], -0.5), (4, 0), textcoords="offset points", va="top")
    curves = {names[n]: 100 * np.array(every) for n, every in results["curves"].items()}
    steps = results["every"] * np.arange(1, results["steps"] // results["every"] + 1)
    title = "The mean of all seeds, between lowest and highest"
    plots.draw_seed_curves(way, steps.tolist(), curves, title, "right answers (%)")
    way.set_ylim(0, 105)
