"""The shell's way into the course: `python -m babygpt --help`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

import click
import torch

from babygpt import checkpoint as checkpoints
from babygpt import doctor as doctors
from babygpt.checkpoint import Checkpoint
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.device import pick_device
from babygpt.experiments import analysis
from babygpt.experiments import bench as benches
from babygpt.experiments import figures as pictures
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import NextToken
from babygpt.sampling import generate as continue_text
from babygpt.training import follow
from babygpt.training import train as train_steps

Command = Callable[..., None]


class Plain(click.Group):
    """A group whose commands answer bad input with one line and exit status 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (ValueError, FloatingPointError) as error:
            raise click.ClickException(str(error)) from error


def flags(config: type, **defaults: Any) -> Callable[[Command], Command]:
    """A `--flag` for every field of a dataclass that has a default, with the field's own help."""

    def add(command: Command) -> Command:
        for f in reversed([f for f in fields(config) if f.default is not MISSING]):
            default = defaults.get(f.name, f.default)
            name = "--" + f.name.replace("_", "-")
            command = click.option(
                name,
                default=default,
                type=type(f.default),
                show_default=True,
                help=f.metadata["help"],
            )(command)
        return command

    return add


def take(config: type, values: dict[str, Any]) -> dict[str, Any]:
    """Those values that are fields of the dataclass."""
    return {f.name: values[f.name] for f in fields(config) if f.name in values}


corpus_option = click.option(
    "--corpus",
    default="tales",
    show_default=True,
    help="tales, tales-zh, shakespeare, or a text file's path",
)


@click.group(cls=Plain, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Small GPTs that differ in one thing: how they know where their tokens stand."""


@main.command()
@click.argument("version", type=click.Choice(list(VERSIONS)))
@corpus_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="where to write  [default: weights/VERSION.safetensors]",
)
@click.option("--overwrite", is_flag=True, help="replace a checkpoint that is there already")
@flags(ModelConfig)
@flags(TrainConfig)
def train(version: str, corpus: str, out: Path | None, overwrite: bool, **values: Any) -> None:
    """Train VERSION on a corpus and write a checkpoint. Ctrl-C stops early and keeps what was learned."""
    out = out or Path("weights") / f"{version}.safetensors"
    if out.exists() and not overwrite:
        raise ValueError(f"{out} exists already; choose another --out or say --overwrite")
    text = load_corpus(corpus)
    config = ModelConfig(text.tokenizer.vocab_size, **take(ModelConfig, values))
    plan = TrainConfig(**take(TrainConfig, values))
    objective = NextToken(text, config.block_size)
    torch.manual_seed(plan.seed)
    model = build(version, config).to(pick_device())
    history = follow(train_steps(model, objective, plan), plan.steps, version)
    val_loss = history[-1].val_loss if history and history[-1].val_loss else objective.validate(model)
    info = {
        "corpus": corpus,
        "train": asdict(plan),
        "steps_done": len(history),
        "val_loss": val_loss,
    }
    checkpoints.save(out, Checkpoint(version, model, text.tokenizer, info), overwrite)
    floor = f", floor {text.floor:.3f}" if text.floor else ""
    click.echo(f"{len(history)} steps, validation loss {val_loss:.3f} nats per character{floor}; wrote {out}")


@main.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--prompt", default="\n", help="text to continue  [default: a line end]")
@click.option("--tokens", default=200, show_default=True, help="characters to write")
@click.option("--temperature", default=1.0, show_default=True, help="0 always takes the likeliest character")
@click.option("--top-k", type=int, help="draw among the k likeliest characters only")
@click.option("--seed", default=1337, show_default=True, help="seed of the draws")
def generate(model: Path, prompt: str, tokens: int, temperature: float, top_k: int | None, seed: int) -> None:
    """Continue a prompt with the checkpoint MODEL."""
    loaded = checkpoints.load(model)
    idx = loaded.tokenizer.encode(prompt)[None]
    draw = torch.Generator().manual_seed(seed)
    written = continue_text(loaded.model.to(pick_device()), idx, tokens, temperature, top_k, draw)
    click.echo(loaded.tokenizer.decode(written[0]))


@main.command()
def doctor() -> None:
    """Tell what is installed, which device will be used, and whether the widgets will work."""
    found = doctors.checks()
    click.echo(doctors.report(found))
    if not all(check.ok for check in found):
        raise click.ClickException("something above needs attention")


@main.command()
@click.argument("encoding", type=click.Choice(list(analysis.ANALYSES)))
@click.option("--width", default=128, show_default=True, help="channels of the table, or of a head")
@click.option("--length", default=128, show_default=True, help="positions looked at")
@click.option("--theta", default=10_000.0, show_default=True, help="base of the frequencies")
def analyze(encoding: str, width: int, length: int, theta: float) -> None:
    """Show what an encoding's table looks like, in numbers."""
    for name, value in analysis.ANALYSES[encoding](width, length, theta).items():
        click.echo(f"{name:<58} {value:>10.4g}")


@main.command()
@click.argument("names", nargs=-1, type=click.Choice(list(pictures.FIGURES)))
@click.option("--folder", default="figures", show_default=True, type=click.Path(path_type=Path))
@click.option("--redraw", is_flag=True, help="draw from the stored results, train nothing")
def figures(names: tuple[str, ...], folder: Path, redraw: bool) -> None:
    """Measure and draw the course's figures (all of them, or those NAMED)."""
    for name in names or pictures.FIGURES:
        click.echo(f"{name}: {pictures.make(name, folder, redraw)}")


@main.command()
@click.option("--folder", default="figures", show_default=True, type=click.Path(path_type=Path))
def screenshots(folder: Path) -> None:
    """Take pictures of the explorers and of a dashboard, in a real browser (takes about a minute)."""
    from babygpt.browser.screenshots import (
        take as photograph,
    )  # only this command and one bench need a browser

    for path in photograph(folder):
        click.echo(path)


@main.group()
def bench() -> None:
    """Benchmarks; each prints one line of JSON last."""


@bench.command()
@click.option("--presses", default=60, show_default=True, help="key presses of each kind")
def live(presses: int) -> None:
    """Answer time of sliders and cost of dashboards, in a real browser (takes some four minutes)."""
    from babygpt.browser.bench import live as measure  # only this command needs a browser

    click.echo(json.dumps(measure(presses)))


@bench.command()
@corpus_option
@click.option(
    "--target",
    default=1.886,
    show_default=True,
    help="validation loss to reach, nats per character",
)
@click.option("--steps", default=280, show_default=True, help="steps of our recipe, a multiple of 20")
@click.option("--plain-steps", default=2000, show_default=True, help="steps of the plain recipe")
def recipe(corpus: str, target: float, steps: int, plain_steps: int) -> None:
    """Time to a validation loss: our recipe and a plain AdamW GPT-2 recipe, in turn."""
    click.echo(json.dumps(benches.recipe(load_corpus(corpus), target, steps, plain_steps)))
