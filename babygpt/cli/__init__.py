"""The shell's way into the course: `python -m babygpt --help`."""

from __future__ import annotations

import click

from babygpt.cli.base import Plain
from babygpt.cli.branches import parallel_generate, pretrain
from babygpt.cli.compare import compare
from babygpt.cli.tools import analyze, doctor, figures
from babygpt.cli.train import generate, train

COMMANDS = (
    train,
    generate,
    pretrain,
    parallel_generate,
    compare,
    analyze,
    figures,
    doctor,
)


def with_dashes(name: str) -> str:
    """A flag or command as we spell it: --batch_size, as note 002 has it, is --batch-size."""
    return name.replace("_", "-")


@click.group(
    cls=Plain,
    context_settings={"help_option_names": ["-h", "--help"], "token_normalize_func": with_dashes},
)
def main() -> None:
    """Small GPTs that differ in one thing: how they know where their tokens stand."""


for command in COMMANDS:
    main.add_command(command)
