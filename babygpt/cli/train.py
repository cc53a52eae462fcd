"""The commands `train` and `generate`, for one text at a time.

PyTorch is imported when a command runs, so that `--help` need not wait for it.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from babygpt.cli import options as shell
from babygpt.config import SAVE_EVERY, ModelConfig, TrainConfig
from babygpt.errors import BadInput, suggestion

if TYPE_CHECKING:
    from torch import Tensor

    from babygpt.data.corpus import Corpus
    from babygpt.data.tokenizer import CharTokenizer
    from babygpt.models.language_model import LanguageModel
    from babygpt.models.versions import Version
    from babygpt.training.checkpoint import Checkpoint
    from babygpt.training.distributed import Team
    from babygpt.training.saved_run import SavedRun

# ---------------------------------------------------------------- flags for the options of an encoding

OPTIONS = "babygpt.encoding_options"  # the key under which a context holds the options of encodings
LAYERED = ("per_layer", "layers")


def versions() -> dict[str, Version]:
    """Return the table of versions. The first call imports PyTorch."""
    from babygpt.models.versions import VERSIONS

    return VERSIONS


class TrainCommand(click.Command):
    """Command that also takes every option that the signature of some version's encoding declares.

    Signatures are read when something besides --help was typed, because that imports PyTorch. With a version,
    --help shows the options of its encoding.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if set(args) - set(ctx.help_option_names):
            ctx.meta[OPTIONS] = encoding_options({word for arg in args for word in re.split("[,=]", arg)})
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*ctx.meta.get(OPTIONS, {}).values(), *super().get_params(ctx)]


def encoding_options(named: Collection[str]) -> dict[str, click.Option]:
    """Return the options of all encodings that `train` knows, hidden unless those of a version in `named`."""
    options = {}
    # Versions in `named` come last, so that --help shows their defaults where encodings share an option.
    for version in sorted(versions(), key=lambda version: version in named):
        kind = versions()[version]
        for name, default in {} if kind.branches else kind.options().items():
            flag = "--learnable/--fixed" if name == "learnable" else shell.flag_of(name)
            form = shell.form_of(default, argument_help(kind.encoding, name))
            options[name] = click.Option([flag, name], hidden=version not in named, **form)
    return options


def argument_help(maker: Any, argument: str) -> str:
    """Return what the docstring of a class or function says of an argument, or that of a base class."""
    encoding = inspect.signature(maker).return_annotation if inspect.isfunction(maker) else maker
    for owner in (maker, *getattr(encoding, "__mro__", ())):
        lines = re.search(rf"^{argument} +(\S.*(?:\n +\S.*)*)", inspect.getdoc(owner) or "", re.MULTILINE)
        if lines:
            return " ".join(lines[1].split())
    return ""


def defaults_of(version: str, layers: Sequence[str] | None) -> dict[str, Any]:
    """Return the options of a version's encoding, or of those of its layers: name -> default."""
    kinds = [versions()[name] for name in layers or [version] if name in versions()]
    return {name: default for kind in kinds for name, default in kind.options().items()}


def chosen_options(ctx: click.Context, version: str) -> dict[str, Any]:
    """Return what was chosen on the command line, as `build` takes it.

    Raises BadInput, naming the flag and the versions that have it, for an option that the encoding lacks.
    """
    options = {name: ctx.params[name] for name in shell.typed(ctx, (*ctx.meta[OPTIONS], *LAYERED))}
    defaults = defaults_of(version, options.get("layers"))
    for name in options:
        if name not in (*defaults, *LAYERED):
            kinds = {key: kind for key, kind in versions().items() if not kind.branches}
            having = [key for key, kind in kinds.items() if name in kind.options()]
            raise BadInput(f"{shell.flag_of(name)}: {version} has no such choice; {', '.join(having)} have")
    return options


def built_with(ctx: click.Context, version: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every flag in a model that was built with these options, None where it has none.

    Lists, which JSON makes of tuples, are tuples again.
    """
    layers = options.get("layers", [])
    flags = {
        **dict.fromkeys(ctx.meta[OPTIONS]),
        "per_layer": False,
        **defaults_of(version, layers),
        **options,
    }
    return {name: tuple(x) if isinstance(x, list) else x for name, x in flags.items()} | {"layers": layers}


def known_version(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Return the name of a version. Raise click's error for any other, with the name probably meant."""
    titles = [kind.title for kind in versions().values()]
    if value not in versions() and (hint := suggestion(value, versions(), titles)):
        raise click.BadParameter(f"{value!r} is not one of the versions{hint}", ctx, param)
    return str(click.Choice(list(versions())).convert(value, param, ctx))


def list_versions(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Print the name and title of every version, if that was asked for, and end the command."""
    if value:
        width = max(map(len, versions()))
        click.echo("\n".join(f"{name:{width}}  {kind.title}" for name, kind in versions().items()))
        ctx.exit()


# ---------------------------------------------------------------- training


@click.command(cls=TrainCommand)
@click.argument("version", callback=known_version)
@click.option(
    "--versions",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=list_versions,
    help="list what VERSION may be",
)
@shell.corpus_option
@click.option("--out", type=shell.PATH, help="where to write  [default: weights/VERSION.safetensors]")
@click.option("--overwrite", is_flag=True, help="replace a checkpoint that is there already")
@click.option("--resume", is_flag=True, help="go on with the run in --out, with the numbers it began with")
@click.option("--from", type=shell.PATH, help="begin with the weights of this checkpoint")
@click.option(
    "--keep",
    type=click.Choice(["last", "best"]),
    default="last",
    show_default=True,
    help="weights to keep: those of the last step, or of the lowest validation loss",
)
@shell.save_every_option
@click.option("--bound", is_flag=True, help="v7: train on the bound, in which masked tokens weigh 1/t")
@click.option("--compile", "compiled", is_flag=True, help="let torch.compile make one kernel of many")
@shell.options_from(ModelConfig)
@shell.options_from(TrainConfig)
@click.option("--per-layer", is_flag=True, help="give each layer an encoding of its own")
@click.option("--layers", default="", callback=shell.list_of(str), help="their versions, as v4,v4,v4,nope")
@click.pass_context
def train(ctx: click.Context, version: str, out: Path | None, **values: Any) -> None:
    """Train VERSION on a corpus and write a checkpoint. Ctrl-C stops early and keeps what was learned.

    VERSION is v1 to v7, or one beside them: `train --versions` lists all, and `train v5 --help` shows the
    options of v5's encoding, too.

    v7 and those beside it learn to fill in masked characters, all others to predict the next one. The two
    losses cannot be compared; what can be, with care, is the NELBO: no text is less likely than it says.

    The versions of parallel branches, v6 and those beside it, are trained by `pretrain`. What may be chosen
    of an encoding is stored with the model; a flag that VERSION's encoding does not have is refused.

    A run that was stopped or killed goes on from its last checkpoint when the same command is given with
    --resume. With --from, a new run begins with another's weights, on any text with the same characters.
    `torchrun --nproc-per-node N -m babygpt train ...` shares every batch among N processes.
    """
    from babygpt.training.distributed import distributed

    out = out or Path("weights") / f"{version}.safetensors"
    with distributed() as team:
        if versions()[version].branches:
            raise BadInput(f"{version} reads several texts at once; `pretrain` trains such models")
        if values["resume"] and values["overwrite"]:
            raise BadInput("--resume continues the file that --overwrite would replace: choose one of them")
        if team.world_size > 1 and values["corpus"] == "-":  # the first reader leaves the others nothing
            raise BadInput("--corpus - (standard input) is read by one process; torchrun needs a file's path")
        if team.is_main and not versions()[version].masks:
            shell.warn_unused(ctx, ["bound"], f"in training {version}")
        replace = values["overwrite"] or values["resume"]
        lock = shell.output_lock(out, "--out", replace, "--overwrite or --resume")
        with lock if team.is_main else nullcontext():
            run, corpus = start(ctx, version, out, values, team)
            run.train(values["save_every"])
            if team.is_main:
                losses = run.complete(lambda: measure(run, corpus))
                floor = f", floor {corpus.floor:.3f}" if corpus.floor else ""
                is_last = run.kept_step == run.training.step
                weights = "" if is_last else f" with the weights of step {run.kept_step}"
                words = f"{run.training.step} steps, {describe_losses(losses)}{floor}; wrote {out}{weights}"
                click.echo(words)


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
    from babygpt.training.saved_run import SavedRun, go_on, load_unfinished, require_same_text

    masks, options, saved, first = versions()[version].masks, chosen_options(ctx, version), None, None
    if values["keep"] == "best" and not values["eval_every"]:
        values["eval_every"] = SAVE_EVERY
    if values["resume"]:
        saved, began = load_unfinished(out, version)
        options = saved.options
        shell.adopt(ctx, values, began | built_with(ctx, version, options), out)  # flags that were not given
    elif values["from"]:
        first = load_first(ctx, version, values)
        options = first.options
    corpus = load_corpus(values["corpus"], with_mask=masks)
    if saved:
        require_same_text(out, saved, corpus)
    if first:
        corpus = corpus.encoded_by(first.tokenizer)
    config = ModelConfig(corpus.tokenizer.vocab_size, **shell.fields_of(ModelConfig, values))
    plan = TrainConfig(**shell.fields_of(TrainConfig, values))
    objective = objective_for(version, corpus, config.block_size, bound=values["bound"])
    torch.manual_seed(plan.seed)
    model = (first.model if first else build(version, config, **options)).to(pick_device())
    if values["compiled"]:
        compile_in_place(model)
    training = team.training(model, objective, plan)
    info = {"corpus": values["corpus"], "text": corpus.fingerprint(), "train": asdict(plan)}
    info |= {"keep": values["keep"]}
    info |= {"bound": values["bound"]} if masks else {}
    run = SavedRun(out, training, corpus.tokenizer, info, team)
    if saved:
        go_on(run, saved)
    return run, corpus


def load_first(ctx: click.Context, version: str, values: dict[str, Any]) -> Checkpoint:
    """Return the checkpoint that --from names, and take its shape for flags that were not given.

    Raises BadInput if it is of another version, or if a flag that was given differs.
    """
    from babygpt.training.checkpoint import load

    first, path = load(values["from"]), values["from"]
    if first.version != version:
        raise BadInput(f"--from ({path}) is a {first.version}, not a {version}")
    shell.adopt(ctx, values, asdict(first.model.config) | built_with(ctx, version, first.options), path)
    return first


def measure(run: SavedRun, corpus: Corpus) -> dict[str, float | None]:
    """Return the validation loss of a trained model, and the NELBO of a model that fills in masked tokens."""
    from babygpt.metrics.denoising import nelbo
    from babygpt.objectives import MaskedDiffusion

    objective, model = run.training.objective, run.training.model
    losses = [loss for step, loss in run.curve if step == run.kept_step]
    val_loss = losses[0] if losses else objective.validate(model)
    if not isinstance(objective, MaskedDiffusion):
        return {"val_loss": val_loss}
    bound, error = nelbo(model, corpus.val)
    return {"val_loss": val_loss, "nelbo": bound, "nelbo_se": error if math.isfinite(error) else None}


def describe_losses(losses: dict[str, float | None]) -> str:
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
@click.option("--prompt", multiple=True, help="text to continue, once for each  [default: a line end]")
@shell.shown("--samples", default=1, type=click.IntRange(1), help="texts to write for each prompt")
@shell.sampling_options
@click.option("--stop", help="end a text after this word; for a line end write --stop $'\\n'")
@shell.shown("--confidence-threshold", default=0.95, help="v7: what is surer appears at once")
@click.option("--block", type=int, help="v7: characters filled in together  [default: half the window]")
@click.option("--hole", help="v7: a character of a prompt that stands for one to fill in  [default: _]")
@click.pass_context
def generate(ctx: click.Context, model: Path, prompt: tuple[str, ...], **values: Any) -> None:
    """Continue a prompt with the checkpoint MODEL, character by character, or a v7 block by block.

    A v7 also fills in holes, as in --prompt "ada ch____ ben". It adds nothing to such a prompt.
    """
    import torch

    from babygpt import sampling
    from babygpt.device import pick_device, use_allowed_threads
    from babygpt.training.checkpoint import load

    use_allowed_threads()
    loaded = load(model)
    kind, tokenizer = versions()[loaded.version], loaded.tokenizer
    if kind.branches:
        raise BadInput(f"{model} is a {loaded.version}: use `parallel-generate --model {model} --branches 2`")
    stop_ids = encode_stop(tokenizer, values["stop"]) if values["stop"] else None
    network, stop = loaded.model.to(pick_device()), "" if stop_ids is None else tokenizer.decode(stop_ids)
    usual = "" if "_" in tokenizer.ids else "_"  # such a model has read "_" as text
    hole = (usual if values["hole"] is None else values["hole"]) if kind.masks else ""
    idx = [first_tokens(tokenizer, text, hole) for text in prompt or [None] for _ in range(values["samples"])]
    how = {name: values[name] for name in ("temperature", "top_k", "top_p")}
    how["generator"] = torch.Generator().manual_seed(values["seed"])
    if kind.masks:
        written = [write_by_filling_in(network, ids, values, how) for ids in idx]
    else:
        where = f"in a {loaded.version}, which writes one character after another"
        shell.warn_unused(ctx, ["confidence_threshold", "block", "hole"], where)
        written = sampling.generate(network, idx, values["tokens"], stop=stop_ids, **how)
    for number, (begin, ids) in enumerate(zip(idx, written, strict=True), start=1):
        text = tokenizer.decode(ids)
        end = text.find(stop, len(begin)) if stop else -1
        if len(written) > 1:
            click.echo(f"--- {number} of {len(written)} ---")
        click.echo(text if end < 0 else text[: end + len(stop)])


def write_by_filling_in(
    network: LanguageModel, ids: Tensor, values: Mapping[str, Any], how: Mapping[str, Any]
) -> Tensor:
    """Return a text (T,) with its holes filled in, or continued if it has none."""
    from babygpt import sampling
    from babygpt.objectives.diffusion import mask_token_id

    order = sampling.by_confidence(values["confidence_threshold"])
    if bool((ids == mask_token_id(network)).any()):
        return sampling.fill_in(network, ids[None], order, **how).tokens[0]
    block, n_tokens = values["block"], values["tokens"]
    return sampling.continue_text(network, ids[None], n_tokens, order, block=block, **how).tokens[0]


def encode_stop(tokenizer: CharTokenizer, stop: str) -> Tensor:
    """Return the token ids at which a text ends: (S,). Raise BadInput for an unknown character."""
    from babygpt.data.corpus import with_line_ends

    if "\\" in stop and "\\" not in tokenizer.ids:
        hint = "for a line end write --stop $'\\n' in a POSIX shell, or --stop \"`n\" in PowerShell"
        raise BadInput(f"--stop ({stop}) holds a backslash, which the model does not know: {hint}")
    return tokenizer.encode(with_line_ends(stop))


def first_tokens(tokenizer: CharTokenizer, prompt: str | None, hole: str) -> Tensor:
    """Return the token ids of a prompt, of a line end if there is none: (T,).

    hole  a character that stands for MASK in a prompt; "" for none
    Raises BadInput for an unknown character, without a prompt for a vocabulary without a line end, and for a
    hole that could be text.
    """
    from babygpt.data.corpus import with_line_ends
    from babygpt.data.tokenizer import in_short

    if prompt is None and "\n" not in tokenizer.ids:
        vocabulary = in_short(tokenizer.characters)
        raise BadInput(f"the model knows no line end to begin with: give a --prompt of {vocabulary}")
    text = "\n" if prompt is None else with_line_ends(prompt)
    if not hole or hole not in text:
        return tokenizer.encode(text)
    if len(hole) > 1 or hole in tokenizer.ids:
        raise BadInput(f"--hole ({hole}) must be one character that the model does not know")
    import torch

    ids = tokenizer.encode(text.replace(hole, tokenizer.characters[0]))
    holes = torch.tensor([character == hole for character in text])
    return ids.masked_fill(holes, tokenizer.vocab_size - 1)  # MASK is the last token
