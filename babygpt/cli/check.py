"""The command `check`: the promises of an encoding, each with the smallest input that breaks it.

PyTorch is imported when a command runs, so that `--help` need not wait for it.
"""

from __future__ import annotations

from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import Any

import click

from babygpt.cli import options as shell
from babygpt.cli.encoding_options import chosen_options
from babygpt.cli.train import TrainCommand, version_argument
from babygpt.config import ModelConfig
from babygpt.files import write_atomically

SHAPE: dict[str, Any] = {"n_layer": 2, "n_head": 2, "n_embd": 32}  # small, so that all takes a few seconds


@click.command(cls=TrainCommand)
@version_argument
@click.option("--json", type=shell.PATH, help="store the table in this file as well")
@click.option("--overwrite", is_flag=True, help="replace a file that is there already")
@shell.options_from(ModelConfig, **SHAPE)
@click.pass_context
def check(ctx: click.Context, version: str, json: Path | None, overwrite: bool, **values: Any) -> None:
    """Measure the promises of VERSION's encoding. The model is small, with random weights,
    also where an encoding's own begin at 0.

    Each promise is ✓, or ✗ with the smallest input that breaks it, or – where it makes no sense. A ✗ may be
    a fault or a finding: a sinusoid tells more than the distance on purpose. `check v5 --help` shows the
    options of v5's encoding, too. The exit status is 1 if there is a ✗, and else 0.
    """
    from babygpt.invariants import encoding_check

    options = chosen_options(ctx, version)
    config = replace(encoding_check.SHAPE, **shell.fields_of(ModelConfig, values))
    if json is None:
        table = encoding_check.check(version, config, show=True, **options)
    else:
        with shell.output_lock(json, "--json", overwrite):
            table = encoding_check.check(version, config, show=True, **options)
            text = dumps(table.as_json(), ensure_ascii=False, indent=1)
            write_atomically(json, f"{text}\n".encode())
    click.echo(repr(table))
    ctx.exit(0 if table.holds else 1)
