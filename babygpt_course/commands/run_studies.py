"""Command that measures and draws the course's figures."""

from pathlib import Path
from typing import Any

import click

from babygpt.cli.options import PATH, chosen_workers, worker_options
from babygpt.errors import BadInput
from babygpt.experiments.sweep import in_turn
from babygpt_course.studies.figures import FIGURES, PLANNED, make_figure


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([*FIGURES, *PLANNED]))
@click.option("--folder", default="figures", show_default=True, type=PATH, help="where pictures go")
@click.option("--results", type=PATH, help="where numbers go  [default: FOLDER]")
@click.option("--redraw", is_flag=True, help="train nothing: draw numbers of --results, or the package's")
@click.option("--seeds", default="", help="such as 1001,1002  [default: those of the study]")
@click.option("--only", default="", help="make the runs whose names match, and draw nothing")
@worker_options
def figures(
    names: tuple[str, ...],
    folder: Path,
    results: Path | None,
    redraw: bool,
    seeds: str,
    only: str,
    **how: Any,
) -> None:
    """Measure and draw the course's figures (all that are stored, or those NAMED).

    Earlier numbers are replaced. After Ctrl-C or a crash, the command continues with the next run; runs may
    be made side by side (--workers), or as jobs of a cluster (--cluster), with the same numbers if each has
    the same number of threads.
    """
    if redraw and (how["workers"] is not None or how["cluster"] or seeds or only):
        raise BadInput("--redraw trains nothing: leave out --workers, --cluster, --seeds and --only")
    try:
        chosen = [int(seed) for seed in seeds.split(",")] if seeds else []
    except ValueError:
        raise BadInput(f"seeds ({seeds}) must be whole numbers with commas between: 1001,1002") from None
    workers = chosen_workers(how, (results or folder) / "jobs") or in_turn
    for name in names or FIGURES:
        try:
            click.echo(f"{name}: {make_figure(name, folder, redraw, results, workers, chosen, only)}")
        except KeyboardInterrupt:
            raise click.ClickException(f"interrupted; `figures {name}` continues with the next run") from None
