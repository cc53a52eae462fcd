"""Figures of models that predict the next character, trained from several seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.experiments.branches import gaps
from babygpt.experiments.gaussian import shape
from babygpt.experiments.lengths import LENGTHS_TITLE
from babygpt.experiments.roles import ROLES_TITLE

Results = dict[str, Any]


def draw_roles(figure: Figure, results: Results) -> None:
    """Role accuracy of each model, a dot for each seed."""
    plots.draw_accuracies(figure.subplots(), results["accuracy"], ROLES_TITLE)


def draw_lengths(figure: Figure, results: Results) -> None:
    """Loss by position, four times further than any model was trained."""
    curves = {name: np.array(losses) for name, losses in results["loss"].items()}
    plots.draw_by_position(figure.subplots(), curves, results["block_size"], LENGTHS_TITLE)


def draw_gaussian(figure: Figure, results: Results) -> None:
    """Loss by position, the trained kernels, and right answers, over three seeds."""
    reading, keeping, knowing = figure.subplots(1, 3, width_ratios=(1.0, 1.0, 1.2))
    curves = {name: np.array(losses) for name, losses in results["loss"].items()}
    far, right = ({v: np.mean(seeds) for v, seeds in results[key].items()} for key in ("far", "accuracy"))
    title = f"Four times longer: v4 {far['v4']:.2f}, v5 {far['v5']:.2f}, v5 fixed {far['v5 fixed']:.2f}"
    plots.draw_by_position(reading, curves, results["block_size"], title)
    reading.legend(fontsize=9, loc="upper left")
    furthest = 2 * results["block_size"]
    trained = {v: np.array([shape(k, furthest) for k in seeds]) for v, seeds in results["kernel"].items()}
    half = {v: np.mean([kernel["half"] for kernel in seeds]) for v, seeds in results["kernel"].items()}
    title = f"Trained, K halves in {half['v5']:.0f} tokens or in {half['v5-absolute']:.0f}"
    plots.draw_kernels(keeping, trained, shape(results["start"], furthest), title)
    title = f"Who did it? v4 {right['v4']:.0%}, v5 {right['v5']:.0%}, v5 fixed {right['v5 fixed']:.0%}"
    plots.draw_accuracies(knowing, results["accuracy"], title)
    knowing.tick_params(axis="x", labelsize=9, rotation=20)


def draw_branches(figure: Figure, results: Results) -> None:
    """What company costs under each branch code: where it was trained, and where it was not."""
    titles = {
        "up to eight": "Trained on 1 to 8 branches: every code works",
        "two": "Trained on 2: added codes fail at 4, turning later",
    }
    for ax, (trained, title) in zip(
        figure.subplots(1, 2, sharex=True, sharey=True), titles.items(), strict=True
    ):
        plots.draw_gaps(ax, gaps(results, trained), title)
