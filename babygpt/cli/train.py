"""The command `train`, for one text at a time and for several in one sequence.

PyTorch is imported when a command runs, so that `--help` need not wait for it.
"""

from __future__ import annotations

import math
import re
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from babygpt.cli import options as shell
from babygpt.cli.encoding_options import (
    OPTIONS,
    build_options,
    built_with,
    chosen_options,
    encoding_flags,
    is_own,
    version_of,
    versions,
)
from babygpt.config import SAVE_EVERY, ModelConfig, TrainConfig
from babygpt.errors import BadInput, suggestion

if TYPE_CHECKING:
    from babygpt.data.corpus import Corpus
    from babygpt.encodings import Encoding
    from babygpt.training.checkpoint import Checkpoint
    from babygpt.training.distributed import Team
    from babygpt.training.saved_run import SavedRun

BRANCH_TEXTS = 256  # fewest texts that the interference gap is measured on; every sequence is full
# Only the objective of several texts in one sequence has these flags.
BRANCH_FLAGS = ("branches", "length", "by_samples")


class TrainCommand(click.Command):
    """Command that also takes every option that the signature of some version's encoding declares.

    Signatures are read when something besides --help was typed, because that imports PyTorch. With a version,
    --help shows the options of its encoding.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if set(args) - set(ctx.help_option_names):
            words = {*args, *(word for arg in args for word in re.split("[,=]", arg))}
            ctx.meta[OPTIONS] = encoding_flags(words, [option.name or "" for option in self.params])
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*ctx.meta.get(OPTIONS, {}).values(), *super().get_params(ctx)]


def known_version(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Return the name of a version, or a file and a class. Raise click's error for any other, with a hint."""
    if is_own(value):
        version_of(value)
        return value
    titles = [kind.title for kind in versions().values()]
    if value not in versions() and (hint := suggestion(value, versions(), titles)):
        raise click.BadParameter(f"{value!r} is not one of the versions{hint}", ctx, param)
    return str(click.Choice(list(versions())).convert(value, param, ctx))


def list_versions(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Print the name and title of every version, if that was asked for, and end the command."""
    if value:
        from babygpt.models.own_encodings import installed_encodings

        titles = {name: kind.title for name, kind in versions().items()} | installed_encodings()
        width = max(map(len, titles))
        click.echo("\n".join(f"{name:{width}}  {title}" for name, title in titles.items()))
        ctx.exit()


def version_argument(command: shell.Command) -> shell.Command:
    """Give a command the argument VERSION, and the flag that lists what it may be."""
    listing = click.option(
        "--versions",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=list_versions,
        help="list what VERSION may be",
    )
    return click.argument("version", callback=known_version)(listing(command))


def branch_counts(ctx: click.Context, param: click.Parameter, value: str) -> list[int]:
    """Return the fewest and the most texts of a sample from "2" or "2,4". Raise BadInput for other text."""
    counts = shell.list_of(int)(ctx, param, value)
    if len(counts) not in (1, 2):
        raise BadInput(
            f"--branches ({value}) must be one number of texts, or the fewest and the most, as in 2,4"
        )
    return [counts[0], counts[-1]]


@click.command(cls=TrainCommand)
@version_argument
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
@shell.encoding_option
@shell.save_every_option
@click.option("--bound", is_flag=True, help="v7: train on the bound, in which masked tokens weigh 1/t")
@click.option("--compile", "compiled", is_flag=True, help="let torch.compile make one kernel of many")
@shell.options_from(ModelConfig)
@shell.options_from(TrainConfig)
@build_options
@shell.shown(
    "--branches",
    default="1,8",
    callback=branch_counts,
    help="v6: texts in a sample, or the fewest and the most",
)
@click.option("--length", type=int, help="v6: tokens of a text  [default: three quarters of the window]")
@click.option("--by-samples", is_flag=True, help="v6: let --batch-size count samples, and not texts")
@click.pass_context
def train(ctx: click.Context, version: str, out: Path | None, **values: Any) -> None:
    """Train VERSION on a corpus and write a checkpoint. Ctrl-C stops early and keeps what was learned.

    VERSION is v1 to v7, or one beside them: `train --versions` lists all, and `train v5 --help` shows the
    options of v5's encoding, too. It may also be an encoding of your own, as a file and the class in it:
    `train mine.py:Sandwich`.

    v7 and those beside it learn to fill in masked characters, all others to predict the next one. The two
    losses cannot be compared. The NELBO of v7 can, with care: it is an upper bound on minus the
    log-probability of a text.

    The versions of parallel branches, v6 and those beside it, read several texts in one sequence. Options of
    an encoding are stored with the model; a flag that VERSION's encoding does not have is refused.

    A run that was stopped or killed goes on from its last checkpoint when the same command is given with
    --resume. With --from, a new run begins with another's weights, on any text with the same characters;
    with --learnable, a table or kernel that was fixed is trained from then on.
    `torchrun --nproc-per-node N -m babygpt train ...` shares every batch among N processes.
    """
    from babygpt.training.distributed import distributed

    kind = version_of(version)
    out = out or Path("weights") / f"{kind.own.__name__ if kind.own else version}.safetensors"
    with distributed() as team:
        if values["resume"] and values["overwrite"]:
            raise BadInput("--resume continues the file that --overwrite would replace: choose one of them")
        if team.world_size > 1 and values["corpus"] == "-":  # the first reader leaves the others nothing
            raise BadInput("--corpus - (standard input) is read by one process; torchrun needs a file's path")
        if team.is_main:
            unused = ([] if kind.masks else ["bound"]) + ([] if kind.branches else list(BRANCH_FLAGS))
            unused += [] if values["resume"] or values["from"] else ["encoding"]
            shell.warn_unused(ctx, unused, f"in training {version}")
        may_replace = values["overwrite"] or values["resume"]
        lock = shell.output_lock(out, "--out", may_replace, "--overwrite or --resume")
        with lock if team.is_main else nullcontext():
            run, corpus = start(ctx, version, out, values, team)
            run.train(values["save_every"])
            if team.is_main:
                losses = run.complete(lambda: measure(run, corpus))
                floor = f", floor {corpus.floor:.3f}" if corpus.floor else ""
                kept = (
                    "" if run.kept_step == run.training.step else f" with the weights of step {run.kept_step}"
                )
                click.echo(f"{run.training.step} steps, {describe_losses(losses)}{floor}; wrote {out}{kept}")


def start(
    ctx: click.Context, version: str, out: Path, values: dict[str, Any], team: Team
) -> tuple[SavedRun, Corpus]:
    """Return a run that is ready to train, from its beginning or from its checkpoint, and its corpus.

    Raises BadInput for the corpus, and if `out` holds no run or another one than the flags describe.
    """
    import torch

    from babygpt.data.corpus import load_corpus
    from babygpt.device import compile_in_place, pick_device
    from babygpt.models.inputs import require_branch_codes
    from babygpt.models.versions import build
    from babygpt.objectives import objective_for
    from babygpt.training.saved_run import SavedRun, go_on, load_unfinished, require_same_text

    kind, options, saved, first = version_of(version), chosen_options(ctx, version), None, None
    encodings = own_encodings(version, values)
    if values["keep"] == "best" and not values["eval_every"]:
        values["eval_every"] = SAVE_EVERY
    if values["resume"] or values["from"]:  # a checkpoint knows an encoding by its file's name alone
        values["layers"] = [version_of(layer).name for layer in values["layers"]]
    if values["resume"]:
        with shell.remarks_in_one_line():
            saved, began = load_unfinished(out, kind.name, encoding=encodings)
        options = saved.options
        began |= {name: saved.info[name] for name in BRANCH_FLAGS if name in saved.info}
        shell.adopt(ctx, values, began | built_with(ctx, version, options), out)  # flags that were not given
    elif values["from"]:
        first = load_first(ctx, version, values, encodings)
        options = first.options
    corpus = load_corpus(values["corpus"], with_mask=kind.masks)
    if saved:
        require_same_text(out, saved, corpus)
    if first:
        corpus = corpus.encoded_by(first.tokenizer)
    config = ModelConfig(corpus.tokenizer.vocab_size, **shell.fields_of(ModelConfig, values))
    plan = TrainConfig(**shell.fields_of(TrainConfig, values))
    objective = objective_for(
        version,
        corpus,
        config.block_size,
        bound=values["bound"],
        n_branches=tuple(values["branches"]),
        length=values["length"],
        by_samples=values["by_samples"],
    )
    torch.manual_seed(plan.seed)
    model = (first.model if first else build(version, config, **options)).to(pick_device())
    if kind.branches:
        require_branch_codes(model, values["branches"][1])
    if values["compiled"]:
        compile_in_place(model)
    training = team.training(model, objective, plan)
    info = {"corpus": values["corpus"], "text": corpus.fingerprint(), "train": asdict(plan)}
    info |= {"keep": values["keep"]}
    info |= {"bound": values["bound"]} if kind.masks else {}
    info |= {name: values[name] for name in BRANCH_FLAGS} if kind.branches else {}
    run = SavedRun(out, training, corpus.tokenizer, info, team)
    if saved:
        go_on(run, saved)
    return run, corpus


def own_encodings(version: str, values: dict[str, Any]) -> list[type[Encoding]]:
    """Return the classes from outside that VERSION, --layers and --encoding name."""
    rows = [version_of(name) for name in (version, *values["layers"], *values["encoding"]) if is_own(name)]
    return list(dict.fromkeys(row.own for row in rows if row.own))


def load_first(
    ctx: click.Context, version: str, values: dict[str, Any], encodings: list[type[Encoding]]
) -> Checkpoint:
    """Return the checkpoint that --from names, and take its shape for flags that were not given.

    A fixed table or kernel may be trained from now on: --learnable makes a model that begins with the same
    outputs.
    encodings  from outside, which the checkpoint may need
    Raises BadInput if it is of another version, or if a flag that was given differs.
    """
    from babygpt.training.checkpoint import load

    path = values["from"]
    with shell.remarks_in_one_line():
        first = load(path, encodings)
    if first.version != version_of(version).name:
        raise BadInput(f"--from ({path}) is a {first.version}, not a {version}")
    built = built_with(ctx, version, first.options)
    if shell.typed_parameters(ctx, ["learnable"]) and values["learnable"] and built["learnable"] is False:
        first = make_learnable(first)
        built["learnable"] = True
    shell.adopt(ctx, values, asdict(first.model.config) | built, path)
    return first


def make_learnable(first: Checkpoint) -> Checkpoint:
    """Return a checkpoint whose encoding is trained from now on, with a model of the same outputs.

    Raises BadInput if no such model has the same outputs, because numbers of the encoding were steered.
    """
    import torch

    from babygpt.models.versions import build
    from babygpt.training.lost_changes import nearly_equal, outputs

    options = first.options | {"learnable": True}
    assert first.model.version
    model = build(first.model.version, first.model.config, **options)
    # What is learnable from now on keeps the values that its options give it.
    model.load_state_dict(model.state_dict() | first.model.state_dict())
    with torch.no_grad():
        same = all(map(nearly_equal, outputs(model), outputs(first.model)))
    if not same:
        raise BadInput("--learnable: the checkpoint's encoding has other numbers than its options say")
    return replace(first, model=model)


def measure(run: SavedRun, corpus: Corpus) -> dict[str, float | None]:
    """Return the validation loss of a trained model in nats per character, and what else its kind has.

    A model that fills in masked tokens has a NELBO. One of branches is measured on the fewest full sequences
    that hold BRANCH_TEXTS texts, with as many texts in each as a sample holds at most, and on the same texts
    "alone".
    """
    from babygpt.metrics.denoising import nelbo
    from babygpt.metrics.parallel_texts import parallel_loss
    from babygpt.models.transformer import Transformer
    from babygpt.objectives import Branches, MaskedDiffusion

    objective, model = run.training.objective, run.training.model
    if isinstance(objective, Branches):
        assert isinstance(model, Transformer)
        n = objective.n_branches[1]
        n_texts = n * math.ceil(BRANCH_TEXTS / n)
        alone, beside = (parallel_loss(model, objective.val, k, objective.length, n_texts) for k in (1, n))
        return {"val_loss": beside, "alone": alone, "interference_gap": beside - alone}
    stored = [loss for step, loss in run.curve if step == run.kept_step]
    val_loss = stored[0] if stored else objective.validate(model)
    if not isinstance(objective, MaskedDiffusion):
        return {"val_loss": val_loss}
    bound, error = nelbo(model, corpus.val)
    return {"val_loss": val_loss, "nelbo": bound, "nelbo_se": error if math.isfinite(error) else None}


def describe_losses(losses: dict[str, float | None]) -> str:
    """Describe the validation losses in words, each by its name."""
    if "alone" in losses:
        return (
            f"validation loss in branches {losses['val_loss']:.3f} nats per character, "
            f"of the same texts alone {losses['alone']:.3f}, "
            f"interference gap {losses['interference_gap']:.3f}"
        )
    if "nelbo" not in losses:
        return f"validation loss {losses['val_loss']:.3f} nats per character"
    error = "" if losses["nelbo_se"] is None else f" ± {losses['nelbo_se']:.3f} (standard error)"
    return (
        f"validation loss of masked characters {losses['val_loss']:.3f} nats (no bound on anything), "
        f"NELBO {losses['nelbo']:.3f}{error} nats per character"
    )
