"""Figures that are drawn once, each on empty Axes: a second call would draw over the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from babygpt.plots.artists import set_labels
from babygpt.plots.style import COLOURS, ENCODING_COLOURS


def draw_by_position(
    ax: Axes, curves: Mapping[str, np.ndarray], block_size: int, title: str, smooth: int = 16
) -> None:
    """Draw loss over position, with the end of the trained window marked.

    curves      name -> (length,) nats per character; a shorter curve ends where its model refuses
    block_size  tokens in a training window
    """
    for name, losses in curves.items():
        whole = len(losses) // smooth * smooth
        mean = np.asarray(losses[:whole]).reshape(-1, smooth).mean(axis=1)
        at = np.arange(len(mean)) * smooth + smooth / 2
        ax.plot(at, mean, label=name, color=ENCODING_COLOURS.get(name))
    ax.axvline(block_size, color="black", lw=1, ls="--", label=f"trained up to {block_size}")
    set_labels(ax, title, "position (tokens)", "loss (nats per character)")
    ax.legend()


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
    set_labels(ax, title, "m (tokens)", "K(m), as a share of K(0)")
    ax.legend()


def draw_accuracy_bars(
    ax: Axes, accuracies: Mapping[str, Sequence[float]], title: str, chance: float = 0.5
) -> None:
    """Draw a bar for each model, a dot for each seed, and a line at chance.

    accuracies  name -> accuracy of each seed, between 0 and 1
    """
    for i, (name, values) in enumerate(accuracies.items()):
        ax.bar(i, 100 * np.mean(values), color=ENCODING_COLOURS.get(name), alpha=0.75)
        ax.plot([i] * len(values), 100 * np.asarray(values), "ko", ms=4)
    ax.axhline(100 * chance, color="black", lw=1, ls="--")
    ax.annotate("chance", (len(accuracies) - 0.45, 100 * chance), va="bottom", ha="right")
    ax.set_xticks(range(len(accuracies)), list(accuracies))
    ax.set_ylim(0, 105)
    set_labels(ax, title, "", "right answers (%)")


def draw_gaps(ax: Axes, gaps: Mapping[str, Mapping[str, Sequence[float]]], title: str) -> None:
    """Draw interference gaps: a row for each branch code, a colour for each number of branches.

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
    set_labels(ax, title, "interference gap (nats per character)", "")
    ax.legend(loc="lower right", ncols=3)


def draw_seed_curves(
    ax: Axes, steps: Sequence[int], curves: Mapping[str, np.ndarray], title: str, y_label: str
) -> None:
    """Draw the mean of all seeds as a line, in a band from the lowest seed to the highest.

    steps   (n,)  where it was measured
    curves  name -> (seeds, n)
    """
    colours = list(COLOURS.values())
    for i, (name, seeds) in enumerate(curves.items()):
        colour = colours[i % len(colours)]
        style = ("-", "--", ":")[i // len(colours) % 3]
        ax.plot(steps, seeds.mean(axis=0), style, color=colour, marker="o", ms=4, label=name)
        ax.fill_between(steps, seeds.min(axis=0), seeds.max(axis=0), color=colour, alpha=0.2, lw=0)
    set_labels(ax, title, "step", y_label)
    ax.legend()


def draw_seed_bars(ax: Axes, values: Mapping[str, Sequence[float]], title: str, y_label: str) -> None:
    """Draw a bar for each name, as high as the mean of its seeds, and a dot for each seed.

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
    set_labels(ax, title, "", y_label)
