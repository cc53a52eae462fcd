"""What the commands share: groups that load a command when it is called, errors, and flags."""

from __future__ import annotations

import errno
import sys
import traceback
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from functools import cached_property
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from babygpt.config import SAVE_EVERY, require_seed
from babygpt.errors import BadInput
from babygpt.files import claim, require_writable
from babygpt.screen import say, silence
from babygpt.stopping import Ended, ended_by_signals

Command = Callable[..., None]
Callback = Callable[[click.Context, click.Parameter, str], list[Any]]
# What is wrong with what was asked for, or with the machine; whatever else is raised is a fault of ours.
USER_ERRORS = (BadInput, FloatingPointError, OSError, UnicodeError)
OUR_FAULT = "This is a fault of babygpt, not of what you typed. Please report it, with all that follows:"


class CommandGroup(click.Group):
    """A group that imports a command when it is called, and shows a user's error in one line.

    An error of USER_ERRORS ends with exit status 1 and no traceback, unless the group was given --debug. Any
    other is a fault of babygpt: it is raised again, under a line that says so.

    lazy          name of a command -> the module that defines it, and the sentence that --help shows for it
    entry_points  group of entry points whose values are more such tables; other packages register them
    """

    def __init__(
        self,
        *args: Any,
        lazy: Mapping[str, tuple[str, str]] | None = None,
        entry_points: str = "",
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.own, self.entry_points = lazy or {}, entry_points

    @cached_property
    def lazy(self) -> dict[str, tuple[str, str]]:
        """The group's own table, then those that other packages registered."""
        registered = metadata.entry_points(group=self.entry_points) if self.entry_points else ()
        return {**self.own, **ChainMap(*(point.load() for point in registered))}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands' names, those that are imported when called first."""
        return [*self.lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, imported if need be; None if there is none."""
        table = self.own if cmd_name in self.own else self.lazy
        if cmd_name not in table:
            if self.entry_points and table == self.own and find_spec("babygpt_course"):
                raise click.UsageError(
                    f"no command {cmd_name!r}. The course's commands are not registered, because this"
                    " environment was installed before they moved: run `make env`, or `pip install -e .`"
                )
            return super().get_command(ctx, cmd_name)
        module, _ = table[cmd_name]
        command: click.Command = getattr(import_module(module), cmd_name.replace("-", "_"))
        if "babygpt.device" in sys.modules:  # with PyTorch, which `doctor` has not imported yet
            sys.modules["babygpt.device"].use_allowed_threads()
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
            with ended_by_signals():
                return super().invoke(ctx)
        except Ended as end:
            say(end.line, error=True)
            raise
        except (BrokenPipeError, click.ClickException, click.exceptions.Exit, click.Abort):
            raise  # whoever read the output has had enough; or click's own affair
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                silence(sys.stdout)  # it may be what is full, and Python writes to it once more at its end
            if (line := in_one_line(error)) is None:
                if not isinstance(error, ImportError):  # too little is installed
                    click.echo(OUR_FAULT, err=True)
                raise
            if ctx.params.get("debug"):
                traceback.print_exc()
            raise click.ClickException(line) from error


def in_one_line(error: Exception) -> str | None:
    """What an error says to whoever typed the command; None if it is no fault of theirs or of the machine."""
    said = " ".join(str(error).split())  # a path may hold a line end
    if isinstance(error, USER_ERRORS):
        return said
    from babygpt.memory import is_out_of_memory  # imports torch, and is needed seldom

    if is_out_of_memory(error):
        return (
            said
            if said.startswith("out of memory")
            else f"out of memory ({said[:200] or 'nothing was said'})"
        )
    return None


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


def command_line() -> str:
    """The command that runs, with all flags that were given, as it could be typed again."""
    ctx = click.get_current_context()
    words = [f"python -m babygpt compare {ctx.info_name}"]
    unnamed = {p.name for p in ctx.command.params if isinstance(p, click.Argument)}
    for name in typed(ctx, ctx.params):
        value = ctx.params[name]
        words += [] if name in unnamed else [flag_of(name)]
        if value is not True:
            words.append(",".join(map(str, value)) if isinstance(value, list) else str(value))
    return " ".join(words)


def warn_unused(ctx: click.Context, names: Iterable[str], where: str) -> None:
    """Say in one line which of these flags were given on the command line, for they change nothing there."""
    given = [flag_of(name) for name in typed(ctx, names)]
    if given:
        say(f"{' and '.join(given)} {'play' if len(given) > 1 else 'plays'} no part {where}", error=True)


def require_writable_folder(folder: Path, flag: str) -> None:
    """Raise BadInput naming the flag unless a folder is there, or can be made, and may be written to."""
    refuse_unwritable(folder / "probe", flag, folder)


@contextmanager
def claimed(path: Path, flag: str, overwrite: bool, ways: str = "--overwrite") -> Iterator[None]:
    """A context in which this process alone writes a file.

    overwrite  whether one that is there may be replaced
    ways       flags that allow it, for the message
    Raises BadInput naming the flag if the file cannot or may not be written, or another process writes it.
    """
    refuse_unwritable(path, flag)
    with claim(path):
        if path.exists() and not overwrite:
            raise BadInput(f"{path} exists already; choose another {flag}, or say {ways}")
        yield


def refuse_unwritable(path: Path, flag: str, named: Path | None = None) -> None:
    """Raise BadInput naming the flag, and the file or what is `named`, unless the file can be written."""
    try:
        require_writable(path, named)
    except BadInput as error:
        raise BadInput(f"{error}; choose another {flag}") from None


def adopt(ctx: click.Context, values: dict[str, Any], began: Mapping[str, Any], path: Path) -> None:
    """Let the numbers that a run began with take the place of flags that were not given.

    values  of the command's flags, changed here
    began   what the run in `path` says
    Raises BadInput if a flag that was given says something else; the corpus may have moved.
    """
    given = typed(ctx, values)
    for name in sorted(began.keys() & values.keys()):
        if name not in given:
            values[name] = began[name]
        elif name != "corpus" and values[name] != began[name]:
            raise BadInput(f"{flag_of(name)} ({values[name]}): the run in {path} began with {began[name]}")


save_every_option = click.option(
    "--save-every",
    default=SAVE_EVERY,
    show_default=True,
    type=click.IntRange(0),
    help="steps between checkpoints; 0 writes only at the end",
)


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
    help="tales, plain-tales, tales-zh, recall, shakespeare, or a text file's path",
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
