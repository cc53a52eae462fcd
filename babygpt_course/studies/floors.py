"""The floor of a window that begins mid-story, for the three grammars; nothing is trained."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.data.corpus import GRAMMARS
from babygpt_course.studies.results import Results
from babygpt_course.studies.window_floor.floors import gain_of_longer_text, losses_of_windows

LENGTHS = (64, 96, 192)  # windows that the course trains on


def measure_floors(names: tuple[str, ...] = tuple(GRAMMARS), n_windows: int = 80, seed: int = 0) -> Results:
    """The least loss at each position of windows that begin anywhere, and in the mean over short windows.

    returns  settings, {"floor": name -> of whole stories}, {"mean" and "error": name -> at each position},
             {"window": name -> length -> [the mean over a window's first positions, its standard error]},
             {"longer": name -> [what a text of four of the shortest windows gains, its standard error]}
    """
    results: Results = {"n_windows": n_windows, "seed": seed}
    for name in names:
        for measurement, value in floors_of(name, n_windows, seed).items():
            results.setdefault(measurement, {})[name] = value
    return results


def floors_of(name: str, n_windows: int, seed: int) -> Results:
    """What `measure_floors` says of one corpus."""
    grammar, shortest = GRAMMARS[name](), min(LENGTHS)
    losses = losses_of_windows(grammar, max(LENGTHS), n_windows, seed)
    means = {str(length): losses[:, :length].mean(axis=1) for length in LENGTHS}

    def with_error(some: np.ndarray) -> list[float]:
        return [round(float(some.mean()), 4), round(float(some.std(ddof=1)) / math.sqrt(n_windows), 4)]

    gain = gain_of_longer_text(grammar, shortest, 4 * shortest, n_windows // 2, shortest // 4, seed)
    return {
        "floor": grammar.floor(),
        "mean": losses.mean(axis=0).round(4).tolist(),
        "error": (losses.std(axis=0, ddof=1) / math.sqrt(n_windows)).round(4).tolist(),
        "window": {length: with_error(some) for length, some in means.items()},
        "longer": [round(x, 4) + 0.0 for x in gain],
    }


def draw_floors(figure: Figure, results: Results) -> None:
    """The floor at each position, smoothed, over that of whole stories."""
    ax, smooth = figure.subplots(), 8
    titles = []
    for (name, losses), colour in zip(results["mean"].items(), plots.COLOURS.values(), strict=False):
        floor, window = results["floor"][name], results["window"][name][str(LENGTHS[0])][0]
        mean = np.array(losses).reshape(-1, smooth).mean(axis=1)
        ax.plot(np.arange(len(mean)) * smooth + smooth / 2, mean, color=colour, label=name)
        ax.axhline(floor, color=colour, lw=1, ls="--")
        titles.append(f"{name} {window:.2f} instead of {floor:.2f}")
    title = f"Floor of {LENGTHS[0]} characters cut out anywhere:\n" + ", ".join(titles)
    labels = (
        "position in the window (characters; dashed: floor of whole stories)",
        "least loss (nats per character)",
    )
    ax.set(title=title, xlabel=labels[0], ylabel=labels[1])
    ax.set_ylim(0)
    ax.legend()
