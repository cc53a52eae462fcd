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
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.errors import BadInput
from babygpt.experiments.branches import branches
from babygpt.experiments.branches import table as branches_table
from babygpt.experiments.figures.diffusion import draw_polar, draw_trajectory
from babygpt.experiments.figures.ladder import draw_ladder
from babygpt.experiments.figures.lookup import draw_lookup
from babygpt.experiments.figures.seeds import draw_branches, draw_gaussian, draw_lengths, draw_roles
from babygpt.experiments.figures.untrained import draw_gate, draw_rope, draw_sinusoid
from babygpt.experiments.gaussian import kernels
from babygpt.experiments.ladder import board
from babygpt.experiments.ladder import table as ladder_table
from babygpt.experiments.lengths import lengths
from babygpt.experiments.lookup import lookup
from babygpt.experiments.polar import trajectory, walk
from babygpt.experiments.results import load_results
from babygpt.experiments.roles import roles
from babygpt.training.checkpoint import write_atomically

Results = dict[str, Any]


@dataclass(frozen=True)
class Picture:
    """A figure: what measures it (None if it needs no training), what draws it, its size in inches, and
    what puts its numbers into a Markdown table, if there is one."""

    draw: Callable[[Figure, Results], None]
    measure: Callable[[], Results] | None = None
    size: tuple[float, float] = (7.0, 4.0)
    table: Callable[[Results], str] | None = None


FIGURES: dict[str, Picture] = {
    "sinusoid": Picture(draw_sinusoid),
    "rope": Picture(draw_rope, size=(6.0, 4.6)),
    "roles": Picture(draw_roles, roles),
    "lengths": Picture(draw_lengths, lengths),
    "branches": Picture(draw_branches, branches, (12.5, 4.4), branches_table),
    "gaussian": Picture(draw_gaussian, kernels, size=(15.0, 4.4)),
    "gate": Picture(draw_gate, size=(16.0, 3.9)),
    "trajectory": Picture(draw_trajectory, trajectory, (16.0, 3.6)),
    "polar": Picture(draw_polar, walk, (12.5, 4.6)),
    "lookup": Picture(draw_lookup, lookup, (12.5, 4.2)),
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
        raise BadInput(f"figure ({name}) must be one of {', '.join(FIGURES)}")
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
            raise BadInput(f"no {store} to redraw from; leave --redraw out to measure")
        return load_results(name, store.parent)
    start = time.perf_counter()
    results = picture.measure()
    minutes = round((time.perf_counter() - start) / 60, 1)
    results = {"command": f"python -m babygpt figures {name}", "minutes": minutes, **results}
    write_atomically(store, (json.dumps(results, indent=1) + "\n").encode())  # what took minutes is not lost
    return results
