"""The benchmarks' one door: each command measures, prints one line of JSON last, stores it if asked to."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from babygpt.cli.base import PATH, Command, CommandGroup, corpus_option, require_writable_folder, typed
from babygpt.errors import BadInput

if TYPE_CHECKING:  # PyTorch takes seconds, and --help has no need of it
    import torch

Results = Mapping[str, Any]
MOST_THREADS = 1024  # each takes memory, and of more than there are cores none is of use


@click.group(cls=CommandGroup, context_settings={"show_default": True})
@click.option("--debug", is_flag=True, help="show where in the code an error was raised")
def main(debug: bool) -> None:
    """Benchmarks; each prints one line of JSON last, and names the machine in it."""


def benchmark(measure: Callable[..., Results]) -> Command:
    """Make a function a command that prints its result with command, minutes and machine, or stores it."""

    @click.option("--store", is_flag=True, help="keep the numbers as NAME.json, in place of earlier ones")
    @click.option("--folder", default="benchmarks/results", type=PATH, help="where they are kept")
    @click.pass_context
    @functools.wraps(measure)
    def command(
        ctx: click.Context, store: bool, folder: Path, threads: int | None = None, **values: Any
    ) -> None:
        if store:
            require_writable_folder(folder, "--folder")  # now, and not after minutes
        results = measure_here(ctx, functools.partial(measure, **values), values.get("device"))
        if store:
            store_results(result_name(ctx), results, folder)
        click.echo(json.dumps(results))

    return command


def measure_here(
    ctx: click.Context, measure: Callable[[], Results], device: torch.device | None
) -> dict[str, Any]:
    """Run a measurement; its result comes with the command, the minutes it took, and the machine."""
    from benchmarks.machine import CPU, describe_machine

    start = time.perf_counter()
    results = measure()
    minutes = round((time.perf_counter() - start) / 60, 1)
    machine = describe_machine(device or CPU)
    return {"command": command_line(ctx), "minutes": minutes, "machine": machine, **results}


def store_results(name: str, results: Results, folder: Path) -> Path:
    """Write results to NAME.json in a folder, in place of earlier ones, and return the file's path."""
    from babygpt.files import write_atomically

    path = folder / f"{name}.json"
    write_atomically(path, (json.dumps(results, indent=1) + "\n").encode())
    return path


def result_name(ctx: click.Context) -> str:
    """The command's name, and whatever was chosen that makes it another measurement: step_v7."""
    version, notebooks = ctx.params.get("version", "v4"), ctx.params.get("notebooks")
    chosen = [version] * (version != "v4") + (notebooks.split(",") if notebooks else [])
    chosen += [flag for flag in ("same_shape", "neighbour") if ctx.params.get(flag)]
    return "_".join([str(ctx.info_name), *chosen])


def command_line(ctx: click.Context) -> str:
    """The command with those typed options that change what is measured; of a path its last part."""
    words = ["python -m benchmarks", str(ctx.info_name)]
    given = typed(ctx, (str(option.name) for option in ctx.command.params))
    for option in ctx.command.params:
        if option.name in given and option.name not in ("store", "folder"):
            value = ctx.params.get(option.name)
            words += [option.opts[0]] if value is True else [option.opts[0], Path(str(value)).name]
    return " ".join(words)


def set_threads(ctx: click.Context, option: click.Parameter, threads: int | None) -> int | None:
    """Let PyTorch use so many threads from here on. Raises BadInput for a number that helps nobody."""
    if threads is not None:
        if not 1 <= threads <= MOST_THREADS:
            raise BadInput(f"threads ({threads}) must lie between 1 and {MOST_THREADS}")
        import torch

        torch.set_num_threads(threads)
    return threads


def available_device(ctx: click.Context, option: click.Parameter, name: str) -> torch.device:
    """The device of this name. Raises BadInput for CUDA without a GPU."""
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise BadInput("device (cuda) must be cpu here: PyTorch finds no GPU (`python -m babygpt doctor`)")
    return torch.device(name)


threads_option = click.option(
    "--threads",
    type=int,
    callback=set_threads,
    help="of PyTorch; as many as it takes if not given",
)
device_option = click.option(
    "--device",
    default="cpu",
    type=click.Choice(["cpu", "cuda"]),
    callback=available_device,
    help="where the models are",
)
batch_option = click.option("--batch-size", default=12, help="windows in a batch")
block_option = click.option("--block-size", default=64, help="tokens in a window")


def race_options(target: float, loss: str, steps: int, plain_steps: int) -> Callable[[Command], Command]:
    """The options of a race between our recipe and the plain one, with these defaults."""

    def add(command: Command) -> Command:
        for option in (
            click.option("--same-shape", is_flag=True, help="ours has 4 layers, 128 wide, as the plain one"),
            click.option("--plain-steps", default=plain_steps, help="of the plain recipe"),
            click.option("--steps", default=steps, help="of our recipe, a multiple of 20"),
            click.option("--target", default=target, help=loss),
            corpus_option,
        ):
            command = option(command)
        return command

    return add


@main.command()
@click.option("--presses", default=20, help="key presses of each slider, idle and training")
@click.option("--notebooks", help="numbers of those to be run, such as 00,05; seven of them if not given")
@click.option("--neighbour", is_flag=True, help="another process keeps a core busy while the notebooks run")
@benchmark
def live(presses: int, notebooks: str | None, neighbour: bool) -> Results:
    """How dashboards move in the notebooks, what they cost, how fast sliders answer (twelve minutes)."""
    from benchmarks.live import NOTEBOOKS, measure_live

    return measure_live(presses, notebooks.split(",") if notebooks else NOTEBOOKS, neighbour)


@main.command()
@race_options(1.886, "validation loss to reach, nats per character", 560, 2000)
@benchmark
def recipe(corpus: str, target: float, **values: Any) -> Results:
    """Time to a validation loss: our recipe and a plain AdamW GPT-2 recipe, in alternation."""
    from babygpt.data.corpus import load_corpus
    from benchmarks.recipe import compare_next_token

    return compare_next_token(load_corpus(corpus), target, **values)


@main.command()
@race_options(2.565, "mean loss over masked tokens to reach, nats", 1160, 2400)
@click.option(
    "--polar", is_flag=True, help="then train RoPE, Polar as written and repaired, three seeds each"
)
@benchmark
def diffusion(corpus: str, target: float, polar: bool, **values: Any) -> Results:
    """Time to a loss of masked diffusion with RoPE: our recipe and a plain AdamW recipe, in alternation."""
    from babygpt.data.corpus import load_corpus
    from benchmarks.recipe import compare_diffusion, compare_polar

    text = load_corpus(corpus, with_mask=True)
    results: dict[str, Any] = dict(compare_diffusion(text, target, **values))
    return results | ({"polar": compare_polar(text)} if polar else {})


@main.command()
@corpus_option
@click.option("--seconds", default=9.0, help="of training for each shape")
@benchmark
def shapes(corpus: str, seconds: float) -> Results:
    """Deep or wide, few steps or many: v4 in eight shapes, each trained for the same time."""
    from babygpt.data.corpus import load_corpus
    from benchmarks.shapes import compare_shapes

    return compare_shapes(load_corpus(corpus), seconds)


@main.command()
@click.option("--version", default="v4", help="the model to be trained")
@batch_option
@block_option
@click.option("--rounds", default=20, help="of ten steps each")
@threads_option
@device_option
@benchmark
def step(**values: Any) -> Results:
    """Time of each part of a training step, and what it reaches of the machine's matrix-multiply rate."""
    from benchmarks.step import measure_step

    return measure_step(**values)


@main.command()
@click.option("--rounds", default=60, help="steps of each that are timed")
@batch_option
@block_option
@threads_option
@benchmark
def encodings(**values: Any) -> Results:
    """What each encoding adds to a training step, beside the same body without one (some three minutes)."""
    from benchmarks.encodings import measure_encodings

    return measure_encodings(**values)


@main.command()
@click.option("--rounds", default=3, help="how often everything is written")
@click.option("--steps", default=600, help="how long v7 learns before it fills in")
@threads_option
@device_option
@benchmark
def generate(**values: Any) -> Results:
    """Tokens per second with and without a cache, at 256 and 1024 tokens, and of filling in."""
    from benchmarks.generation import measure_generation

    return measure_generation(**values)


@main.command()
@click.option("--minutes", default=60.0, help="how long to train under one dashboard")
@click.option("--runs", default=50, help="then so many short runs, one after the other")
@benchmark
def memory(minutes: float, runs: int) -> Results:
    """Whether long use makes memory grow: one long run under a dashboard, and many short ones."""
    from benchmarks.memory import measure_memory

    return measure_memory(minutes, runs)
