"""What the commands share: errors in one line, and flags made from dataclasses."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from babygpt.errors import BadInput

Command = Callable[..., None]


class Plain(click.Group):
    """A group whose commands answer bad input with one line and exit status 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # whoever read the output has had enough
            raise
        except (ValueError, FloatingPointError, OSError) as error:
            raise click.ClickException(" ".join(str(error).split())) from error  # a path may hold a line end


def flags(config: type, skip: Sequence[str] = (), **defaults: Any) -> Callable[[Command], Command]:
    """A `--flag` for every field of a dataclass that has a default, with the field's own help.

    config    the dataclass; a field that may be None takes a whole number
    skip      fields that get no flag
    defaults  other defaults than the dataclass's
    """

    def add(command: Command) -> Command:
        wanted = [f for f in fields(config) if f.default is not MISSING and f.name not in skip]
        for f in reversed(wanted):
            default = defaults.get(f.name, f.default)
            kind = int if default is None else type(default)
            command = click.option(
                "--" + f.name.replace("_", "-"),
                default=default,
                type=kind,
                is_flag=kind is bool,
                show_default=kind is not bool,
                help=f.metadata["help"],
            )(command)
        return command

    return add


def tell_idle(ctx: click.Context, names: Iterable[str], where: str) -> None:
    """Say in one line which of these flags were given on the command line, for they change nothing there."""
    given = [name for name in names if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given:
        spelt = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        click.echo(f"{spelt} {'play' if len(given) > 1 else 'plays'} no part {where}", err=True)


def take(config: type, values: dict[str, Any]) -> dict[str, Any]:
    """Those values that are fields of the dataclass."""
    return {f.name: values[f.name] for f in fields(config) if f.name in values}


def require_folder(folder: Path, flag: str) -> None:
    """Raise a ValueError naming the flag unless a folder is there, or can be made, and may be written to."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise BadInput(f"{folder} cannot be made: {there} is a file; choose another {flag}")
    if not os.access(there, os.W_OK):
        raise BadInput(f"{folder} cannot be made: {there} may not be written to; choose another {flag}")


corpus_option = click.option(
    "--corpus",
    default="tales",
    show_default=True,
    help="tales, tales-zh, shakespeare, or a text file's path",
)
