"""The figures of the course, each measured by a function and drawn by another.

What takes minutes to measure is stored as JSON, with the command that makes it.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.errors import BadInput
from babygpt.files import file_lock, require_writable, write_atomically
from babygpt_course.studies import (
    board,
    branch_share,
    branches,
    floors,
    gaussian,
    gaussian_figure,
    ladder,
    lookup,
    names,
    polar,
    pope,
    remasking,
    roles_and_lengths,
    stretch,
    stretch_claims,
    strides,
    untrained,
    who,
)
from babygpt_course.studies.results import Results, load_results
from babygpt_course.studies.sweep import kept_runs


@dataclass(frozen=True)
class Study:
    """What stands behind a figure.

    draw     draws the results
    measure  trains models, and returns the results; None if nothing needs to be trained
    size     of the figure, in inches
    table    puts the results into a Markdown table, if there is one
    """

    draw: Callable[[Figure, Results], None]
    measure: Callable[[], Results] | None = None
    size: tuple[float, float] = (7.0, 4.0)
    table: Callable[[Results], str] | None = None


FIGURES: dict[str, Study] = {
    "sinusoid": Study(untrained.draw_sinusoid),
    "rope": Study(untrained.draw_rope, size=(6.0, 4.6)),
    "floors": Study(floors.draw_floors, floors.measure_floors, (8.0, 4.2)),
    "roles": Study(roles_and_lengths.draw_roles, roles_and_lengths.measure_roles, (8.0, 3.0)),
    "names": Study(names.draw_names, names.measure_names, (12.5, 4.2)),
    "lengths": Study(roles_and_lengths.draw_lengths, roles_and_lengths.measure_lengths, (12.5, 4.4)),
    "branches": Study(
        branches.draw_branches, branches.measure_branches, (14.0, 5.0), branches.markdown_table
    ),
    "strides": Study(strides.draw_strides, strides.measure_strides, (13.0, 4.6)),
    "branch_share": Study(
        branch_share.draw_branch_share,
        branch_share.measure_branch_share,
        (13.0, 4.6),
        branch_share.markdown_table,
    ),
    "gaussian": Study(gaussian_figure.draw_gaussian, gaussian.measure_gaussian, (18.0, 9.0)),
    "gate": Study(untrained.draw_gate, size=(16.0, 3.9)),
    "trajectory": Study(polar.draw_trajectory, polar.measure_trajectory, (16.0, 3.6)),
    "polar": Study(polar.draw_polar, polar.measure_polar, (12.5, 4.6)),
    "pope": Study(pope.draw_pope, pope.measure_pope, (9.0, 3.8)),
    "who": Study(who.draw_who, who.measure_who, (8.5, 4.2)),
    "lookup": Study(lookup.draw_lookup, lookup.measure_lookup, (13.0, 4.4)),
    "stretch": Study(
        stretch_claims.draw_stretch, stretch.measure_stretch, (19.0, 5.4), stretch_claims.markdown_table
    ),
    "remasking": Study(
        remasking.draw_remasking, remasking.measure_remasking, (16.0, 4.8), remasking.markdown_table
    ),
    "ladder": Study(board.draw_ladder, ladder.measure_ladder, (15.0, 8.0), board.markdown_table),
}


def make(name: str, folder: Path, redraw: bool = False, results: Path | None = None) -> Path:
    """Measure a figure if it has something to measure, store the numbers, draw it, store the picture.

    name      one of FIGURES
    folder    where NAME.png goes, and NAME.md where there is a table
    redraw    train nothing: use the numbers stored in `results`, or else those in the package
    results   where NAME.json goes; the same folder by default
    returns   the picture's path
    A study that was stopped goes on from the runs that it has made: they are kept in NAME.partial.json.
    Raises BadInput if there is no such figure, nothing stored to redraw it from, or something else; if a file
    cannot be written, or another process makes it.
    """
    if name not in FIGURES:
        raise BadInput(f"figure ({name}) must be one of {', '.join(FIGURES)}")
    study, store, picture = FIGURES[name], (results or folder) / f"{name}.json", folder / f"{name}.png"
    table, partial = picture.with_suffix(".md"), store.with_suffix(".partial.json")
    with ExitStack() as claims:
        for path in (picture, table, *(() if redraw else (store, partial))):
            require_writable(path)  # now, and not after minutes of training
            claims.enter_context(file_lock(path))
        if redraw or study.measure is None:
            numbers = load_results(name, store.parent if store.exists() else None) if study.measure else {}
            draw_and_write(study, numbers, picture, f"{store} does not hold the results of {name}")
        else:
            with kept_runs(partial):  # till all is drawn
                draw_and_write(study, measure_and_store(name, study.measure, store), picture)
    return picture


def draw_and_write(study: Study, numbers: Results, picture: Path, complaint: str = "") -> None:
    """Draw results, and write the picture, and beside it the table if there is one.

    complaint  what is wrong with numbers that somebody else has stored, if they cannot be drawn
    """
    content = io.BytesIO()
    try:
        with matplotlib.rc_context(plots.STYLE):
            figure = Figure(figsize=study.size)
            study.draw(figure, numbers)
            figure.savefig(content, format="png", dpi=150, metadata={"Software": None})
        text = study.table(numbers) if study.table else None
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if complaint:
            raise BadInput(f"{complaint}: {error!r}") from error
        raise
    write_atomically(picture, content.getvalue())
    if text is not None:
        write_atomically(picture.with_suffix(".md"), text.encode())


def measure_and_store(name: str, measure: Callable[[], Results], store: Path) -> Results:
    """Measure a figure's numbers, and write them down at once: what took minutes is not lost.

    returns  them, with the command that makes them, and how many minutes it took, this time
    """
    start = time.perf_counter()
    numbers = measure()
    minutes = round((time.perf_counter() - start) / 60, 1)
    numbers = {"command": f"python -m babygpt figures {name}", "minutes": minutes, **numbers}
    write_atomically(store, (json.dumps(numbers, indent=1) + "\n").encode())
    return numbers
