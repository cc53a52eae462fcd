"""Command that measures and draws the course's figures."""

from pathlib import Path

import click

from babygpt.cli.options import PATH
from babygpt.errors import BadInput
from babygpt.experiments.sweep import in_turn
from babygpt.experiments.workers import cluster as jobs
from babygpt.experiments.workers import processes
from babygpt_course.studies.figures import FIGURES, make_figure


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(FIGURES)))
@click.option("--folder", default="figures", show_default=True, type=PATH, help="where pictures go")
@click.option("--results", type=PATH, help="where numbers go  [default: FOLDER]")
@click.option("--redraw", is_flag=True, help="train nothing: draw numbers of --results, or the package's")
@click.option("--seeds", default="", help="such as 1001,1002  [default: those of the study]")
@click.option("--only", default="", help="make the runs whose names match, and draw nothing")
@click.option(
    "--workers", type=int, help="runs made at once, each in a process  [default: one after the other]"
)
@click.option("--cluster", type=click.Choice(["slurm", "local"]), help="make every run as a job, by submitit")
@click.option(
    "--cluster-option",
    "options",
    multiple=True,
    help="NAME=VALUE for submitit, such as slurm_partition=short; can be repeated",
)
def figures(
    names: tuple[str, ...],
    folder: Path,
    results: Path | None,
    redraw: bool,
    seeds: str,
    only: str,
    workers: int | None,
    cluster: str | None,
    options: tuple[str, ...],
) -> None:
    """Measure and draw the course's figures (all of them, or those NAMED).

    Earlier numbers are replaced. After Ctrl-C or a crash, the command continues with the next run; runs may
    be made side by side (--workers), or as jobs of a cluster (--cluster), with the same numbers if each has
    the same number of threads.
    """
    if wrong := [option for option in options if not cluster or "=" not in option]:
        raise BadInput(f"cluster-option ({wrong[0]}) must be NAME=VALUE, and belongs to a --cluster")
    if redraw and (workers is not None or cluster or seeds or only):
        raise BadInput("--redraw trains nothing: leave out --workers, --cluster, --seeds and --only")
    try:
        chosen = [int(seed) for seed in seeds.split(",")] if seeds else []
    except ValueError:
        raise BadInput(f"seeds ({seeds}) must be whole numbers with commas between: 1001,1002") from None
    pairs = [option.split("=", 1) for option in options]
    given = {name: int(value) if value.isdecimal() and len(value) < 10 else value for name, value in pairs}
    how = in_turn if workers is None else processes(workers)
    how = jobs(cluster, (results or folder) / "jobs", workers or 1, given) if cluster else how
    for name in names or FIGURES:
        try:
            click.echo(f"{name}: {make_figure(name, folder, redraw, results, how, chosen, only)}")
        except KeyboardInterrupt:
            raise click.ClickException(f"interrupted; `figures {name}` continues with the next run") from None
