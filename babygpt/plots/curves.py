"""Curves over steps, positions and distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from babygpt.plots import artists
from babygpt.plots.artists import finish
from babygpt.plots.style import COLOURS, ENCODING_COLOURS

HEADROOM = 1.4  # of what is drawn: above it the legend stands


def smoothed(losses: Sequence[float], width: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps, counted from 1, and the mean loss of the `width` steps that end there (of all, at first)."""
    step, sums = np.arange(1, len(losses) + 1), np.cumsum([0.0, *losses])
    first = np.maximum(step - width, 0)
    return step, (sums[step] - sums[first]) / (step - first)


def draw_losses(
    ax: Axes,
    curves: Mapping[str, Sequence[float]],
    floors: Mapping[str, float],
    title: str,
    smooth: int = 10,
    total: int | None = None,
    no_idea: float = 0.0,
) -> None:
    """Training loss against the step, with the floors that are known.

    curves    name -> loss of each step, nats per character
    floors    name -> a loss that cannot be passed
    smooth    steps averaged into one point
    total     steps of a run that is not over: both axes then hold all of it from the start
    no_idea   loss of knowing nothing, where such a run begins
    """
    for name, losses in curves.items():
        artists.line(ax, name, *smoothed(losses, smooth), label=name, color=ENCODING_COLOURS.get(name))
    for style, (name, floor) in zip(("--", ":", "-."), floors.items(), strict=False):
        look = {"color": "black", "lw": 1, "ls": style}
        artists.level(ax, f"floor {name}", floor, label=f"{name} {floor:.3f}", **look)
    artists.keep(ax, Line2D, {*curves, *(f"floor {name}" for name in floors)})
    if total is None:
        artists.fit(ax)
    else:
        highest = max([no_idea, *floors.values(), *(max(losses, default=0.0) for losses in curves.values())])
        artists.limits(ax, (0.0, float(total)), (0.0, max(0.5, float(np.ceil(2 * HEADROOM * highest) / 2))))
    finish(ax, title, "step", "loss (nats per character)")
    artists.legend(ax, loc="upper right")


def draw_rising(
    ax: Axes, curves: Mapping[str, tuple[Sequence[int], Sequence[float]]], title: str, total: int
) -> None:
    """Share of right answers as training goes on, with a line at chance, which is one half.

    curves  name -> steps, and accuracy after each of them, between 0 and 1
    total   steps of the whole run
    """
    for name, (steps, accuracies) in curves.items():
        look = {"marker": "o", "ms": 4, "color": ENCODING_COLOURS.get(name)}
        artists.line(ax, name, steps, 100 * np.asarray(accuracies), label=name, **look)
    artists.level(ax, "chance", 50, color="black", lw=1, ls="--")
    artists.words(ax, "word", (float(total), 49.0), "chance", va="top", ha="right")
    artists.limits(ax, (0.0, float(total)), (0.0, 105.0))
    finish(ax, title, "step", "right answers (%)")
    artists.legend(ax, loc="lower right")


def draw_by_position(
    ax: Axes, curves: Mapping[str, np.ndarray], block_size: int, title: str, smooth: int = 16
) -> None:
    """Loss against position, with the end of the trained window marked.

    curves      name -> (length,) nats per character; a shorter curve ends where its model refuses
    block_size  tokens in a training window
    """
    for name, losses in curves.items():
        whole = len(losses) // smooth * smooth
        mean = np.asarray(losses[:whole]).reshape(-1, smooth).mean(axis=1)
        at = np.arange(len(mean)) * smooth + smooth / 2
        ax.plot(at, mean, label=name, color=ENCODING_COLOURS.get(name))
    ax.axvline(block_size, color="black", lw=1, ls="--", label=f"trained up to {block_size}")
    finish(ax, title, "position (tokens)", "loss (nats per character)")
    ax.legend()


def draw_kernels(ax: Axes, kernels: Mapping[str, np.ndarray], first: np.ndarray, title: str) -> None:
    """Kernels after training, a line for each seed, and the one that all began with.

    kernels  name -> (seeds, furthest + 1)  K at 0, 1, 2, ... tokens, as a share of K(0)
    first    (furthest + 1,)  the same before the first step
    """
    away = np.arange(len(first))
    ax.plot(away, first, color="black", lw=1, ls="--", label="before training")
    for name, seeds in kernels.items():
        for i, values in enumerate(seeds):
            ax.plot(away, values, color=ENCODING_COLOURS.get(name), lw=1.5, label=None if i else name)
    finish(ax, title, "m (tokens)", "K(m), as a share of K(0)")
    ax.legend()


def draw_curves(
    ax: Axes,
    x: np.ndarray,
    curves: Mapping[str, np.ndarray],
    title: str,
    x_label: str,
    y_label: str,
    x_span: tuple[float, float] | None = None,
    y_span: tuple[float, float] | None = None,
    legend: str = "best",
    columns: int = 1,
    colours: Mapping[str, str] = ENCODING_COLOURS,
) -> None:
    """Several curves over one axis: name -> (len(x),). A span holds an axis where it is.

    legend   where it stands, in Matplotlib's words; "best" follows the curves of the first drawing
    columns  of the legend
    colours  name -> colour; a name without one takes the next colour of the course
    """
    # When a curve comes, all begin anew: each gets the colour and the depth that it would get alone.
    if any(artists.drawn(ax, Line2D, name) is None for name in curves):
        artists.forget_lines(ax)
    for name, values in curves.items():
        artists.line(ax, name, x, values, label=name, color=colours.get(name))
    artists.keep(ax, Line2D, [*curves, "here", "place"])
    if x_span is None or y_span is None:
        artists.fit(ax)
    artists.limits(ax, x_span, y_span)
    finish(ax, title, x_label, y_label)
    artists.legend(ax, loc=legend, ncols=columns)


def draw_then_and_now(
    ax: Axes, x: np.ndarray, first: np.ndarray, now: np.ndarray, title: str, x_label: str, y_label: str
) -> None:
    """A share between 0 and 1 as it was before training, and over it as it is now.

    x, first, now  (n,)
    """
    artists.line(ax, "now", x, now, label="now", color=COLOURS["red"], lw=3)
    artists.line(ax, "at first", x, first, label="at first", color="black", lw=1.5, ls="--")
    artists.limits(ax, (float(x[0]), float(x[-1])), (0.0, 1.3))  # with room for the legend
    artists.ticks(ax.yaxis, (0.0, 0.25, 0.5, 0.75, 1.0), ("0", "0.25", "0.5", "0.75", "1"))
    finish(ax, title, x_label, y_label)
    artists.legend(ax, loc="upper right", ncols=2)


def mark_place(ax: Axes, x: float) -> None:
    """A thin vertical line at a place that the reader has chosen."""
    artists.upright(ax, "place", x, color=COLOURS["red"], lw=1.5)
