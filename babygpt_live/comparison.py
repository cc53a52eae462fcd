"""Pictures of a comparison of versions: curves that grow, and its results with their paired differences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from babygpt.experiments.comparison import MEASURES, Measure, measures_of
from babygpt.experiments.paired import FEWEST_SEEDS, counted_seeds
from babygpt_live.figures import draw_png, set_labels, set_legend
from babygpt_live.panel import Axis, Curve, Level, Mark, Panel
from babygpt_live.style import COLOURS, ENCODING_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 5.8  # inches: narrow, so that a phone shows letters of 9 pixels
LETTERS = 11  # points of the legend, as of all other text
CURVES_HEIGHT = 4.0  # inches
ROW_HEIGHT = 0.6  # inches of a variant in a panel of differences, beside its title and axis
FREE = ("red", "green", "pink", "orange", "sky", "grey")  # Our blue is nearly that of v4.
SHOWN = ("loss", "roles")  # measures whose differences are drawn


def draw_comparison(results: Mapping[str, Any]) -> bytes:
    """Draw the results of `compare_versions`: the bytes of a PNG file.

    Learning curves stand on top. Below are the differences of the last loss and, where the corpus asks
    questions, of right answers.
    """
    names = [name for name in SHOWN if name in measures_of(results)]
    heights = [CURVES_HEIGHT, *(1.4 + ROW_HEIGHT * (len(results["rows"]) - 1) for _ in names)]

    def draw(figure: Figure) -> None:
        curves, *panels = figure.subplots(len(heights), height_ratios=heights)
        draw_learning_curves(curves, results)
        for ax, name in zip(panels, names, strict=True):
            draw_differences(ax, results, name)

    return draw_png(draw, (WIDTH, sum(heights)))


def colours_of(results: Mapping[str, Any]) -> dict[str, str]:
    """Return a colour for each variant: its own, or the next one that is free."""
    return colours_of_names([row["variant"] for row in results["rows"]])


def colours_of_names(names: Sequence[str]) -> dict[str, str]:
    """Return a colour for each name of a variant: its own, or the next one that is free."""
    own = {name: ENCODING_COLOURS[name] for name in names if name in ENCODING_COLOURS}
    free = cycle([COLOURS[colour] for colour in FREE if COLOURS[colour] not in own.values()])
    return {name: own.get(name) or next(free) for name in names}


def short_name(variant: str) -> str:
    """Return a variant's name without files: "Sandwich (rate 2)" for "mine.py:Sandwich (rate 2)"."""
    return re.sub(r"^[^(]*\.py:|[^ (]*\.py:", "", variant)  # options may name files as well


# ---------------------------------------------------------------- curves that grow


def growing_panel(
    curves: Mapping[str, Mapping[int, Sequence[Sequence[float]]]],
    total: int,
    floor: float | None = None,
    note: str = "",
) -> Panel:
    """Return the learning curves of runs that are being made, as a panel.

    Each run is a thin line. The thick line of a variant is the mean of its finished runs, so that it does not
    jump where a run has only come halfway. The title gives the means of the last losses.

    curves  name of a variant -> seed -> validation losses so far, as [step, loss]
    total   steps of a run
    floor   a loss that no model can pass, or None
    note    a line below the picture
    """
    means, thin, words = list[Mark](), list[Mark](), list[str]()
    for name, colour in colours_of_names(list(curves)).items():
        runs = [np.array(curve, dtype=float).T for curve in curves[name].values()]  # (2, points) each
        thin += [Curve("", colour, losses, steps, "thin") for steps, losses in runs]
        finished = [(steps, losses) for steps, losses in runs if steps[-1] == total]
        mean = np.mean([losses for _, losses in finished], axis=0) if finished else np.empty(0)
        steps = finished[0][0] if finished else np.empty(0)
        means.append(Curve(short_name(name), colour, mean, steps, "marked"))
        if finished:
            words.append(f"{short_name(name)} ends at {mean[-1]:.3f} ({counted_seeds(len(finished))})")
    losses = [point[1] for runs in curves.values() for curve in runs.values() for point in curve]
    low, high = min([*losses, floor or np.inf], default=0.0), max(losses, default=0.0)
    floors: list[Mark] = [Level(f"floor {floor:.3f}", floor)] if floor else []
    span = (float(np.floor(10 * low) / 10), float(np.ceil(10 * high) / 10)) if losses else (0.0, 4.0)
    title = f"Loss: {', '.join(words)}" if words else "Loss: no run is finished yet"
    y = Axis("validation loss (nats per character)", span, digits=3)
    return Panel(
        title, [*thin, *means, *floors], Axis("step", (0.0, total), digits=0), y, note=note, over_steps=True
    )


# ---------------------------------------------------------------- results


def draw_learning_curves(ax: Axes, results: Mapping[str, Any]) -> None:
    """Draw the validation losses: the mean of all seeds, in a band from the lowest seed to the highest."""
    captions, n_seeds = list[str](), len(results["seeds"])
    for name, colour in colours_of(results).items():
        runs = results["runs"][name]
        steps = [step for step, _ in runs[0]["curve"]]
        losses = np.array([[loss for _, loss in run["curve"]] for run in runs])  # (seeds, points)
        ax.plot(steps, losses.mean(axis=0), color=colour, marker="o", ms=4, label=short_name(name))
        ax.fill_between(steps, losses.min(axis=0), losses.max(axis=0), color=colour, alpha=0.2, lw=0)
        captions.append(f"{short_name(name)} ends at {losses[:, -1].mean():.3f}")
    if results["floor"]:
        ax.axhline(results["floor"], color="black", lw=1, ls="--", label=f"floor {results['floor']:.3f}")
    means = f"means of {n_seeds} seeds" if n_seeds > 1 else "one seed"
    means += ", a first look" if n_seeds < FEWEST_SEEDS else ""
    title = f"Loss, lower is better: {', '.join(captions)} ({means})"
    set_labels(ax, title, "step", "validation loss (nats per character)")
    set_legend(ax, loc="best", fontsize=LETTERS)


def draw_differences(ax: Axes, results: Mapping[str, Any], name: str) -> None:
    """Draw a row for each variant but the first: a dot for each seed's difference, the mean, its interval."""
    measure, first, colours = MEASURES[name], results["rows"][0]["variant"], colours_of(results)
    rows = [row for row in results["rows"][1:] if name in row["differences"]]
    scale = 100 if measure.share else 1
    ax.axvspan(-scale * measure.least, scale * measure.least, color=COLOURS["grey"], alpha=0.15, lw=0)
    ax.axvline(0, color="black", lw=1)
    for height, row in enumerate(rows):
        gap, colour = row["differences"][name], colours[row["variant"]]
        ax.plot(
            [scale * x for x in gap["each"].values()], [height] * len(gap["each"]), "o", color=colour, ms=5
        )
        interval = [scale * gap[end] for end in ("low", "high")] if gap["low"] is not None else []
        ax.plot(interval, [height + 0.25] * len(interval), color=colour, lw=2)
        ax.plot([scale * gap["mean"]], [height + 0.25], "D", color=colour, ms=6)
        # Beside the axis a long name would push the panel to the right, and its title off the picture.
        ax.text(
            0.01, height - 0.3, short_name(row["variant"]), transform=ax.get_yaxis_transform(), va="center"
        )
    ax.set_yticks([])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    set_labels(ax, differences_title(results, name, measure), label_of(measure, first), "")


def differences_title(results: Mapping[str, Any], name: str, measure: Measure) -> str:
    """Return the differences of a measure in words, or for many variants what the marks mean."""
    rows = [row for row in results["rows"][1:] if name in row["differences"]]
    if len(rows) == 1:
        first, gap = results["rows"][0]["variant"], rows[0]["differences"][name]
        pair = f"{short_name(rows[0]['variant'])} less {short_name(first)}"
        return f"{measure.title.capitalize()}, {pair}: {measure.difference(gap)}"
    return f"{measure.title.capitalize()}: a dot for each seed, below it the mean with its 99% interval"


def label_of(measure: Measure, first: str) -> str:
    """Return the label of an axis of differences."""
    unit = "points" if measure.share else measure.unit
    least = f"{100 * measure.least:.0f} points" if measure.share else f"{measure.least} nats"
    return f"difference to {short_name(first)} ({unit}; grey: below {least})"
