"""Everything that trains nothing of one's own: doctor, analyses, figures, benchmarks."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import click

from babygpt import doctor as doctors
from babygpt.cli.base import corpus_option, tell_idle
from babygpt.data.corpus import load_corpus
from babygpt.encodings.gaussian import ALPHAS, SIGMAS
from babygpt.experiments import analysis
from babygpt.experiments import bench as benches
from babygpt.experiments import figures as pictures


@click.command()
def doctor() -> None:
    """Tell what is installed, which device will be used, and whether the widgets will work."""
    found = doctors.checks()
    click.echo(doctors.report(found))
    if not all(check.ok for check in found):
        raise click.ClickException("something above needs attention")


@click.command()
@click.argument("encoding", type=click.Choice(list(analysis.ANALYSES)))
@click.option("--width", default=128, show_default=True, help="channels of the table, of a code or a head")
@click.option("--length", default=128, show_default=True, help="positions looked at")
@click.option("--theta", default=10_000.0, show_default=True, help="base of the frequencies")
@click.option("--stride", default=128, show_default=True, help="fourier: positions between two branches")
@click.option("--branches", default=8, show_default=True, help="fourier: branches to tell apart")
@click.option("--alphas", nargs=2, default=ALPHAS, show_default=True, help="gaussian: weight of each scale")
@click.option(
    "--sigmas", nargs=2, default=SIGMAS, show_default=True, help="gaussian: their widths, in tokens"
)
@click.pass_context
def analyze(ctx: click.Context, encoding: str, **values: Any) -> None:
    """Show what an encoding looks like, in numbers."""
    chosen = analysis.ANALYSES[encoding]
    wanted = inspect.signature(chosen).parameters
    tell_idle(ctx, [key for key in values if key not in wanted], f"in `analyze {encoding}`")
    numbers = chosen(**{key: v for key, v in values.items() if key in wanted})
    widest = max(58, *map(len, numbers))
    for name, value in numbers.items():
        click.echo(f"{name:<{widest}} {value:>10.4g}")


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(pictures.FIGURES)))
@click.option("--folder", default="figures", show_default=True, type=click.Path(path_type=Path))
@click.option("--redraw", is_flag=True, help="draw from the stored results, train nothing")
def figures(names: tuple[str, ...], folder: Path, redraw: bool) -> None:
    """Measure and draw the course's figures (all of them, or those NAMED)."""
    for name in names or pictures.FIGURES:
        click.echo(f"{name}: {pictures.make(name, folder, redraw)}")


@click.command()
@click.option("--folder", default="figures", show_default=True, type=click.Path(path_type=Path))
def screenshots(folder: Path) -> None:
    """Take pictures of the explorers and of a dashboard, in a real browser (takes about a minute)."""
    from babygpt.browser.screenshots import (
        take as photograph,
    )  # only this command and one bench need a browser

    for path in photograph(folder):
        click.echo(path)


@click.group()
def bench() -> None:
    """Benchmarks; each prints one line of JSON last."""


@bench.command()
@click.option("--presses", default=60, show_default=True, help="key presses of each kind")
def live(presses: int) -> None:
    """Answer time of sliders and cost of dashboards, in a real browser (takes some four minutes)."""
    from babygpt.browser.bench import live as measure  # only this command needs a browser

    click.echo(json.dumps(measure(presses)))


@bench.command()
@corpus_option
@click.option(
    "--target",
    default=1.886,
    show_default=True,
    help="validation loss to reach, nats per character",
)
@click.option("--steps", default=280, show_default=True, help="steps of our recipe, a multiple of 20")
@click.option("--plain-steps", default=2000, show_default=True, help="steps of the plain recipe")
def recipe(corpus: str, target: float, steps: int, plain_steps: int) -> None:
    """Time to a validation loss: our recipe and a plain AdamW GPT-2 recipe, in turn."""
    click.echo(json.dumps(benches.recipe(load_corpus(corpus), target, steps, plain_steps)))


@bench.command()
@corpus_option
@click.option(
    "--target", default=2.565, show_default=True, help="mean loss over masked tokens to reach, nats"
)
@click.option("--steps", default=600, show_default=True, help="steps of our recipe, a multiple of 20")
@click.option("--plain-steps", default=2000, show_default=True, help="steps of the plain recipe")
@click.option(
    "--polar", is_flag=True, help="then train RoPE, Polar as written and repaired, three seeds each"
)
def diffusion(corpus: str, target: float, steps: int, plain_steps: int, polar: bool) -> None:
    """Time to a loss of masked diffusion with RoPE: our recipe and a plain AdamW recipe, in turn."""
    text = load_corpus(corpus, with_mask=True)
    found: dict[str, Any] = dict(benches.diffusion(text, target, steps, plain_steps))
    if polar:
        found["polar"] = benches.polar(text, steps)
    click.echo(json.dumps(found))
