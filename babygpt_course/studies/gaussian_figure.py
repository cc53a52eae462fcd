"""The figure of the study of kernels: who leads after how long, who remembers, what kernels became."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from babygpt import plots
from babygpt_course.studies.gaussian import ONLY_LONG, RACED, behind_v4, race, relative_kernel, seeds_ahead
from babygpt_course.studies.results import Results, load_results


def longest(results: Results) -> tuple[str, dict[str, dict[str, Any]]]:
    """The most steps, and what was measured after them."""
    steps = max(results["plain"], key=int)
    return steps, results["plain"][steps]


def draw_gaussian(figure: Figure, results: Results) -> None:
    """Loss beside v4's, answers, what hiding the past costs; attention, loss by position, and kernels."""
    panels = (draw_race, draw_answers, draw_hiding, draw_attention, draw_reading, draw_trained)
    for draw, ax in zip(panels, figure.subplots(2, 3).flat, strict=True):
        draw(ax, results)


def draw_race(ax: Axes, results: Results) -> None:
    """Loss less v4's after runs of each length, those of the board among them, a point a seed."""
    losses = race(results, load_results("ladder"))
    ahead = ", ".join(seeds_ahead(losses, "v5 fixed").values())
    groups = {f"{n} steps": found for n, found in behind_v4(losses).items()}
    title = f"v5 fixed is ahead of v4 in {ahead} seeds"
    plots.draw_seed_points(ax, groups, title, "", "loss less v4's (nats)")
    ax.axhline(0.0, color="black", lw=1, ls="--")


def draw_answers(ax: Axes, results: Results) -> None:
    """Right answers after runs of each length, a point a seed."""
    board, plain = load_results("ladder"), results["plain"]
    found = {int(n): {v: each[v]["accuracy"] for v in RACED} for n, each in plain.items()}
    found[board["steps"]] = {v: board["board"][v]["roles"] for v in RACED}
    groups = {f"{n} steps": found[n] for n in sorted(found)}
    plots.draw_seed_points(ax, groups, "Who did it? Right answers", "", "share of right answers")
    ax.axhline(0.5, color="black", lw=1, ls="--")


def draw_hiding(ax: Axes, results: Results) -> None:
    """What it costs each model, a line a seed, to hide what is further back."""
    steps, board = longest(results)
    cost = {v: np.array(board[v]["hiding"]) for v in (*RACED, "alibi") if v in board}
    title = f"After {steps} steps: the cost of hiding what is further back"
    labels = "hidden beyond (tokens)", "nats per character"
    plots.draw_seed_lines(ax, results["distances"], cost, title, *labels)


def draw_attention(ax: Axes, results: Results) -> None:
    """Attention on the far against what the far is good for, a point a model."""
    steps, board = longest(results)
    at, beyond = results["distances"].index(results["beyond"]), results["beyond"]
    points: dict[float, tuple[float, float]] = {}
    for name, found in board.items():
        share, cost = np.array(found["attention"]).mean(axis=(1, 2)), np.array(found["hiding"])[:, at]
        ax.plot(share, cost, "o", color=plots.ENCODING_COLOURS.get(name), ms=7, alpha=0.75, label=name)
        points |= dict(zip(cost / share, zip(share, cost, strict=True), strict=True))
    ax.axvline(results["even"], color="black", lw=1, ls="--")
    least, worth = points[max(points)]
    ax.set(
        xlabel=f"attention beyond {beyond} tokens (dashed: spread evenly)", ylabel="cost of hiding it (nats)"
    )
    ax.set_title(f"{least:.0%} of a model's attention, worth {worth:.2f} nats, after {steps} steps")
    ax.legend(fontsize=9)


def draw_reading(ax: Axes, results: Results) -> None:
    """Loss by position up to four windows, each version after its longest training."""
    last: dict[str, dict[str, Any]] = {}
    for n in sorted(results["plain"], key=int):
        last |= results["plain"][n]
    curves = {v: np.repeat(last[v]["loss"], 8) for v in last if v not in ONLY_LONG[1:]}
    far = {v: np.mean(found["far"]) for v, found in last.items()}
    title = f"Four times longer: v4 {far['v4']:.2f}, v5 {far['v5']:.2f}, v5 fixed {far['v5 fixed']:.2f}"
    plots.draw_by_position(ax, curves, results["block_size"], title)
    ax.legend(fontsize=9, loc="upper left")


def draw_trained(ax: Axes, results: Results) -> None:
    """Every kernel that the longest training made: of all seeds, layers and heads."""
    _, board = longest(results)
    named = {
        v: [k for seed in found["kernel"] for k in seed] for v, found in board.items() if "kernel" in found
    }
    furthest = results["block_size"]
    curves = {v: np.array([relative_kernel(k, furthest) for k in each]) for v, each in named.items()}
    halves = [k["half"] for each in named.values() for k in each]
    title = f"Trained, K halves in {min(halves)} to {max(halves)} tokens"
    plots.draw_kernels(ax, curves, relative_kernel(results["start"], furthest), title)
