"""The figures of the course, each measured by a function and drawn by another.

What takes minutes to measure is stored beside the picture as JSON, with the command that makes it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.encodings.rotary import rotate
from babygpt.encodings.sinusoidal import sinusoid
from babygpt.experiments.branches import branches, gaps, table
from babygpt.experiments.gaussian import kernels, shape
from babygpt.experiments.ladder import board, kind
from babygpt.experiments.ladder import table as ladder_table
from babygpt.experiments.lengths import LENGTHS_TITLE, lengths
from babygpt.experiments.polar import REPAIRS, RIVALS, walk
from babygpt.experiments.roles import ROLES_TITLE, roles
from babygpt.experiments.stored import stored

Results = dict[str, Any]


@dataclass(frozen=True)
class Picture:
    """A figure: what measures it (None if it needs no training), what draws it, its size in inches, and
    what puts its numbers into a Markdown table, if there is one."""

    draw: Callable[[Figure, Results], None]
    measure: Callable[[], Results] | None = None
    size: tuple[float, float] = (7.0, 4.0)
    table: Callable[[Results], str] | None = None


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


def draw_sinusoid(figure: Figure, _: Results) -> None:
    """The fixed table of v3."""
    table = sinusoid(torch.arange(128), 64).numpy()
    title = "Each position has its own pattern: fast waves left, slow ones right"
    plots.draw_matrix(figure.subplots(), table, title, "channel", "position (tokens)", diverging=True)


def draw_rope(figure: Figure, _: Results) -> None:
    """The score of one random query and key, at every pair of positions, under RoPE."""
    draw = torch.Generator().manual_seed(0)
    q, k = (torch.randn(1, 1, 1, 32, generator=draw).expand(1, 1, 48, 32) for _ in range(2))
    places = torch.arange(48)
    scores = (rotate(q, places)[0, 0] @ rotate(k, places)[0, 0].T).numpy()
    title = "RoPE: one query, one key; the score is constant along diagonals"
    plots.draw_matrix(
        figure.subplots(),
        scores,
        title,
        "position of the key n",
        "position of the query m",
        diverging=True,
    )


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


def draw_polar(figure: Figure, results: Results) -> None:
    """The note's gate repaired step by step, beside its rivals: loss of each seed, and while training."""
    losses, curves = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    names, found = {**REPAIRS, **RIVALS}, results["val_loss"]
    written, repaired, rope = (np.mean(found[v]) for v in ("v7-polar", "v7", "v7-rope"))
    title = f"As written {written:.2f}, repaired {repaired:.2f}, RoPE {rope:.2f}"
    rows = {names[version]: seeds for version, seeds in found.items()}
    plots.draw_rows(losses, rows, title, "loss of masked characters (nats)")
    shown = {v: results["curves"][v] for v in ("v7-polar", "v7-quadrature", "v7", "v7-rope")}
    steps = np.array([step for step, _ in shown["v7"]])
    lines = {names[v]: np.array([loss for _, loss in points]) for v, points in shown.items()}
    faster = "The sine and the phase do the work"
    span, top = (0.0, float(steps[-1])), float(np.ceil(max(line.max() for line in lines.values())))
    labels = (faster, "step", "training loss (nats)")
    plots.draw_curves(curves, steps, lines, *labels, span, (1.0, top), "upper right")


def draw_ladder(figure: Figure, results: Results) -> None:
    """The board: losses and, on axes of their own, bounds; right answers; and what longer windows cost."""
    rows = figure.subplots(2, 3, height_ratios=(10, 5))
    for (loss, roles, longer), masks in zip(rows, (False, True), strict=True):
        draw_board(loss, roles, longer, kind(results, masks), masks)


def draw_board(loss: Axes, roles: Axes, longer: Axes, found: Results, bound: bool) -> None:
    """One kind of models: what they lose, what they answer, what four times longer windows cost them."""
    what = "bound on the loss" if bound else "loss"
    best, right = (pick(found, key=lambda v: np.mean(found[v][k])) for pick, k in ((min, "1x"), (max, "roles")))
    title = f"{'Filling in' if bound else 'Left to right'}: {best} leads, {np.mean(found[best]['1x']):.2f}"
    plots.draw_rows(loss, {v: one["1x"] for v, one in found.items()}, title, f"{what} (nats per character)")
    title = f"Who did it? {right} {np.mean(found[right]['roles']):.0%}"
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


FIGURES: dict[str, Picture] = {
    "sinusoid": Picture(draw_sinusoid),
    "rope": Picture(draw_rope, size=(6.0, 4.6)),
    "roles": Picture(draw_roles, roles),
    "lengths": Picture(draw_lengths, lengths),
    "branches": Picture(draw_branches, branches, (12.5, 4.4), table),
    "gaussian": Picture(draw_gaussian, kernels, size=(15.0, 4.4)),
    "polar": Picture(draw_polar, walk, (12.5, 4.6)),
    "ladder": Picture(draw_ladder, board, (15.0, 8.0), ladder_table),
}


def make(name: str, folder: Path, redraw: bool = False) -> Path:
    """Measure a figure if it has something to measure, store the numbers, draw it, store the picture.

    name      one of FIGURES
    folder    where NAME.png and NAME.json go
    redraw    use the stored numbers
    returns   the picture's path
    Raises ValueError if there is no such figure, or nothing stored to redraw it from.
    """
    if name not in FIGURES:
        raise ValueError(f"figure ({name}) must be one of {', '.join(FIGURES)}")
    picture = FIGURES[name]
    folder.mkdir(parents=True, exist_ok=True)
    results = _results(name, picture, folder / f"{name}.json", redraw)
    with matplotlib.rc_context(plots.STYLE):
        figure = Figure(figsize=picture.size)
        picture.draw(figure, results)
        figure.savefig(folder / f"{name}.png", dpi=150, metadata={"Software": None})
    if picture.table:
        (folder / f"{name}.md").write_text(picture.table(results), encoding="utf-8")
    return folder / f"{name}.png"


def _results(name: str, picture: Picture, store: Path, redraw: bool) -> Results:
    if picture.measure is None:
        return {}
    if redraw:
        if not store.exists():
            raise ValueError(f"no {store} to redraw from; leave --redraw out to measure")
        return stored(name, store.parent)
    start = time.perf_counter()
    results = picture.measure()
    minutes = round((time.perf_counter() - start) / 60, 1)
    results = {"command": f"python -m babygpt figures {name}", "minutes": minutes, **results}
    store.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results
