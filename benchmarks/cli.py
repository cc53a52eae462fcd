"""Commands that measure speed: each prints one line of JSON last, and stores it if asked to."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from babygpt.cli import options as shell
from babygpt.cli.options import CommandGroup, corpus_option, list_of
from babygpt.errors import BadInput
from babygpt.files import require_writable, write_atomically

if TYPE_CHECKING:  # PyTorch takes seconds, and --help has no need of it
    import torch

Results = Mapping[str, Any]
TARGETS = {"recipe": 1.886, "diffusion": 2.565}  # losses that the races are run to


@click.group(cls=CommandGroup, context_settings={"show_default": True})
@click.option("--debug", is_flag=True, help="show where in the code an error was raised")
def main(debug: bool) -> None:
    """Measure speed; each benchmark prints one line of JSON last, and names the machine in it."""


# ---------------------------------------------------------------- what all commands share


def benchmark(measure: Callable[..., Results]) -> shell.Command:
    """Make a function a command that prints its result with command, minutes and machine, or stores it."""

    @click.option("--store", is_flag=True, help="keep the numbers as NAME.json, in place of earlier ones")
    @click.option("--folder", default="benchmarks/results", type=shell.PATH, help="where they are kept")
    @click.pass_context
    @wraps(measure)
    def command(ctx: click.Context, store: bool, folder: Path, **options: Any) -> None:
        if store:
            require_writable(folder / "results", "--folder")  # now, and not after minutes
        from benchmarks.machine import CPU, describe_machine

        start = time.perf_counter()
        measurements = measure(**options)
        minutes = round((time.perf_counter() - start) / 60, 1)
        machine = describe_machine(options.get("device") or CPU)
        record = {"command": command_line(ctx), "minutes": minutes, "machine": machine, **measurements}
        if store:
            text = json.dumps(record, indent=1) + "\n"
            write_atomically(folder / f"{result_name(ctx)}.json", text.encode())
        click.echo(json.dumps(record))

    return command


def result_name(ctx: click.Context) -> str:
    """Return the command's name with whatever makes it another measurement, such as step_v7."""
    version, notebooks = ctx.params.get("version", "v4"), ctx.params.get("notebooks")
    chosen = [version] * (version != "v4") + (notebooks.split(",") if notebooks else [])
    return "_".join([str(ctx.info_name), *chosen])


def command_line(ctx: click.Context) -> str:
    """Return the command with the typed options that change what is measured; of a path its last part."""
    words = ["python -m benchmarks", str(ctx.info_name)]
    typed_names = shell.typed_parameters(ctx, (str(option.name) for option in ctx.command.params))
    for option in ctx.command.params:
        if option.name in typed_names and option.name not in ("store", "folder"):
            setting = ctx.params.get(option.name)
            typed_as = ",".join(map(str, setting)) if isinstance(setting, list) else Path(str(setting)).name
            words += [option.opts[0]] if setting is True else [option.opts[0], typed_as]
    return " ".join(words)


def available_device(ctx: click.Context, option: click.Parameter, name: str) -> torch.device:
    """Return the device of this name. Raises BadInput for CUDA without a GPU."""
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise BadInput("device (cuda) must be cpu here: PyTorch finds no GPU (`python -m babygpt doctor`)")
    return torch.device(name)


def gpu_or_rehearsal(ctx: click.Context, option: click.Parameter, name: str) -> torch.device:
    """Return the device of this name. Raises BadInput without a GPU, except for a small rehearsal."""
    if name == "cpu" and not ctx.params["small"]:
        raise BadInput("device (cpu) must be cuda: without a GPU there is only a rehearsal, with --small")
    return available_device(ctx, option, name)


device_option = partial(click.option, "--device", type=click.Choice(["cpu", "cuda"]))
seeds_option = click.option(
    "--seeds", default="1337,2027,9001", callback=list_of(int), help="with commas between"
)


# ---------------------------------------------------------------- the commands


@main.command()
@click.option("--rounds", default=8, help="of the training speed with none, one and three dashboards")
@click.option("--notebooks", help="numbers of those to be run, such as 00,05; six of them if not given")
@benchmark
def live(rounds: int, notebooks: str | None) -> Results:
    """Measure how dashboards move, what they cost a training, and how quickly handles answer (40 minutes)."""
    from benchmarks.live import NOTEBOOKS, measure_live

    return measure_live(rounds, notebooks.split(",") if notebooks else NOTEBOOKS)


@main.command()
@click.option("--page", default="docs/benchmarks.md", type=shell.PATH, help="that has the marks")
def report(page: Path) -> None:
    """Write the stored numbers of the live lab, and of `scaling`, between the marks of a page."""
    from benchmarks import live, scaling

    text = page.read_text(encoding="utf-8")
    for name, words in {"live": live.report, "scaling": scaling.report}.items():
        stored = Path(f"benchmarks/results/{name}.json")
        if stored.exists():
            before, mark, rest = text.partition(f"<!-- {name} -->\n")
            report = words(json.loads(stored.read_text(encoding="utf-8")))
            text = f"{before}{mark}\n{report}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}"
    write_atomically(page, text.encode())


@main.command()
@corpus_option
@click.option("--target", default=TARGETS["recipe"], help="validation loss to reach, nats per character")
@click.option("--only", callback=list_of(str), default="", help="recipes that run, such as shift,tuned")
@seeds_option
@benchmark
def recipe(corpus: str, target: float, only: list[str], seeds: list[int]) -> Results:
    """Race to a validation loss: v4 by our recipe, a GPT-2 by the plain one, both also with token shift."""
    from benchmarks.recipe import chosen, prepare, race_recipes

    race, recipes = prepare("recipe", corpus, target)
    return race_recipes(race, chosen(recipes, only), seeds)


@main.command()
@corpus_option
@click.option("--target", default=TARGETS["diffusion"], help="mean loss over masked tokens to reach, nats")
@seeds_option
@benchmark
def diffusion(corpus: str, target: float, seeds: list[int]) -> Results:
    """Race to a loss of masked diffusion with RoPE: our recipe, and the plain one, as published and tuned."""
    from benchmarks.recipe import prepare, race_recipes

    return race_recipes(*prepare("diffusion", corpus, target), seeds)


@main.command()
@click.option("--version", default="v4", help="the model to be trained")
@click.option("--batch-size", default=12, help="windows in a batch")
@click.option("--block-size", default=64, help="tokens in a window")
@click.option("--rounds", default=20, help="of ten steps each")
@device_option(default="cpu", callback=available_device, help="where the models are")
@benchmark
def step(**options: Any) -> Results:
    """Time each part of a training step."""
    from benchmarks.step import measure_step

    return measure_step(**options)


@main.command()
@click.option("--versions", default="", callback=list_of(str), help="that are measured, such as v3,v5")
@click.option("--rounds", default=3, help="in which each version makes a step")
@benchmark
def scaling(versions: list[str], rounds: int) -> Results:
    """Measure a step of every version over lengths, widths, vocabularies and batches (15 minutes)."""
    from babygpt.models.versions import VERSIONS
    from benchmarks.scaling import measure_scaling

    return measure_scaling(versions or tuple(VERSIONS), rounds)


@main.command()
@click.option("--corpus", default="shakespeare", help="text of the large model")
@click.option("--small", is_flag=True, is_eager=True, help="tiny models and little of all: a rehearsal")
@device_option(default="cuda", callback=gpu_or_rehearsal, help="where they are; cpu only with --small")
@benchmark
def gpu(corpus: str, small: bool, device: torch.device) -> Results:
    """Measure all that a GPU should show: every version, notebooks, a large model, dashboards."""
    from benchmarks.gpu import SMALL, Size, measure_gpu

    return measure_gpu(device, corpus, SMALL if small else Size())
