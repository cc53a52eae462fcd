"""Comparisons, table and picture of the stored board of all versions; `ladder` measures it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.errors import BadInput
from babygpt.tables import format_mean_sd, markdown, mean_sd
from babygpt_course.studies.ladder import WINDOWS
from babygpt_course.studies.paired import decided_side
from babygpt_course.studies.results import Results

COLUMNS = (
    "model",
    "loss",
    "at 2× length",
    "at 4× length",
    "change past the window",
    "right answers, each seed (%)",
    "whole names, each seed (%)",
    "parameters",
    "speed",
)
KNOWN = 0.9  # share of right answers from which a model is said to know who did it
TOO_FAR = 2.0  # times the lowest loss; a higher one is written as a number, or it would stretch the axis


def of_kind(results: Results, masks: bool) -> dict[str, dict[str, Any]]:
    """Return the models that fill in masked characters, or those that write from left to right."""
    return {name: found for name, found in results["board"].items() if found["masks"] == masks}


def paired_differences(results: Results, name: str, rival: str, key: str = "1x") -> list[float]:
    """Return a model's number minus its rival's, seed by seed; if one has more seeds, of the first.

    Raises BadInput for two models whose losses are not of one kind, or that refuse such a length.
    """
    one, other = (results["board"][which] for which in (name, rival))
    if one["masks"] != other["masks"] and key != "roles":
        raise BadInput(f"{name} and {rival}: a bound and a loss cannot be subtracted")
    if None in one[key] or None in other[key]:
        raise BadInput(f"{name} or {rival} has no {key}: it refuses such a length")
    return [a - b for a, b in zip(one[key], other[key], strict=False)]


def against(results: Results, rival: str, key: str = "1x") -> dict[str, str]:
    """Return which side of a rival each model of its kind is on, but for those that refuse such a length."""
    rows = of_kind(results, results["board"][rival]["masks"])
    named = [name for name, found in rows.items() if name != rival and None not in found[key]]
    return {name: decided_side(paired_differences(results, name, rival, key)) for name in named}


def table_row(results: Results, name: str) -> tuple[str, ...]:
    """Return a model's cells under COLUMNS; answers seed by seed, as their outcome is bimodal."""
    found = results["board"][name]
    bound = "≤ " if found["masks"] else ""
    losses = [
        "refuses" if None in seeds else bound + format_mean_sd(mean_sd(seeds))
        for seeds in (found[f"{n}x"] for n in WINDOWS)
    ]
    refused = "–" if found["masks"] else "refuses"
    past = refused if None in found["past"] else f"{mean(found['past']):+.3f} ± {stdev(found['past']):.3f}"
    answers = [each_seed(found[key]) for key in ("roles", "whole")]
    return (name, *losses, past, *answers, f"{found['parameters']:,}", f"{found['speed']:.2f}")


def each_seed(shares: Sequence[float | None]) -> str:
    """Return shares in per cent, the highest first; a dash if nothing was asked."""
    known = sorted((share for share in shares if share is not None), reverse=True)
    return " ".join(f"{100 * share:.0f}" for share in known) or "–"


def table(results: Results) -> str:
    """Return the board as Markdown, with the command that made it and the time it took."""
    seeds, fill_seeds = len(results["seeds"]), len(results["fill_seeds"])
    head = (
        f"`{results['command']}`, {results['minutes']:.0f} minutes; 2 layers, 4 heads, width 96, windows "
        f"of {results['block_size']} characters, {results['steps']} steps, mean ± standard deviation "
        f"over {seeds} seeds, over {fill_seeds} of models that fill in. Losses in nats per character; "
        f"no model can pass {results['window_floor']:.3f} on windows that begin anywhere, as these do, "
        f"and {results['floor']:.3f} on whole stories. Change past the window: four windows far, minus "
        "the same targets within one window. Right answers: of two names; whole names: written letter "
        "by letter. Speed: training steps a second as a share of v4's.\n\n"
    )
    return head + markdown(COLUMNS, [table_row(results, name) for name in results["board"]])


def draw_ladder(figure: Figure, results: Results) -> None:
    """Draw losses and, on axes of their own, bounds; right answers; and the cost of longer windows."""
    rows = figure.subplots(2, 3, height_ratios=(11, 5))
    for (loss, roles, longer), masks in zip(rows, (False, True), strict=True):
        found = of_kind(results, masks)
        what = "bound (nats per character)" if masks else "loss (nats per character; line: the best reader)"
        title = f"{'Filling in' if masks else 'Left to right'}: {front_title(results, masks)}"
        losses = {name: one["1x"] for name, one in found.items()}
        highest = TOO_FAR * min(min(seeds) for seeds in losses.values())
        draw_rows(loss, losses, title, what, highest, None if masks else results["window_floor"])
        draw_answers(roles, found)
        draw_longer(longer, found, masks)


def draw_answers(ax: Axes, found: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw right answers: a dot where two names were compared, a ring where the whole name was written."""
    percent = {
        key: {name: [100 * share for share in one[key] if share is not None] for name, one in found.items()}
        for key in ("roles", "whole")
    }
    rings = percent["whole"] if any(percent["whole"].values()) else {}
    title = who_answers({name: one["roles"] for name, one in found.items()})
    label = "right answers (%); rings: whole names written" if rings else "right answers (%)"
    plots.draw_seed_dots(ax, percent["roles"], title, label, {"chance": 50.0}, (-3.0, 103.0), rings)


def draw_longer(ax: Axes, found: Mapping[str, Mapping[str, Any]], masks: bool) -> None:
    """Draw the cost of four times longer windows; models that refuse them keep a row that says so."""
    if masks:
        costs = {name: [a - b for a, b in zip(v["4x"], v["1x"], strict=True)] for name, v in found.items()}
        title, label = "Windows four times longer", "change of the bound (nats per character)"
    else:
        costs = {name: [x for x in one["past"] if x is not None] for name, one in found.items()}
        title, label = "Four windows far, same targets", "change of the loss (nats per character)"
    means = {name: float(np.mean(seeds)) for name, seeds in costs.items() if seeds}
    worst = max(means, key=lambda name: means[name])
    draw_rows(
        ax, costs, f"{title}: {worst} pays {means[worst]:+.1f}", label, 1.0 if not masks else np.inf, 0.0
    )


def draw_rows(
    ax: Axes,
    values: Mapping[str, Sequence[float]],
    title: str,
    label: str,
    highest: float,
    mark: float | None = None,
) -> None:
    """Draw a row of dots for each model; values beyond `highest` and refusals are written in its row."""
    far = {name: seeds for name, seeds in values.items() if len(seeds) and min(seeds) > highest}
    notes = {name: f"{np.mean(seeds):.2f} →" for name, seeds in far.items()}
    notes |= {name: "refuses" for name, seeds in values.items() if not len(seeds)}
    dots = {name: () if name in notes else seeds for name, seeds in values.items()}
    marks = {} if mark is None else {"mark": mark}
    plots.draw_seed_dots(ax, dots, title, label, marks, notes=notes)


def front(results: Results, masks: bool) -> list[str]:
    """Return the models of a kind that no other is decidedly below."""
    names = of_kind(results, masks)
    return [name for name in names if "below" not in against(results, name).values()]


def front_title(results: Results, masks: bool) -> str:
    """Return a title: who leads, or how many are undecided, and the lowest mean loss among them."""
    names = front(results, masks)
    lowest = min(float(np.mean(results["board"][name]["1x"])) for name in names)
    return f"{names[0]} leads, {lowest:.2f}" if len(names) == 1 else f"{len(names)} undecided, {lowest:.2f}"


def who_answers(roles: Mapping[str, Sequence[float]]) -> str:
    """Return a title: which models give right answers in every seed, or that none does."""
    sure = [name for name, seeds in roles.items() if min(seeds) >= KNOWN]
    some = sum(max(seeds) >= KNOWN for seeds in roles.values()) - len(sure)
    if not sure and not some:
        return f"Who did it? Nobody knows: {max(map(max, roles.values())):.0%} at best"
    return f"Who did it? In every seed: {', '.join(sure) or 'nobody'}; in some: {some}"
