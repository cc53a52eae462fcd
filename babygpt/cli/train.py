"""The commands `train` and `generate`, for one text at a time.

PyTorch is imported when a command runs, so that `--help` need not wait for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from babygpt.cli import options as shell
from babygpt.config import ModelConfig, TrainConfig
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS

if TYPE_CHECKING:
    from torch import Tensor

    from babygpt.data.corpus import Corpus
    from babygpt.data.tokenizer import CharTokenizer
    from babygpt.training.checkpoint import SavedRun
    from babygpt.training.distributed import Team

# ---------------------------------------------------------------- flags for the settings of an encoding

SETTINGS: dict[str, tuple[Any, str]] = {  # setting of an encoding -> its default there, and its help
    "theta": (10_000.0, "base of the frequencies"),
    "kernel": ("relative", "relative: K of the distance; absolute: of the note's position"),
    "alphas": ((0.7, 0.3), "weights of K's two scales"),
    "sigmas": ((5.0, 20.0), "their widths, in tokens"),
    "learnable": (True, "whether K's weights and widths are trained"),
    "alpha": (0.3, "factor of MASK tokens"),
    "steepness": (1.0, "1 as in the paper, more to forget faster"),
    "n_buckets": (32, "of distances, each with a number that a head learns"),
    "furthest": (128, "distance from which on all are in one bucket, in tokens"),
    "both_ways": (False, "whether half of the buckets are for what comes after"),
    "width": (32, "hidden units of FIRE's network"),
    "threshold": (16.0, "FIRE's at first: queries before it divide by the same, in tokens"),
    "factor": (1.0, "how many times longer texts may be than those trained on, 4 for 4n"),
    "share": (0.25, "of the pairs that turn, the quickest ones; the others never do"),
    "scale_base": (512.0, "tokens over which the quickest pair fades to 0.29"),
    "every": (4, "layers number N, 2N, ... have no encoding, counted from 1"),
}
LAYERED = ("per_layer", "layers")


def takers(setting: str) -> list[str]:
    """Return the versions with a setting, of those that `train` trains."""
    return [name for name, kind in VERSIONS.items() if setting in kind.settings.split()]


def setting_options(command: shell.Command) -> shell.Command:
    """Add the flags for the settings of encodings, each with the versions that have it."""
    for name, (default, about) in reversed(SETTINGS.items()):
        versions = takers(name)
        some = versions if len(versions) <= 4 else [*versions[:3], f"... {versions[-1]}"]
        flag = "--learnable/--fixed" if name == "learnable" else shell.flag_of(name)
        command = shell.option_for(flag, name, default, f"{about} ({', '.join(some)})")(command)
    return command


def chosen_options(ctx: click.Context, version: str) -> dict[str, Any]:
    """Return what was chosen on the command line, as `build` takes it.

    Raises BadInput, naming the flag and the versions that have it, for a setting that the encoding lacks.
    """
    given = {name: ctx.params[name] for name in shell.typed(ctx, (*SETTINGS, *LAYERED))}
    layers: Sequence[str] = given.get("layers") or [version]
    taken = {setting for name in layers if name in VERSIONS for setting in VERSIONS[name].settings.split()}
    for name in given:
        if name in SETTINGS and name not in taken:
            raise BadInput(
                f"{shell.flag_of(name)}: {version} has no such choice; {', '.join(takers(name))} have"
            )
    return given


def options_of(version: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every flag in a model that was built with these options, None where it has none.

    Lists, which JSON makes of tuples, are tuples again.
    """
    defaults = {name: SETTINGS[name][0] for name in VERSIONS[version].settings.split()}
    found = {"per_layer": False, **defaults, **options}
    found |= {name: tuple(found[name]) for name in SETTINGS if isinstance(found.get(name), list)}
    return {name: found.get(name) for name in (*SETTINGS, *LAYERED)}


# ---------------------------------------------------------------- training


@click.command()
@click.argument("version", type=click.Choice(list(VERSIONS)))
@shell.corpus_option
@click.option("--out", type=shell.PATH, help="where to write  [default: weights/VERSION.safetensors]")
@click.option("--overwrite", is_flag=True, help="replace a checkpoint that is there already")
@click.option("--resume", is_flag=True, help="go on with the run in --out, with the numbers it began with")
@shell.save_every_option
@click.option("--bound", is_flag=True, help="v7: train on the bound, in which masked tokens weigh 1/t")
@click.option("--compile", "compiled", is_flag=True, help="let torch.compile make one kernel of many")
@shell.options_from(ModelConfig)
@shell.options_from(TrainConfig)
@click.option("--per-layer", is_flag=True, help="give each layer an encoding of its own")
@click.option("--layers", default="", callback=shell.list_of(str), help="their versions, as v4,v4,v4,nope")
@setting_options
@click.pass_context
def train(ctx: click.Context, version: str, out: Path | None, **values: Any) -> None:
    """Train VERSION on a corpus and write a checkpoint. Ctrl-C stops early and keeps what was learned.

    v7 and those beside it learn to fill in masked characters, all others to predict the next one. The two
    losses cannot be compared; what can be, with care, is the NELBO: no text is less likely than it says.

    The versions of parallel branches, v6 and those beside it, are trained by `pretrain`. What may be chosen
    of an encoding is stored with the model; a flag that VERSION's encoding does not have is refused.

    A run that was stopped or killed goes on from its last checkpoint when the same command is given with
    --resume. `torchrun --nproc-per-node N -m babygpt train ...` shares every batch among N processes.
    """
    from babygpt.training.distributed import distributed

    out = out or Path("weights") / f"{version}.safetensors"
    with distributed() as team:
        if VERSIONS[version].branches:
            raise BadInput(f"{version} reads several texts at once; `pretrain` trains such models")
        if values["resume"] and values["overwrite"]:
            raise BadInput("--resume continues the file that --overwrite would replace: choose one of them")
        if team.is_main and not VERSIONS[version].masks:
            shell.warn_unused(ctx, ["bound"], f"in training {version}")
        replace = values["overwrite"] or values["resume"]
        lock = shell.output_lock(out, "--out", replace, "--overwrite or --resume")
        with lock if team.is_main else nullcontext():
            run, corpus = start(ctx, version, out, values, team)
            run.train(values["save_every"])
            if team.is_main:
                losses = run.complete(lambda: measure(run, corpus))
                floor = f", floor {corpus.floor:.3f}" if corpus.floor else ""
                click.echo(f"{run.training.step} steps, {describe(losses)}{floor}; wrote {out}")


def start(
    ctx: click.Context, version: str, out: Path, values: dict[str, Any], team: Team
) -> tuple[SavedRun, Corpus]:
    """Return a run that is ready to train, from its beginning or from its checkpoint, and its corpus.

    Raises BadInput for the corpus, and if `out` holds no run or another one than the flags describe.
    """
    import torch

    from babygpt.data.corpus import load_corpus
    from babygpt.device import compile_in_place, pick_device
    from babygpt.models.versions import build
    from babygpt.objectives import objective_for
    from babygpt.training.checkpoint import go_on, load_unfinished, require_same_text

    masks, options, saved = VERSIONS[version].masks, chosen_options(ctx, version), None
    if values["resume"]:
        saved, began = load_unfinished(out, version)
        options = saved.options
        shell.adopt(ctx, values, began | options_of(version, options), out)  # flags that were not given
    corpus = load_corpus(values["corpus"], with_mask=masks)
    if saved:
        require_same_text(out, saved, corpus)
    config = ModelConfig(corpus.tokenizer.vocab_size, **shell.fields_of(ModelConfig, values))
    plan = TrainConfig(**shell.fields_of(TrainConfig, values))
    objective = objective_for(version, corpus, config.block_size, bound=values["bound"])
    torch.manual_seed(plan.seed)
    model = build(version, config, **options).to(pick_device())
    if values["compiled"]:
        compile_in_place(model)
    training = team.training(model, objective, plan)
    info = {"corpus": values["corpus"], "text": corpus.fingerprint(), "train": asdict(plan)}
    info |= {"bound": values["bound"]} if masks else {}
    run = team.saved_run(out, training, corpus.tokenizer, info)
    if saved:
        go_on(run, saved)
    return run, corpus


def measure(run: SavedRun, corpus: Corpus) -> dict[str, float | None]:
    """Return the validation loss of a trained model, and the NELBO of a model that fills in masked tokens."""
    from babygpt.metrics.denoising import nelbo
    from babygpt.objectives import MaskedDiffusion

    objective, model = run.training.objective, run.training.model
    val_loss = run.curve[-1][1] if run.is_measured() else objective.validate(model)
    if not isinstance(objective, MaskedDiffusion):
        return {"val_loss": val_loss}
    bound, error = nelbo(model, corpus.val)
    return {"val_loss": val_loss, "nelbo": bound, "nelbo_se": error if math.isfinite(error) else None}


def describe(losses: dict[str, float | None]) -> str:
    """Describe the validation losses in words, each by its name."""
    if "nelbo" not in losses:
        return f"validation loss {losses['val_loss']:.3f} nats per character"
    error = "" if losses["nelbo_se"] is None else f" ± {losses['nelbo_se']:.3f} (standard error)"
    return (
        f"validation loss of masked characters {losses['val_loss']:.3f} nats (no bound on anything), "
        f"NELBO {losses['nelbo']:.3f}{error} nats per character"
    )


# ---------------------------------------------------------------- writing


@click.command()
@click.argument("model", type=shell.PATH)
@click.option("--prompt", help="text to continue  [default: a line end]")
@shell.sampling_options
@shell.shown("--confidence-threshold", default=0.95, help="v7: what is surer appears at once")
@click.option("--block", type=int, help="v7: characters filled in together  [default: half the window]")
@click.pass_context
def generate(ctx: click.Context, model: Path, prompt: str | None, tokens: int, **values: Any) -> None:
    """Continue a prompt with the checkpoint MODEL, character by character, or a v7 block by block."""
    import torch

    from babygpt import sampling
    from babygpt.device import pick_device, use_allowed_threads
    from babygpt.training.checkpoint import load

    use_allowed_threads()
    loaded = load(model)
    kind = VERSIONS[loaded.version]
    if kind.branches:
        raise BadInput(f"{model} is a {loaded.version}: use `parallel-generate --model {model} --branches 2`")
    idx, network = first_tokens(loaded.tokenizer, prompt)[None], loaded.model.to(pick_device())
    draw = torch.Generator().manual_seed(values["seed"])
    how = (values["temperature"], values["top_k"], draw)
    if kind.masks:
        appear = sampling.by_confidence(values["confidence_threshold"])
        written = sampling.continue_text(network, idx, tokens, appear, *how, values["block"]).tokens
    else:
        where = f"in a {loaded.version}, which writes one character after another"
        shell.warn_unused(ctx, ["confidence_threshold", "block"], where)
        written = sampling.generate(network, idx, tokens, *how)
    click.echo(loaded.tokenizer.decode(written[0]))


def first_tokens(tokenizer: CharTokenizer, prompt: str | None) -> Tensor:
    """Return the token ids of a prompt, of a line end if there is none: (T,).

    Raises BadInput for an unknown character, and without a prompt for a vocabulary without a line end.
    """
    if prompt is None and "\n" not in tokenizer.ids:
        from babygpt.data.tokenizer import in_short

        known = in_short(tokenizer.characters)
        raise BadInput(f"the model knows no line end to begin with: give a --prompt of {known}")
    return tokenizer.encode("\n" if prompt is None else prompt)
