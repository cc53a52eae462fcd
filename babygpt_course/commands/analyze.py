"""Command that shows an encoding's table in numbers."""

from __future__ import annotations

import inspect
from typing import Any

import click

from babygpt.cli.base import warn_unused
from babygpt.encodings.gaussian import ALPHAS, SIGMAS
from babygpt.encodings.polar import ALPHA
from babygpt_course.notes import analysis


@click.command()
@click.argument("encoding", type=click.Choice(list(analysis.ANALYSES)))
@click.option(
    "--width",
    type=int,
    help="channels of the table, of a code or a head  [default: 128; fourier 512, as note 002; polar 32]",
)
@click.option("--length", default=128, show_default=True, help="positions looked at")
@click.option("--theta", default=10_000.0, show_default=True, help="base of the frequencies")
@click.option("--stride", default=128, show_default=True, help="fourier: positions between two branches")
@click.option("--branches", default=8, show_default=True, help="fourier: branches to tell apart")
@click.option("--alphas", nargs=2, default=ALPHAS, show_default=True, help="gaussian: weight of each scale")
@click.option(
    "--sigmas", nargs=2, default=SIGMAS, show_default=True, help="gaussian: their widths, in tokens"
)
@click.option("--alpha", default=ALPHA, show_default=True, help="polar: factor of MASK tokens")
@click.pass_context
def analyze(ctx: click.Context, encoding: str, **values: Any) -> None:
    """Show what an encoding looks like, in numbers."""
    chosen = analysis.ANALYSES[encoding]
    wanted = inspect.signature(chosen).parameters
    warn_unused(ctx, [key for key in values if key not in wanted], f"in `analyze {encoding}`")
    numbers = chosen(**{key: v for key, v in values.items() if key in wanted and v is not None})
    widest = max(58, *map(len, numbers))
    for name, value in numbers.items():
        click.echo(f"{name:<{widest}} {value:>10.4g}")
