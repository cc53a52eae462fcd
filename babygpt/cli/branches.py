"""`pretrain` and `parallel-generate`: several texts at once, by the flags of note 002."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import torch

from babygpt.cli.base import corpus_option, flags, require_folder, take, tell_idle
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.data.tokenizer import CharTokenizer
from babygpt.device import pick_device
from babygpt.errors import BadInput
from babygpt.experiments import pretrain as stages
from babygpt.experiments.pretrain import CodeConfig, Stage
from babygpt.experiments.reading import ReadConfig
from babygpt.models.versions import VERSIONS
from babygpt.sampling import generate_parallel
from babygpt.training import checkpoint as checkpoints

NOTES_CODE = {"rope": "rope2d"}  # the note's word for it


def two_rates(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Refuse the note's one learning rate: Muon and AdamW have one each, of different sizes."""
    if value is not None:
        raise BadInput(
            f"--learning-rate ({value}): there are two, use --lr-matrix (Muon, {TrainConfig.lr_matrix:g} "
            f"unless told) and --lr-other (AdamW, {TrainConfig.lr_other:g})"
        )


@click.command()
@click.option(
    "--pe",
    type=click.Choice([*stages.VERSION_OF, *NOTES_CODE]),
    default="fpe",
    show_default=True,
    help="what tells branches apart: a Fourier code, 2-D RoPE (also `rope`), learned vectors, or nothing",
)
@flags(ReadConfig)
@flags(CodeConfig)
@click.option("--init-weight", type=click.Path(path_type=Path), help="begin with this checkpoint's weights")
@click.option(
    "--other-code", is_flag=True, help="allow its fixed code another stride, theta, size, isolation"
)
@click.option("--out-dir", type=click.Path(path_type=Path), help="new folder  [default: weights/pretrain-PE]")
@corpus_option
@click.option("--chars", default=100_000, show_default=True, help="tales only: characters to train on")
@flags(ModelConfig, block_size=64)
@flags(TrainConfig, skip=["steps", "batch_size"])
@click.option("--learning-rate", hidden=True, expose_value=False, callback=two_rates)
@click.pass_context
def pretrain(
    ctx: click.Context,
    pe: str,
    init_weight: Path | None,
    other_code: bool,
    out_dir: Path | None,
    corpus: str,
    chars: int,
    **values: Any,
) -> None:
    """Train a model of parallel branches, in stages, as note 002 does.

    A text is a window of the corpus's training part; windows lie side by side. A sample weaves some texts
    into one sequence: its branches. An epoch reads every text once.

    The checkpoint goes to OUT_DIR/pretrain.safetensors. --init-weight takes such a file, its folder, or the
    note's name for it, OUT_DIR/pretrain_512.pth. Every flag may be spelt with _ for -. Ctrl-C stops early
    and keeps what was learned.

    The note's stages, each beginning with the weights of the one before. With the defaults, each takes about
    a minute of one core.

    \b
    python -m babygpt pretrain --epochs 2 --branches-per-sample 1 \\
      --branch-slice-count 8 --branch-loop-all --out-dir weights/stage1
    python -m babygpt pretrain --epochs 3 --batch-by-samples \\
      --branches-per-sample 2 --init-weight weights/stage1 --out-dir weights/stage2
    python -m babygpt pretrain --epochs 3 --batch-by-samples \\
      --min-branches-per-sample 2 --max-branches-per-sample 4 \\
      --init-weight weights/stage2 --out-dir weights/stage3
    """
    pe = NOTES_CODE.get(pe, pe)
    out_dir = out_dir or Path("weights") / f"pretrain-{pe}"
    require_free(out_dir)
    source = None if init_weight is None else locate(init_weight)
    tell_idle_flags(ctx, pe)
    text = load_corpus(corpus, chars)
    config = ModelConfig(text.tokenizer.vocab_size, **take(ModelConfig, values))
    code, read = CodeConfig(**take(CodeConfig, values)), ReadConfig(**take(ReadConfig, values))
    settings = {name: v for name, v in take(TrainConfig, values).items() if name != "batch_size"}
    stage = stages.prepare(text, pe, config, code, read, **settings)
    if source:
        stages.begin(stage, source, other_code)
    history = stage.run()
    losses = stage.measure()
    info = {"corpus": corpus, "steps_done": len(history), "init_weight": source and str(source), **losses}
    checkpoints.save(out_dir / stages.NAME, stage.checkpoint(info))
    report(stage, len(history), losses, text.floor)
    click.echo(f"wrote {out_dir / stages.NAME}")


def require_free(folder: Path) -> None:
    """Raise a ValueError unless a folder can be made, or is there and empty."""
    if folder.is_dir() and any(folder.iterdir()):
        raise BadInput(f"{folder} holds something already; choose another --out-dir")
    require_folder(folder, "--out-dir")


def locate(path: Path) -> Path:
    """The checkpoint that a path means; says so where it means another."""
    found = stages.find(path)
    if found != path:
        click.echo(f"{path}: reading {found}", err=True)
    return found


def tell_idle_flags(ctx: click.Context, pe: str) -> None:
    """Say which flags were given that play no part in this code."""
    plays = {
        "fpe": ("fpe_", "branch_stride"),
        "rope2d": ("branch_stride",),
        "learned": ("learned_",),
        "none": (),
    }
    codes = [name for name in ctx.params if name.startswith(("fpe_", "learned_", "branch_stride"))]
    tell_idle(ctx, [name for name in codes if not name.startswith(plays[pe])], f"with --pe {pe}")


def report(stage: Stage, steps: int, losses: dict[str, float], floor: float | None) -> None:
    """Print what was trained, and what company costs."""
    low, high = stage.reading.n_branches
    many = f"{low} to {high} branches" if low < high else f"{low} branch{'es' * (low > 1)}"
    epochs = stage.reading.done / stage.reading.epoch
    click.echo(f"{stage.version}: {steps} steps, {epochs:.2f} epochs, {many} a sample")
    known = f" (floor {floor:.3f})" if floor else ""
    click.echo(f"validation loss alone {losses['alone']:.3f} nats per character{known}")
    if high > 1:
        click.echo(f"with {high} branches {losses['beside']:.3f}, interference gap {losses['gap']:.3f}")


@click.command()
@click.option(
    "--model",
    required=True,
    type=click.Path(path_type=Path),
    help="a checkpoint of `pretrain`, or its folder, or the note's name for it (FOLDER/pretrain_512.pth)",
)
@click.option("--branches", default=2, show_default=True, help="texts to write at once")
@click.option("--prompt", multiple=True, help="how a branch begins, once for each  [default: a line end]")
@click.option("--tokens", default=200, show_default=True, help="characters to write in each branch")
@click.option("--temperature", default=1.0, show_default=True, help="0 always takes the likeliest character")
@click.option("--top-k", type=int, help="draw among the k likeliest characters only")
@click.option("--seed", default=1337, show_default=True, help="seed of the draws")
@click.option("--mode", type=click.Choice(["pretrain"]), help="the note's flag; there is this mode only")
def parallel_generate(
    model: Path,
    branches: int,
    prompt: tuple[str, ...],
    tokens: int,
    temperature: float,
    top_k: int | None,
    seed: int,
    mode: str | None,
) -> None:
    """Write several texts at once, one character of each in every forward pass."""
    path = locate(model)
    loaded = checkpoints.load(path)
    if not VERSIONS[loaded.version].branches:
        raise BadInput(f"{path} is a {loaded.version}, which writes one text: use `generate {path}`")
    stages.require_codes(loaded.model, branches)
    begun = beginnings(loaded.tokenizer, prompt, branches)
    draw = torch.Generator().manual_seed(seed)
    texts = generate_parallel(loaded.model.to(pick_device()), begun, tokens, temperature, top_k, draw)
    for b, text in enumerate(texts):
        click.echo(f"--- branch {b} ---\n{loaded.tokenizer.decode(text)}")


def beginnings(tokenizer: CharTokenizer, prompts: tuple[str, ...], n: int) -> list[torch.Tensor]:
    """The token ids that each of n branches begins with: its prompt, or a line end."""
    if len(prompts) > n:
        raise BadInput(f"{len(prompts)} prompts are more than {n} branches")
    if len(prompts) < n and "\n" not in tokenizer.ids:
        raise BadInput(
            f"{len(prompts)} prompts for {n} branches, and the model knows no line end to begin with"
        )
    return [tokenizer.encode(text) for text in (*prompts, *["\n"] * (n - len(prompts)))]
