"""Benchmarks: measured in turn, told in one line of JSON, kept if asked for."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import torch
from click.core import ParameterSource

import benchmarks as benches
from babygpt.cli.base import Command, Plain, corpus_option, require_folder
from babygpt.data.corpus import load_corpus
from babygpt.errors import BadInput


@click.group(cls=Plain)
def main() -> None:
    """Benchmarks; each prints one line of JSON last, and names the machine in it."""


def told(measure: Callable[..., Mapping[str, Any]]) -> Command:
    """Make a benchmark a command that says what it found, where and how, and keeps it if asked to."""

    @click.option("--store", is_flag=True, help="keep the numbers as NAME.json, in place of earlier ones")
    @click.option(
        "--folder",
        default="benchmarks/results",
        show_default=True,
        type=click.Path(path_type=Path),
        help="where they are kept",
    )
    @click.pass_context
    @functools.wraps(measure)
    def command(ctx: click.Context, store: bool, folder: Path, **values: Any) -> None:
        if store:
            require_folder(folder, "--folder")  # now, and not after minutes
        start = time.perf_counter()
        found = measure(**values)
        minutes = round((time.perf_counter() - start) / 60, 1)
        device = values.get("device", torch.device("cpu"))
        results = {"command": typed(ctx), "minutes": minutes, "machine": benches.machine(device), **found}
        if store:
            benches.store(variant(ctx), results, folder)
        click.echo(json.dumps(results))

    return command


def variant(ctx: click.Context) -> str:
    """What the numbers are kept as: the command's name, and what else was chosen to be measured."""
    version, notebooks = ctx.params.get("version", "v4"), ctx.params.get("notebooks")
    chosen = [version] * (version != "v4") + (notebooks.split(",") if notebooks else [])
    chosen += [flag for flag in ("same_shape", "neighbour") if ctx.params.get(flag)]
    return "_".join([str(ctx.info_name), *chosen])


def typed(ctx: click.Context) -> str:
    """The command with those options that change what is measured; of a path its last part."""
    words = ["python -m benchmarks", str(ctx.info_name)]
    for option in ctx.command.params:
        name = str(option.name)
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE and name not in ("store", "folder"):
            value = ctx.params.get(name)
            words += [option.opts[0]] if value is True else [option.opts[0], Path(str(value)).name]
    return " ".join(words)


def set_threads(ctx: click.Context, option: click.Parameter, threads: int | None) -> int | None:
    """Let PyTorch use so many threads from here on."""
    if threads:
        torch.set_num_threads(threads)
    return threads


def device_at_hand(ctx: click.Context, option: click.Parameter, name: str) -> torch.device:
    """The device of this name. Raises ValueError for CUDA without a GPU."""
    if name == "cuda" and not torch.cuda.is_available():
        raise BadInput("device (cuda) must be cpu here: PyTorch finds no GPU (`python -m babygpt doctor`)")
    return torch.device(name)


threads_option = click.option(
    "--threads",
    type=click.IntRange(min=1),
    callback=set_threads,
    help="of PyTorch; as many as it takes if not told",
)
device_option = click.option(
    "--device",
    default="cpu",
    show_default=True,
    type=click.Choice(["cpu", "cuda"]),
    callback=device_at_hand,
    help="where the models are",
)


same_shape = click.option("--same-shape", is_flag=True, help="ours has 4 layers, 128 wide, as the plain one")


@main.command()
@click.option(
    "--presses", default=20, show_default=True, help="key presses of each slider, idle and training"
)
@click.option("--notebooks", help="numbers of those to be run, such as 00,05; seven of them if not told")
@click.option("--neighbour", is_flag=True, help="another process keeps a core busy while the notebooks run")
@told
def live(presses: int, notebooks: str | None, neighbour: bool) -> Mapping[str, Any]:
    """How dashboards move in the notebooks, what they cost, how fast sliders answer (twelve minutes)."""
    from benchmarks import live as browser  # only this command needs one

    chosen = notebooks.split(",") if notebooks else browser.NOTEBOOKS
    return browser.live(presses, chosen, neighbour)


@main.command()
@corpus_option
@click.option(
    "--target",
    default=1.886,
    show_default=True,
    help="validation loss to reach, nats per character",
)
@click.option("--steps", default=560, show_default=True, help="steps of our recipe, a multiple of 20")
@click.option("--plain-steps", default=2000, show_default=True, help="steps of the plain recipe")
@same_shape
@told
def recipe(corpus: str, target: float, **values: Any) -> Mapping[str, Any]:
    """Time to a validation loss: our recipe and a plain AdamW GPT-2 recipe, in turn."""
    return benches.recipe(load_corpus(corpus), target, **values)


@main.command()
@corpus_option
@click.option(
    "--target", default=2.565, show_default=True, help="mean loss over masked tokens to reach, nats"
)
@click.option("--steps", default=1160, show_default=True, help="steps of our recipe, a multiple of 20")
@click.option("--plain-steps", default=2400, show_default=True, help="steps of the plain recipe")
@same_shape
@click.option(
    "--polar", is_flag=True, help="then train RoPE, Polar as written and repaired, three seeds each"
)
@told
def diffusion(corpus: str, target: float, polar: bool, **values: Any) -> Mapping[str, Any]:
    """Time to a loss of masked diffusion with RoPE: our recipe and a plain AdamW recipe, in turn."""
    text = load_corpus(corpus, with_mask=True)
    found: dict[str, Any] = dict(benches.diffusion(text, target, **values))
    if polar:
        found["polar"] = benches.polar(text)
    return found


@main.command()
@corpus_option
@click.option("--seconds", default=9.0, show_default=True, help="of training for each shape")
@told
def shapes(corpus: str, seconds: float) -> Mapping[str, Any]:
    """Deep or wide, few steps or many: v4 in eight shapes, each trained for the same time."""
    return benches.shapes(load_corpus(corpus), seconds)


@main.command()
@click.option("--version", default="v4", show_default=True, help="the model to be trained")
@click.option("--batch-size", default=12, show_default=True, help="windows in a batch")
@click.option("--block-size", default=64, show_default=True, help="tokens in a window")
@click.option("--turns", default=20, show_default=True, help="of ten steps each")
@threads_option
@device_option
@told
def step(threads: int | None, **values: Any) -> Mapping[str, Any]:
    """Time of each part of a training step, and what it reaches of the machine's matrix-multiply rate."""
    return benches.step(**values)


@main.command()
@click.option("--turns", default=60, show_default=True, help="steps of each that are timed")
@click.option("--batch-size", default=12, show_default=True, help="windows in a batch")
@click.option("--block-size", default=64, show_default=True, help="tokens in a window")
@threads_option
@told
def encodings(threads: int | None, **values: Any) -> Mapping[str, Any]:
    """What each encoding adds to a training step, beside the same body without one (some three minutes)."""
    return benches.encodings(**values)


@main.command("generate")
@click.option("--turns", default=3, show_default=True, help="how often everything is written")
@click.option("--steps", default=600, show_default=True, help="how long v7 learns before it fills in")
@threads_option
@device_option
@told
def generation(threads: int | None, **values: Any) -> Mapping[str, Any]:
    """Tokens per second with and without a cache, at 256 and 1024 tokens, and of filling in."""
    return benches.generation(**values)


@main.command()
@click.option("--minutes", default=60.0, show_default=True, help="how long to train under one dashboard")
@click.option("--runs", default=50, show_default=True, help="then so many short runs, one after the other")
@told
def memory(minutes: float, runs: int) -> Mapping[str, Any]:
    """Whether long use makes memory grow: one long run under a dashboard, and many short ones."""
    from benchmarks import memory as endurance  # only this command watches memory

    text = load_corpus("plain-tales", 100_000)
    endurance.require(minutes, runs)
    return {"one_run": endurance.endurance(text, minutes), "many_runs": endurance.many_runs(text, runs)}
