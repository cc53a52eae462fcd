"""`train` and `generate`: one text at a time."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import torch

from babygpt import checkpoint as checkpoints
from babygpt.checkpoint import Checkpoint
from babygpt.cli.base import corpus_option, flags, take
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.device import pick_device
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import NextToken
from babygpt.sampling import generate as continue_text
from babygpt.training import follow
from babygpt.training import train as train_steps


@click.command()
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
    """Train VERSION on a corpus and write a checkpoint. Ctrl-C stops early and keeps what was learned.

    The versions of parallel branches, v6 and those beside it, are trained by `pretrain`.
    """
    if VERSIONS[version].branches:
        raise ValueError(
            f"{version} reads several texts at once; `python -m babygpt pretrain` trains such models"
        )
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


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--prompt", default="\n", help="text to continue  [default: a line end]")
@click.option("--tokens", default=200, show_default=True, help="characters to write")
@click.option("--temperature", default=1.0, show_default=True, help="0 always takes the likeliest character")
@click.option("--top-k", type=int, help="draw among the k likeliest characters only")
@click.option("--seed", default=1337, show_default=True, help="seed of the draws")
def generate(model: Path, prompt: str, tokens: int, temperature: float, top_k: int | None, seed: int) -> None:
    """Continue a prompt with the checkpoint MODEL."""
    loaded = checkpoints.load(model)
    if VERSIONS[loaded.version].branches:
        raise ValueError(
            f"{model} is a {loaded.version}, which writes several texts at once: "
            f"use `parallel-generate --model {model} --branches 2`"
        )
    idx = loaded.tokenizer.encode(prompt)[None]
    draw = torch.Generator().manual_seed(seed)
    written = continue_text(loaded.model.to(pick_device()), idx, tokens, temperature, top_k, draw)
    click.echo(loaded.tokenizer.decode(written[0]))
