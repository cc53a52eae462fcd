"""`figures`: measure and draw the figures of the course."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from babygpt.cli.base import PATH
from babygpt.errors import BadInput
from babygpt.screen import echo
from babygpt_course.studies import figures as pictures
from babygpt_course.studies import spread
from babygpt_course.studies.sweep import made_by


def pairs_of_words(ctx: click.Context, option: click.Parameter, words: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE, as a dictionary; whole numbers as such. Raises BadInput for what is no such pair."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise BadInput(f"cluster-option ({word}) must be NAME=VALUE, such as slurm_partition=short")
        found[name] = int(value) if value.isdecimal() else value
    return found


def engine_of(
    workers: int | None, cluster: str | None, options: dict[str, Any], folder: Path, redraw: bool
) -> spread.Engine:
    """What makes the runs; one after the other, unless something else was asked for.

    folder  where jobs of a cluster leave what they print, in a folder called jobs
    Raises BadInput for options that would change nothing.
    """
    if options and cluster is None:
        raise BadInput(f"cluster-option ({', '.join(options)}) is for a --cluster, and none is named")
    if redraw and (workers is not None or cluster):
        raise BadInput("--redraw trains nothing: leave out --workers and --cluster")
    if cluster:
        return spread.cluster(cluster, folder / "jobs", 1 if workers is None else workers, options)
    return spread.in_turn if workers is None else spread.processes(workers)


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(pictures.FIGURES)))
@click.option("--folder", default="figures", show_default=True, type=PATH, help="where pictures go")
@click.option("--results", type=PATH, help="where numbers go  [default: FOLDER]")
@click.option("--redraw", is_flag=True, help="train nothing: draw the numbers there, or else the package's")
@click.option(
    "--workers", type=int, help="runs made at once, each in a process  [default: one after the other]"
)
@click.option("--cluster", type=click.Choice(["slurm", "local"]), help="make every run as a job, by submitit")
@click.option(
    "--cluster-option",
    "options",
    multiple=True,
    callback=pairs_of_words,
    help="NAME=VALUE for submitit, such as slurm_partition=short; can be repeated",
)
def figures(
    names: tuple[str, ...],
    folder: Path,
    results: Path | None,
    redraw: bool,
    workers: int | None,
    cluster: str | None,
    options: dict[str, Any],
) -> None:
    """Measure and draw the course's figures (all of them, or those NAMED).

    What was measured is replaced. After Ctrl-C or worse, the same command goes on with the next run; runs may
    be made side by side (--workers), or as jobs of a cluster (--cluster), with the same numbers if each has
    the same number of threads. A run whose process is killed is made again.
    """
    engine = engine_of(workers, cluster, options, results or folder, redraw)
    for name in names or pictures.FIGURES:
        try:
            with made_by(engine):
                echo(f"{name}: {pictures.make(name, folder, redraw, results)}")
        except KeyboardInterrupt:
            raise click.ClickException(f"interrupted; `figures {name}` goes on with the next run") from None
