"""What the commands share: groups that load a command when it is called, errors, and flags."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from babygpt.config import require_seed
from babygpt.errors import BadInput

Command = Callable[..., None]
Callback = Callable[[click.Context, click.Parameter, str], list[Any]]
# What is wrong with what was asked for, or with the machine; whatever else is raised is a fault of ours.
USER_ERRORS = (BadInput, FloatingPointError, OSError, UnicodeError)
MACHINE_ERRORS = (ImportError, MemoryError)  # and PyTorch's OutOfMemoryError: too little is installed
OUR_FAULT = "This is a fault of babygpt, not of what you typed. Please report it, with all that follows:"


class CommandGroup(click.Group):
    """A group that imports a command when it is called, and shows a user's error in one line.

    An error of USER_ERRORS ends with exit status 1 and no traceback, unless the group was given --debug. Any
    other is a fault of babygpt: it is raised again, under a line that says so.

    lazy  name of a command -> the module that defines it, and the sentence that --help shows for it
    """

    def __init__(
        self, *args: Any, lazy: Mapping[str, tuple[str, str]] | None = None, **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.lazy = lazy or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands' names, those that are imported when called first."""
        return [*self.lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, imported if need be; None if there is none."""
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        module, _ = self.lazy[cmd_name]
        command: click.Command = getattr(import_module(module), cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands for --help without importing them."""
        if not self.lazy:
            return super().format_commands(ctx, formatter)
        with formatter.section("Commands"):
            formatter.write_dl([(name, sentence) for name, (_, sentence) in self.lazy.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for; turn a user's error into one line."""
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, click.ClickException, click.exceptions.Exit, click.Abort):
            raise  # whoever read the output has had enough; or click's own affair
        except USER_ERRORS as error:
            if ctx.params.get("debug"):
                traceback.print_exc()
            raise click.ClickException(" ".join(str(error).split())) from error  # a path may hold a line end
        except Exception as error:
            if not isinstance(error, MACHINE_ERRORS) and type(error).__name__ != "OutOfMemoryError":
                click.echo(OUR_FAULT, err=True)
            raise


class PathType(click.Path):
    """click's type of a path, which itself fails on a null character with a plain ValueError."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; raises BadInput if no file can be called that."""
        if "\0" in str(value):
            raise BadInput(f"{value!r} holds a null character, which no path can")
        return super().convert(value, param, ctx)


PATH = PathType(path_type=Path)


def options_from(config: type, skip: Sequence[str] = (), **defaults: Any) -> Callable[[Command], Command]:
    """A decorator that adds an option for every field of a dataclass that has a default.

    config    the dataclass; a field that may be None takes a whole number
    skip      fields that get no option
    defaults  other defaults than the dataclass's
    """

    def add(command: Command) -> Command:
        wanted = [f for f in fields(config) if f.default is not MISSING and f.name not in skip]
        for f in reversed(wanted):
            default = defaults.get(f.name, f.default)
            kind = int if default is None else type(default)
            command = click.option(
                flag_of(f.name),
                default=default,
                type=kind,
                is_flag=kind is bool,
                show_default=kind is not bool,
                help=f.metadata["help"],
            )(command)
        return command

    return add


def fields_of(config: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a command's values that are fields of a dataclass, by name."""
    return {f.name: values[f.name] for f in fields(config) if f.name in values}


def flag_of(name: str) -> str:
    """How a parameter is typed: batch_size as --batch-size."""
    return f"--{name.replace('_', '-')}"


def typed(ctx: click.Context, names: Iterable[str]) -> list[str]:
    """Those of a command's parameters that were given on the command line."""
    return [name for name in names if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]


def warn_unused(ctx: click.Context, names: Iterable[str], where: str) -> None:
    """Say in one line which of these flags were given on the command line, for they change nothing there."""
    given = [flag_of(name) for name in typed(ctx, names)]
    if given:
        click.echo(f"{' and '.join(given)} {'play' if len(given) > 1 else 'plays'} no part {where}", err=True)


def require_writable_folder(folder: Path, flag: str) -> None:
    """Raise BadInput naming the flag unless a folder is there, or can be made, and may be written to."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise BadInput(f"{folder} cannot be made: {existing} is a file; choose another {flag}")
    if not os.access(existing, os.W_OK):
        raise BadInput(f"{folder} cannot be made: {existing} may not be written to; choose another {flag}")


def require_writable_file(path: Path, flag: str, overwrite: bool, ways: str = "--overwrite") -> None:
    """Raise BadInput naming the flag unless a file can be written there.

    overwrite  whether one that is there may be replaced
    ways       flags that allow it, for the message
    """
    if path.is_dir():
        raise BadInput(f"{path} is a folder; {flag} names a file")
    if path.exists() and not overwrite:
        raise BadInput(f"{path} exists already; choose another {flag}, or say {ways}")
    require_writable_folder(path.parent, flag)


def list_of(kind: type[int] | type[float] | type[str]) -> Callback:
    """A callback that parses values with commas between them; it raises BadInput for what is no number."""

    def parse(ctx: click.Context, param: click.Parameter, value: str) -> list[Any]:
        found = []
        for part in (part.strip() for part in value.split(",")):
            try:
                found += [kind(part)] if part else []
            except ValueError:
                what = "whole numbers" if kind is int else "numbers"
                raise BadInput(
                    f"{flag_of(param.human_readable_name)} ({value}): {part!r} is not "
                    f"one of {what} with commas between them"
                ) from None
        return found

    return parse


corpus_option = click.option(
    "--corpus",
    default="tales",
    show_default=True,
    help="tales, plain-tales, tales-zh, shakespeare, or a text file's path",
)


def check_seed(ctx: click.Context, param: click.Parameter, value: int) -> int:
    """A callback that raises BadInput for a seed that PyTorch's generators do not take."""
    require_seed(value)
    return value


def sampling_options(command: Command) -> Command:
    """Add the options that say how much is written, and how its characters are drawn."""
    for option in (
        click.option(
            "--seed", default=1337, show_default=True, callback=check_seed, help="seed of the draws"
        ),
        click.option("--top-k", type=int, help="draw among the k likeliest characters only"),
        click.option(
            "--temperature", default=1.0, show_default=True, help="0 always takes the likeliest character"
        ),
        click.option("--tokens", default=200, show_default=True, help="characters to write in each text"),
    ):
        command = option(command)
    return command
