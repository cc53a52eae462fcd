"""The board: every model of the ladder and beside it, on equal terms."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.experiments.ladder import kind

Results = dict[str, Any]


def draw_ladder(figure: Figure, results: Results) -> None:
    """The board: losses and, on axes of their own, bounds; right answers; and what longer windows cost."""
    rows = figure.subplots(2, 3, height_ratios=(10, 5))
    for row, masks in zip(rows, (False, True), strict=True):
        draw_board(row[0], row[1], row[2], kind(results, masks), masks)


def draw_board(loss: Axes, roles: Axes, longer: Axes, found: Results, bound: bool) -> None:
    """One kind of models: what they lose, what they answer, what four times longer windows cost them."""
    what = "bound on the loss" if bound else "loss"
    title = f"{'Filling in' if bound else 'Left to right'}: {in_front(found)}"
    plots.draw_rows(loss, {v: one["1x"] for v, one in found.items()}, title, f"{what} (nats per character)")
    title = knowing({v: one["roles"] for v, one in found.items()})
    answers = {v: [100 * share for share in one["roles"]] for v, one in found.items()}
    plots.draw_rows(roles, answers, title, "right answers (%)", {"chance": 50.0}, (0.0, 105.0))
    costs = {
        v: [far - near for far, near in zip(one["4x"], one["1x"], strict=True)]
        for v, one in found.items()
        if None not in one["4x"]
    }
    worst = max(costs, key=lambda v: np.mean(costs[v]))
    title = f"Four times longer: {worst} pays {np.mean(costs[worst]):+.2f}"
    plots.draw_rows(longer, costs, title, f"change of the {what} (nats per character)", {"no change": 0.0})


def in_front(found: Results) -> str:
    """The models that no other beats by every seed, and the lowest mean loss among them."""
    losses = {v: np.array(one["1x"]) for v, one in found.items()}
    front = [v for v in losses if not any((other < losses[v]).all() for other in losses.values())]
    lowest = f"{min(np.mean(losses[v]) for v in front):.2f}"
    return f"{front[0]} leads, {lowest}" if len(front) == 1 else f"{', '.join(front)} level, {lowest}"


def knowing(roles: dict[str, list[float]], known: float = 0.9) -> str:
    """Which models give right answers in every seed, or that none does."""
    sure = [v for v, seeds in roles.items() if min(seeds) >= known]
    some = sum(max(seeds) >= known for seeds in roles.values()) - len(sure)
    if not sure and not some:
        return f"Who did it? Nobody knows: {max(map(max, roles.values())):.0%} at best"
    return f"Who did it? In every seed: {', '.join(sure) or 'nobody'}; in some: {some}"
