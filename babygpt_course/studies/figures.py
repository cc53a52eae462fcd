"""Table of the course's figures; a study's numbers are stored as JSON, with the command that makes them."""

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

import babygpt_live as live
from babygpt.device import hardware
from babygpt.errors import BadInput
from babygpt.experiments.sweep import StudySize, Workers, in_turn, keep_runs
from babygpt.files import file_lock, require_writable, write_atomically
from babygpt_course.studies import (
    board,
    branches,
    clicks,
    controls,
    distances,
    dropped_positions,
    first_token,
    gaussian_training,
    late,
    lookup,
    names,
    needed_heads,
    neighbours,
    open_questions,
    order,
    places,
    plain_attention,
    polar_repairs,
    practice,
    published_model,
    remasking,
    slopes,
    spelling,
    stretch,
    strides,
    theta_and_rates,
    window_floor,
)
from babygpt_course.studies.results import Results, load_results

COURSE = Path(__file__).parents[1]  # what a study measures depends on its code too


class Study(NamedTuple):
    """Functions behind a figure.

    measure  trains models by the workers that it is given, and returns the results
    draw     draws the results
    size     of the figure, in inches
    table    returns the results as a Markdown table; None if there is no table
    join     adds the results of `only` some runs to those that are stored; None if they replace them
    """

    measure: Callable[..., Results]
    draw: Callable[[Figure, Results], None]
    size: tuple[float, float]
    table: Callable[[Results], str] | None = None
    join: Callable[[Results, Results], Results] | None = None


FIGURES: dict[str, Study] = {
    "floors": Study(window_floor.measure_floors, window_floor.draw_floors, (8.0, 4.2)),
    "names": Study(names.measure_names, names.draw_names, (12.5, 4.2)),
    "order": Study(order.measure_order, order.draw_order, (13.5, 4.2)),
    "branches": Study(branches.measure_branches, branches.draw_branches, (14.0, 5.0), branches.table),
    "strides": Study(strides.measure_strides, strides.draw_strides, (13.0, 4.6)),
    "gaussian": Study(gaussian_training.measure_gaussian, gaussian_training.draw_gaussian, (18.0, 9.0)),
    "polar": Study(polar_repairs.measure_polar, polar_repairs.draw_polar, (15.0, 5.4), polar_repairs.table),
    "lookup": Study(lookup.measure_lookup, lookup.draw_lookup, (13.0, 4.4)),
    "stretch": Study(stretch.measure_stretch, stretch.draw_stretch, (18.0, 5.4), stretch.table),
    "remasking": Study(remasking.measure_remasking, remasking.draw_remasking, (13.5, 5.0), remasking.table),
    "clicks": Study(clicks.measure_clicks, clicks.draw_clicks, (13.0, 5.0), clicks.table, clicks.join_models),
    "controls": Study(controls.measure_controls, controls.draw_controls, (16.0, 4.4)),
    "spelling": Study(spelling.measure_spelling, spelling.draw_spelling, (16.0, 5.0)),
    "heads": Study(needed_heads.measure_heads, needed_heads.draw_needed_heads, (15.0, 9.0)),
    "rates": Study(
        theta_and_rates.measure_theta_and_rates, theta_and_rates.draw_theta_and_rates, (15.0, 5.0)
    ),
    "neighbours": Study(
        neighbours.measure_neighbours,
        neighbours.draw_neighbours,
        (16.0, 6.5),
        neighbours.table,
        neighbours.join_runs,
    ),
    "plain": Study(
        plain_attention.measure_plain,
        plain_attention.draw_plain,
        (14.0, 4.6),
        plain_attention.table,
        plain_attention.join_fresh,
    ),
    "open": Study(open_questions.measure_open, open_questions.draw_open, (18.0, 5.0), open_questions.table),
    "late": Study(late.measure_late, late.draw_late, (8.0, 3.6)),
    "places": Study(places.measure_places, places.draw_places, (22.0, 5.0), places.table),
    "distances": Study(distances.measure_distances, distances.draw_distances, (16.0, 3.8), distances.table),
    "slopes": Study(slopes.measure_slopes, slopes.draw_slopes, (9.0, 4.8), slopes.table, slopes.join_arms),
    "drope": Study(
        dropped_positions.measure_dropped,
        dropped_positions.draw_dropped,
        (14.0, 4.8),
        dropped_positions.table,
    ),
    "sinks": Study(
        first_token.measure_first_token, first_token.draw_first_token, (15.0, 4.4), first_token.table
    ),
    "practice": Study(practice.measure_practice, practice.draw_practice, (17.0, 4.6), practice.table),
    "real": Study(
        published_model.measure_published,
        published_model.draw_published,
        (16.0, 6.0),
        published_model.table,
        published_model.join_parts,
    ),
    "ladder": Study(board.measure_ladder, board.draw_ladder, (15.0, 8.0), board.table),
}

# Studies whose results are not stored yet. The command runs one that is named; with its results it moves up.
PLANNED: dict[str, Study] = {}


def study_named(name: str) -> Study:
    """Return the study of one of FIGURES or PLANNED."""
    return FIGURES[name] if name in FIGURES else PLANNED[name]


def study_scale(study: Study) -> StudySize:
    """Return the size of a study. Raises BadInput if it has none: nothing is trained from a seed."""
    scale = signature(study.measure).parameters.get("scale")
    if scale is None:
        raise BadInput("this study trains nothing: leave out --seeds")
    return scale.default


def commit_of(folder: Path) -> str | None:
    """Return the commit of the code in a folder, with a "+" if code was changed since; None outside Git."""
    git = ["git", "-C", str(folder)]
    commit, changes = [*git, "rev-parse", "--short=12", "HEAD"], [*git, "status", "--porcelain", "--", "*.py"]
    try:
        answers = [subprocess.run(command, capture_output=True, text=True) for command in (commit, changes)]
    except OSError:  # Git is not installed.
        return None
    if any(answer.returncode for answer in answers):
        return None
    return answers[0].stdout.strip() + "+" * bool(answers[1].stdout)


def make_figure(
    name: str,
    folder: Path,
    redraw: bool = False,
    results: Path | None = None,
    workers: Workers = in_turn,
    seeds: Sequence[int] = (),
    only: str = "",
) -> Path:
    """Measure a figure's numbers, store them, and draw them: return the picture's path.

    name      one of FIGURES or PLANNED
    folder    where NAME.png goes, and NAME.md if there is a table
    redraw    train nothing: use the numbers in `results`; without it those in the folder, or in the package
    results   where NAME.json goes; the same folder by default
    workers   make the runs of a study; each is kept in NAME.partial.json until all are drawn, so that a study
              that was stopped goes on with the next run
    seeds     of the runs; by default those of the study
    only      regular expression: make the runs in whose name it is found, and draw nothing
    Raises BadInput if there is nothing stored to redraw it from, or something else; if a file cannot be
    written, or another process writes it.
    """
    study, store, picture = study_named(name), (results or folder) / f"{name}.json", folder / f"{name}.png"
    partial = store.with_suffix(".partial.json")
    with ExitStack() as locks:
        for path in (picture, picture.with_suffix(".md"), *(() if redraw else (store, partial))):
            require_writable(path)  # now, and not after minutes of training
            locks.enter_context(file_lock(path))
        if redraw:
            numbers = load_results(name, store.parent if results or store.exists() else None)
        else:
            start = time.perf_counter()
            scale = {"scale": replace(study_scale(study), seeds=tuple(seeds))} if seeds else {}
            measured = study.measure(keep_runs(partial, workers, only, [COURSE]), **scale)
            minutes = round((time.perf_counter() - start) / 60, 1)
            chosen = (f" --seeds {','.join(map(str, seeds))}" if seeds else "") + (
                f" --only '{only}'" if only else ""
            )
            about = {
                "command": f"python -m babygpt figures {name}{chosen}",
                "minutes": minutes,
                "commit": commit_of(COURSE),
            }
            numbers = {**about, **hardware(), **measured}
            if only and study.join and store.exists():
                numbers = study.join(load_results(name, store.parent), numbers)
            write_atomically(store, (json.dumps(numbers, indent=1) + "\n").encode())
        if only:
            partial.unlink()
            return store
        try:
            content = draw_figure(study, numbers)
            table = study.table(numbers) if study.table else None
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            if not redraw:
                raise
            raise BadInput(f"{store} does not hold the results of {name}: {error!r}") from error
        write_atomically(picture, content)
        if table is not None:
            write_atomically(picture.with_suffix(".md"), table.encode())
        if not redraw:
            partial.unlink(missing_ok=True)
    return picture


def draw_figure(study: Study, numbers: Results) -> bytes:
    """Draw results in the course's style: the bytes of a PNG file of 256 colours."""
    return live.draw_png(lambda figure: study.draw(figure, numbers), study.size)
