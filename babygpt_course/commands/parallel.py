"""`pretrain` and `parallel-generate`: several texts in one sequence, with the flags of note 002."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import torch

from babygpt.cli.options import (
    PATH,
    adopt,
    corpus_option,
    fields_of,
    flag_of,
    options_from,
    output_lock,
    sampling_options,
    save_every_option,
    typed,
    warn_unused,
)
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus, with_line_ends
from babygpt.data.tokenizer import CharTokenizer
from babygpt.device import pick_device
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS
from babygpt.sampling import generate_parallel
from babygpt.training import Training
from babygpt.training import checkpoint as checkpoints
from babygpt.training.checkpoint import Checkpoint
from babygpt.training.saved_run import SavedRun, go_on, load_unfinished, require_same_text
from babygpt_course.notes import curriculum
from babygpt_course.notes.curriculum import CODE_FLAGS, CodeConfig, EpochConfig, Stage

NOTE_NAME = re.compile(r"pretrain_\d+\.pth")  # note 002's name for a checkpoint


def split_learning_rate(ctx: click.Context, rate: float | None) -> dict[str, float]:
    """Turn the note's one learning rate into two: AdamW's as given, Muon's in proportion.

    returns  the settings, which are also printed; none if no rate was given
    Raises BadInput if one of the two rates was given too.
    """
    if rate is None:
        return {}
    if both := typed(ctx, ("lr_matrix", "lr_other")):
        raise BadInput(f"--learning-rate ({rate}) sets both: leave out {' and '.join(map(flag_of, both))}")
    share = rate / TrainConfig.lr_other
    muon = share * TrainConfig.lr_matrix
    click.echo(f"rates: AdamW at {rate:g}, Muon at {muon:g}, both {share:g} times their defaults", err=True)
    return {"lr_other": rate, "lr_matrix": muon}


@click.command()
@click.option(
    "--pe",
    type=click.Choice([*curriculum.VERSION_BY_PE, "rope"]),
    default="rope",
    show_default=True,
    callback=lambda ctx, param, value: "rope2d" if value == "rope" else value,  # rope is note 002's name
    help="what tells branches apart: a Fourier code, 2-D RoPE (rope or rope2d), learned vectors, or nothing",
)
@options_from(EpochConfig)
@options_from(CodeConfig)
@click.option("--init-weight", type=PATH, help="begin with this checkpoint's weights")
@click.option("--out-dir", type=PATH, help="new folder  [default: weights/pretrain-PE]")
@corpus_option
@click.option("--chars", default=100_000, show_default=True, help="tales only: characters to train on")
@options_from(ModelConfig, block_size=64)
@options_from(TrainConfig, skip=["steps", "batch_size"])
@click.option(
    "--learning-rate",
    type=float,
    help="the note's one rate: --lr-other, and --lr-matrix in the proportion of their defaults",
)
@click.option("--resume", is_flag=True, help="go on with the run in --out-dir, with the flags it began with")
@save_every_option
@click.pass_context
def pretrain(ctx: click.Context, out_dir: Path | None, resume: bool, save_every: int, **flags: Any) -> None:
    """Train a model of parallel branches, in stages, as note 002 does.

    A text is a window of the corpus's training part; windows lie side by side. A sample weaves some texts
    into one sequence: its branches. An epoch reads every text once.

    The checkpoint goes to OUT_DIR/pretrain.safetensors. --init-weight takes such a file, its folder, or the
    note's name for it, OUT_DIR/pretrain_512.pth. Every flag may be spelt with _ for -. Ctrl-C stops early
    and keeps what was learned; the same command with --resume goes on.

    The note's stages, each beginning with the weights of the one before. With the defaults, each takes about
    a minute of one core. A stage with --fpe-learnable may follow one without: its table begins as the code
    that the weights know.

    \b
    python -m babygpt pretrain --pe fpe --epochs 2 --branches-per-sample 1 \\
      --branch-slice-count 8 --branch-loop-all --out-dir weights/stage1
    python -m babygpt pretrain --pe fpe --epochs 3 --batch-by-samples \\
      --branches-per-sample 2 --init-weight weights/stage1 --out-dir weights/stage2
    python -m babygpt pretrain --pe fpe --epochs 3 --batch-by-samples \\
      --min-branches-per-sample 2 --max-branches-per-sample 4 \\
      --init-weight weights/stage2 --out-dir weights/stage3
    """
    folder = out_dir or Path("weights") / f"pretrain-{flags['pe']}"
    path = folder / curriculum.CHECKPOINT_NAME
    with output_lock(path, "--out-dir", overwrite=True):
        held = [file.name for file in folder.iterdir() if not file.name.startswith(".")]
        if held and not resume:
            raise BadInput(f"{folder} holds {held[0]} already; choose another --out-dir, or say --resume")
        saved = resume_flags(ctx, path, flags) if resume else None
        stage = prepare(ctx, flags)
        as_json = {name: str(value) if isinstance(value, Path) else value for name, value in flags.items()}
        about = {"train": asdict(stage.plan), "text": stage.corpus.fingerprint()}
        about |= {"corpus": flags["corpus"], "flags": as_json}
        training = Training(stage.model, stage.objective, stage.plan)
        run = SavedRun(path, training, stage.corpus.tokenizer, about)
        if saved:
            require_same_text(path, saved, stage.corpus)
            go_on(run, saved)
        elif flags["init_weight"]:
            curriculum.load_weights(stage, locate(flags["init_weight"]))
        run.train(save_every)
        print_stage(stage, run.training.step, run.complete(stage.measure))
        click.echo(f"wrote {path}")


def prepare(ctx: click.Context, flags: dict[str, Any]) -> Stage:
    """Build the stage that the flags describe; warn of flags that have no effect."""
    pe = flags["pe"]
    others = {flag for own in CODE_FLAGS.values() for flag in own.values()} - {*CODE_FLAGS[pe].values()}
    warn_unused(ctx, sorted(others), f"with --pe {pe}")
    text = load_corpus(flags["corpus"], flags["chars"])
    config = ModelConfig(text.tokenizer.vocab_size, **fields_of(ModelConfig, flags))
    code, epochs = CodeConfig(**fields_of(CodeConfig, flags)), EpochConfig(**fields_of(EpochConfig, flags))
    settings = fields_of(TrainConfig, {**flags, **split_learning_rate(ctx, flags["learning_rate"])})
    del settings["batch_size"]  # of texts or samples: it is in `epochs`
    return curriculum.prepare_stage(text, pe, config, code, epochs, **settings)


def resume_flags(ctx: click.Context, path: Path, flags: dict[str, Any]) -> Checkpoint:
    """Load the run in `path`, and replace flags that were not given by the run's, all but the corpus.

    Raises BadInput if a given flag differs from the run's, or if the run cannot continue.
    """
    saved, numbers = load_unfinished(path, *curriculum.VERSION_BY_PE.values())
    try:
        stored = {name: str(value) for name, value in saved.info["flags"].items() if value is not None}
        began = ctx.command.make_context("pretrain", [], default_map=stored).params  # checks every value
    except (KeyError, AttributeError, click.BadParameter) as error:
        raise BadInput(f"{path} does not say how it was trained: {error}") from None
    adopt(ctx, flags, {**began, **numbers, "corpus": flags["corpus"]}, path)
    return saved


def locate(path: Path) -> Path:
    """Return the checkpoint that a path stands for, and print which file it is, if it is another one.

    path     a checkpoint; a folder that `pretrain` made; note 002's name for the checkpoint in it,
             FOLDER/pretrain_NUMBER.pth; or note 000's NAME.pt for NAME.safetensors
    Raises BadInput if there is no such checkpoint.
    """
    found = path / curriculum.CHECKPOINT_NAME if path.is_dir() else path
    if not path.exists():
        found = path.with_suffix(".safetensors") if path.suffix == ".pt" else path
        found = path.with_name(curriculum.CHECKPOINT_NAME) if NOTE_NAME.fullmatch(path.name) else found
    if not found.is_file():
        raise BadInput(f"no checkpoint at {path}" + (f", and no {found}" if found != path else ""))
    if found != path:
        click.echo(f"{path}: reading {found}", err=True)
    return found


def print_stage(stage: Stage, steps: int, losses: dict[str, float]) -> None:
    """Print what was trained, and how much the loss rises with other texts in the sequence."""
    (low, high), floor = stage.objective.n_branches, stage.corpus.floor
    many = f"{low} to {high} branches" if low < high else f"{low} branch{'es' * (low > 1)}"
    click.echo(f"{stage.version}: {steps} steps, {stage.objective.epochs_read:.2f} epochs, {many} a sample")
    known = f" (floor {floor:.3f})" if floor else ""
    click.echo(f"validation loss alone {losses['alone']:.3f} nats per character{known}")
    if high > 1:
        click.echo(f"with {high} branches {losses['beside']:.3f}, interference gap {losses['gap']:.3f}")


@click.command()
@click.option(
    "--model",
    required=True,
    type=PATH,
    help="a checkpoint of `pretrain`, or its folder, or the note's name for it (FOLDER/pretrain_512.pth)",
)
@click.option("--branches", default=2, show_default=True, help="texts to write at once")
@click.option("--prompt", multiple=True, help="how a branch begins, once for each  [default: a line end]")
@sampling_options
@click.option("--mode", type=click.Choice(["pretrain"]), help="the note's flag; there is this mode only")
def parallel_generate(
    model: Path, branches: int, prompt: tuple[str, ...], tokens: int, **values: Any
) -> None:
    """Write several texts at once, one character of each in every forward pass."""
    path = locate(model)
    loaded = checkpoints.load(path)
    if not VERSIONS[loaded.version].branches:
        raise BadInput(f"{path} is a {loaded.version}, which writes one text: use `generate {path}`")
    curriculum.require_codes(loaded.model, branches)
    prompts = encode_prompts(loaded.tokenizer, prompt, branches)
    how = {name: values[name] for name in ("temperature", "top_k", "top_p")}
    how["generator"] = torch.Generator().manual_seed(values["seed"])
    texts = generate_parallel(loaded.model.to(pick_device()), prompts, tokens, **how)
    for b, text in enumerate(texts):
        click.echo(f"--- branch {b} ---\n{loaded.tokenizer.decode(text)}")


def encode_prompts(tokenizer: CharTokenizer, prompts: tuple[str, ...], n: int) -> list[torch.Tensor]:
    """Return the token ids of n prompts; the missing ones are a line end."""
    if len(prompts) > n:
        raise BadInput(f"{len(prompts)} prompts are more than {n} branches")
    if len(prompts) < n and "\n" not in tokenizer.ids:
        raise BadInput(f"{len(prompts)} prompts for {n} branches, and the model's vocabulary has no line end")
    return [tokenizer.encode(with_line_ends(text)) for text in (*prompts, *["\n"] * (n - len(prompts)))]
