"""Tools that the commands share: lazy groups, errors in one line, and options."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
import warnings
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from functools import cached_property, partial
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from babygpt.config import SAVE_EVERY, VALID_SEEDS
from babygpt.errors import BadInput
from babygpt.files import file_lock, require_writable
from babygpt.packages import missing_package
from babygpt.signals import ENDING, Ended, end_at_once, handle_signals

if TYPE_CHECKING:
    from babygpt.experiments.sweep import Workers

Command = Callable[..., None]
# Name of a command -> its module, and the sentence that --help shows.
CommandTable = Mapping[str, tuple[str, str]]
USER_ERRORS = (BadInput, FloatingPointError, OSError, UnicodeError)  # the input or the machine is at fault
OUR_FAULT = "This is a fault of babygpt, not of what you typed. Please report it, with all that follows:"
PATH = click.Path(path_type=Path)
SEED = click.IntRange(VALID_SEEDS.start, VALID_SEEDS.stop - 1)


class CommandGroup(click.Group):
    """A group that imports a command when it is called, and shows a user's error in one line.

    An error of USER_ERRORS ends with exit status 1 and no traceback, unless the group was given --debug. Any
    other is a fault of babygpt: it is raised again, under a line that says so.

    lazy          its commands
    entry_points  group of entry points whose values are more such tables; other packages register them
    """

    def __init__(
        self, *args: Any, lazy: CommandTable | None = None, entry_points: str = "", **named: Any
    ) -> None:
        super().__init__(*args, **named)
        self.own, self.entry_points = lazy or {}, entry_points

    @cached_property
    def lazy(self) -> CommandTable:
        """The group's own table, then those that other packages registered."""
        registered = metadata.entry_points(group=self.entry_points) if self.entry_points else ()
        return {**self.own, **ChainMap(*(point.load() for point in registered))}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands' names, those that are imported when called first."""
        return [*self.lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, imported if need be; None if there is none."""
        table = self.own if cmd_name in self.own else self.lazy  # reads entry points only where it must
        if cmd_name not in table:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(import_module(table[cmd_name][0]), cmd_name.replace("-", "_"))
        if "babygpt.device" in sys.modules:  # `doctor` starts without PyTorch
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
            with handle_signals(ENDING, end_at_once):
                return super().invoke(ctx)
        except Ended as end:
            click.echo(end.line, err=True)
            raise
        except (BrokenPipeError, click.ClickException, click.exceptions.Exit, click.Abort):
            raise  # click ends these by itself
        except Exception as error:
            if (line := user_error_line(error)) is None:
                if not isinstance(error, ImportError):  # too little is installed
                    click.echo(OUR_FAULT, err=True)
                raise
            if ctx.params.get("debug"):
                traceback.print_exc()
            raise click.ClickException(line) from error


def user_error_line(error: Exception) -> str | None:
    """Return an error's message in one line; None if the fault is babygpt's."""
    line = " ".join(str(error).split())
    if isinstance(error, USER_ERRORS):
        return line
    if isinstance(error, ImportError):
        return missing_package(error)
    from babygpt.device import is_out_of_memory  # imports torch

    if not is_out_of_memory(error):
        own = sys.modules.get("babygpt.models.own_encodings")
        fault = own.fault_of_a_file(error) if own else None
        return " ".join(fault.split()) if fault else None
    kind = type(error).__name__
    return line if line.startswith("out of memory") else f"out of memory ({line[:200] or kind})"


# ---------------------------------------------------------------- options


def form_of(default: Any, about: str) -> dict[str, Any]:
    """Return how an option is made that takes what its default is: numbers, a text or, for None, a count."""
    kind = int if default is None else type(default)
    form = {"default": default, "help": about, "is_flag": kind is bool, "show_default": default is not False}
    if kind is tuple:
        return form | {"type": type(default[0]), "nargs": len(default)}
    return form | {"type": kind}


def options_from(config: type, skip: Sequence[str] = (), **defaults: Any) -> Callable[[Command], Command]:
    """Return a decorator that adds an option for every field of a dataclass that has a default.

    config    the dataclass; a field that may be None takes a whole number
    skip      fields that get no option
    defaults  other defaults than the dataclass's
    """

    def add(command: Command) -> Command:
        for f in reversed([f for f in fields(config) if f.default is not MISSING and f.name not in skip]):
            form = form_of(defaults.get(f.name, f.default), f.metadata["help"])
            command = click.option(flag_of(f.name), f.name, **form)(command)
        return command

    return add


def fields_of(config: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of a command's values that are fields of a dataclass, by name."""
    return {f.name: values[f.name] for f in fields(config) if f.name in values}


def flag_of(name: str) -> str:
    """Return the flag of a parameter: --batch-size for batch_size."""
    return f"--{name.replace('_', '-')}"


def typed_parameters(ctx: click.Context, names: Iterable[str]) -> list[str]:
    """Return those of a command's parameters that were given on the command line."""
    return [name for name in names if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE]


def warn_unused(ctx: click.Context, names: Iterable[str], where: str) -> None:
    """Warn in one line of those of these flags that were given, because they change nothing there."""
    flags = [flag_of(name) for name in typed_parameters(ctx, names)]
    if flags:
        click.echo(f"{' and '.join(flags)} {'play' if len(flags) > 1 else 'plays'} no part {where}", err=True)


def adopt(ctx: click.Context, values: dict[str, Any], began: Mapping[str, Any], path: Path) -> None:
    """Replace flags that were not given by the numbers that a run began with.

    values  of the command's flags, changed here
    began   numbers of the run in `path`
    Raises BadInput if a flag that was given differs.
    """
    typed_names = typed_parameters(ctx, values)
    for name in sorted(began.keys() & values.keys()):
        if name not in typed_names:
            values[name] = began[name]
        elif values[name] != began[name]:
            raise BadInput(
                f"{flag_of(name)} ({values[name]}): the run in {path} began with {began[name]}; "
                "to go on with other numbers, begin a new run with --from"
            )


def list_of(kind: type[int] | type[float] | type[str]) -> Callable[..., list[Any]]:
    """Return a callback that parses values with commas between them; it raises BadInput for other text."""

    def parse(ctx: click.Context, param: click.Parameter, value: str) -> list[Any]:
        try:
            return [kind(part.strip()) for part in value.split(",") if part.strip()]
        except ValueError as error:
            flag, wrong = flag_of(param.human_readable_name), str(error).rpartition(": ")[2]
            what = f"{'whole ' if kind is int else ''}numbers with commas between them"
            raise BadInput(f"{flag} ({value}): {wrong} is not one of {what}") from None

    return parse


shown = partial(click.option, show_default=True)
corpus_option = shown(
    "--corpus",
    default="tales",
    help="tales, plain-tales, tales-zh, recall, shakespeare, the path of a file or folder, or - for a pipe",
)
save_every_option = shown(
    "--save-every", default=SAVE_EVERY, type=click.IntRange(0), help="steps between checkpoints; 0: end only"
)

encoding_option = click.option(
    "--encoding",
    multiple=True,
    metavar="FILE.py:CLASS",
    help="encoding from outside that a checkpoint needs; once for each",
)


def sampling_options(command: Command) -> Command:
    """Add the options for the length of a text and for how its characters are drawn."""
    for option in (
        shown("--seed", default=1337, type=SEED, help="of the draws"),
        click.option("--top-p", type=float, help="draw among the likeliest that have this chance together"),
        click.option("--top-k", type=int, help="draw among the k likeliest characters only"),
        shown("--temperature", default=1.0, help="0 always takes the likeliest character"),
        shown("--tokens", default=200, help="characters to write in each text"),
    ):
        command = option(command)
    return command


def worker_options(command: Command) -> Command:
    """Add the options for making several runs at once, which `chosen_workers` reads."""
    for option in (
        click.option(
            "--cluster-option",
            "cluster_options",
            multiple=True,
            help="NAME=VALUE for submitit, such as slurm_partition=short; can be repeated",
        ),
        click.option(
            "--cluster", type=click.Choice(["slurm", "local"]), help="make every run as a job, by submitit"
        ),
        click.option(
            "--workers",
            type=int,
            help="runs made at once, each in a process  [default: one after the other]",
        ),
    ):
        command = option(command)
    return command


def chosen_workers(values: Mapping[str, Any], jobs: Path) -> Workers | None:
    """Return the workers that the options of `worker_options` ask for; None for runs one after the other.

    values  of the command's flags
    jobs    folder of a cluster's jobs
    Raises BadInput for options of a cluster that are no pairs, or without a cluster.
    """
    from babygpt.experiments.workers import cluster, processes

    kind, count, texts = (values[name] for name in ("cluster", "workers", "cluster_options"))
    if wrong := [text for text in texts if not kind or "=" not in text]:
        raise BadInput(f"cluster-option ({wrong[0]}) must be NAME=VALUE, and belongs to a --cluster")
    pairs = [text.split("=", 1) for text in texts]
    chosen = {name: int(value) if value.isdecimal() and len(value) < 10 else value for name, value in pairs}
    if kind:
        return cluster(kind, jobs, count or 1, chosen)
    return None if count is None else processes(count)


@contextmanager
def remarks_in_one_line() -> Iterator[None]:
    """Print warnings of babygpt without the line of its code that gave them."""
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        yield
    for remark in remarks:
        click.echo(" ".join(str(remark.message).split()), err=True)


# ---------------------------------------------------------------- files that a command writes


@contextmanager
def output_lock(path: Path, flag: str, overwrite: bool, ways: str = "--overwrite") -> Iterator[None]:
    """Open a context in which this process alone may write a file.

    overwrite  whether a file that exists may be replaced
    ways       flags that allow it, for the message
    Raises BadInput naming the flag if the file cannot or may not be written, another process writes it, or
    the command reads it.
    """
    require_writable(path, flag)
    with file_lock(path):
        if path.exists() and not overwrite:
            raise BadInput(f"{path} exists already; choose another {flag}, or say {ways}")
        for name, value in click.get_current_context().params.items():
            named = isinstance(value, str | Path) and flag_of(name) != flag and os.path.exists(value)
            if named and path.exists() and path.samefile(value):
                raise BadInput(f"{flag} ({path}) is what {flag_of(name)} names; choose another")
        yield


def command_line() -> str:
    """Return the command that runs, as it could be typed again."""
    return shlex.join(["python", "-m", "babygpt", *sys.argv[1:]])
