"""`compare encodings` and `compare generation`: by the flags of note 000."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path, PurePath
from typing import Any

import click
from click.core import ParameterSource

from babygpt.cli.base import corpus_option, flags, require_folder, take
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.experiments import compared, generations
from babygpt.experiments.compare import CompareConfig, Comparison, short, variant
from babygpt.experiments.compare import compare as run_all
from babygpt.experiments.generations import GenerationConfig
from babygpt.experiments.judge import STEPS, find_judge
from babygpt.experiments.pretrain import require_characters
from babygpt.training.checkpoint import Checkpoint, write_atomically

JUDGE = Path("weights") / "judge.safetensors"
Callback = Callable[[click.Context, click.Parameter, str], list[Any]]


def listed(kind: type[int] | type[float] | type[str]) -> Callback:
    """A callback that reads values with commas between them; a ValueError names one that is no number."""

    def read(ctx: click.Context, param: click.Parameter, value: str) -> list[Any]:
        found = []
        for part in (part.strip() for part in value.split(",")):
            try:
                found += [kind(part)] if part else []
            except ValueError:
                what = "whole numbers" if kind is int else "numbers"
                raise BadInput(
                    f"--{param.human_readable_name.replace('_', '-')} ({value}): {part!r} is not "
                    f"one of {what} with commas between them"
                ) from None
        return found

    return read


@click.group()
def compare() -> None:
    """Compare models of masked diffusion: their losses over seeds, or what they write."""


@compare.command()
@click.option(
    "--seeds", default="1337,2027,9001", show_default=True, callback=listed(int), help="with commas between"
)
@click.option(
    "--variants",
    default="rope,polar",
    show_default=True,
    callback=listed(str),
    help="versions that fill in masked tokens, by name: rope or v7-rope, v7, ...",
)
@flags(CompareConfig)
@click.option(
    "--out-dir", default=".", show_default=True, type=click.Path(path_type=Path), help="where everything goes"
)
@corpus_option
@flags(ModelConfig, block_size=64)
@flags(TrainConfig, skip=["steps", "eval_every", "seed"], batch_size=16)
def encodings(seeds: list[int], variants: list[str], out_dir: Path, corpus: str, **values: Any) -> None:
    """Train variants of v7 from several seeds, and compare them.

    All variants of a seed see the same batches with the same masks. Writes ablation_results.json, the
    pictures val_loss_curve.png and summary_bars.png in ablation_plots/, and the weights of every run in
    weights/ablation/.

    A run is stored as soon as it is over. The same command again, after Ctrl-C or worse, goes on where it
    stopped: finished runs are left as they are, others begin anew. More seeds and variants can be added that
    way; for anything else, choose another --out-dir.

    The note's command, whose flags are the defaults, makes 18 000 steps: about 40 minutes of one core, which
    made 8 or 9 steps a second.
    """
    for folder in (out_dir, out_dir / "ablation_plots", out_dir / "weights" / "ablation"):
        require_folder(folder, "--out-dir")  # now, and not after the first run
    names = [variant(name) for name in variants]
    text = load_corpus(corpus, with_mask=True)
    comparison = Comparison(
        text,
        ModelConfig(text.tokenizer.vocab_size, **take(ModelConfig, values)),
        TrainConfig(**take(TrainConfig, values)),
        CompareConfig(**take(CompareConfig, values)),
        out_dir,
    )
    try:
        results = run_all(comparison, names, seeds, click.echo, said("encodings"))
    except KeyboardInterrupt:
        raise click.ClickException(
            "interrupted, and this run is not kept; the same command goes on from the finished ones "
            f"in {comparison.results}"
        ) from None
    for line in compared.lines(results):
        click.echo(line)
    for path in (comparison.results, *compared.draw(results, out_dir / "ablation_plots")):
        click.echo(f"wrote {path}")


def said(name: str) -> str:
    """The command with all flags that were given, as it could be typed again."""
    ctx = click.get_current_context()
    words = ["python -m babygpt compare", name]
    for key, value in ctx.params.items():
        if ctx.get_parameter_source(key) is ParameterSource.COMMANDLINE:
            flag = f"--{key.replace('_', '-')}"
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            words.append(flag if value is True else f"{flag} {text}")
    return " ".join(words)


# ---------------------------------------------------------------- generations


@compare.command()
@click.option("--rope-weights", required=True, type=click.Path(path_type=Path), help="a checkpoint of a v7")
@click.option("--polar-weights", required=True, type=click.Path(path_type=Path), help="another one")
@flags(GenerationConfig)
@click.option(
    "--output", required=True, type=click.Path(path_type=Path), help="where the results go, as JSON"
)
@click.option("--overwrite", is_flag=True, help="replace an output that is there already")
@click.option("--corpus", help="where the prompts come from  [default: what the models were trained on]")
@click.option(
    "--judge",
    type=click.Path(path_type=Path),
    help=f"a v4 that tells how likely a text is  [default: {JUDGE}, trained if it is not there]",
)
@click.option("--judge-steps", default=STEPS, show_default=True, help="steps of a judge that is trained here")
@click.option("--alpha-grid", default="", callback=listed(float), help="also with these alphas, as 0,0.3,1")
@click.option("--threshold-grid", default="", callback=listed(float), help="also with these thresholds")
def generation(
    rope_weights: Path,
    polar_weights: Path,
    output: Path,
    overwrite: bool,
    corpus: str | None,
    judge: Path | None,
    judge_steps: int,
    alpha_grid: list[float],
    threshold_grid: list[float],
    **values: Any,
) -> None:
    """Let two models of masked diffusion continue the same prompts, and measure what they wrote.

    Prompts are windows of the validation text; their true continuations are measured too, as a yardstick.
    distinct, repeat_3gram and entropy (nats) are taken over characters, and over words if the corpus has
    spaces. judge_nll is how unlikely a v4 finds the text, judge_entropy how unsure it is as it reads, both
    in nats per character: a text that goes in circles is low in both, and its own entropy is low too.

    The note's command takes one core up to 20 seconds for each model, and the judge 2 minutes, once.
    """
    require_new(output, overwrite)
    if judge is None and not JUDGE.exists():
        require_folder(JUDGE.parent, "folder to work in, or say --judge")
    config = GenerationConfig(**take(GenerationConfig, values))
    paths = (rope_weights, polar_weights)
    models = load_models(paths, config)
    require_grids(models, alpha_grid, threshold_grid)
    text = common_corpus(corpus, models, paths)
    generations.windows(text, config)  # refuses a short text before a judge is trained
    try:
        known = find_judge(judge, JUDGE, text, judge_steps)
    except KeyboardInterrupt:
        raise click.ClickException("interrupted: this judge is not kept, and nothing is written") from None
    found = generations.generations(text, models, known.checkpoint.model, config)
    points = generations.grid(text, models, known.checkpoint.model, config, alpha_grid, threshold_grid)
    weights = dict(zip(models, map(str, paths), strict=True))
    about = {"command": said("generation"), "settings": asdict(config), "corpus": text.name}
    results = {**about, "weights": weights, "judge": known.told(), **found, "grid": points}
    report(results)
    write_atomically(output, (json.dumps(results, indent=1, ensure_ascii=False) + "\n").encode())
    click.echo(f"wrote {output}")


def require_new(output: Path, overwrite: bool) -> None:
    """Raise a ValueError unless results can be written there."""
    if output.is_dir():
        raise BadInput(f"{output} is a folder; --output names a file")
    if output.exists() and not overwrite:
        raise BadInput(f"{output} exists already; choose another --output or say --overwrite")
    require_folder(output.parent, "--output")


def load_models(paths: tuple[Path, Path], config: GenerationConfig) -> dict[str, Checkpoint]:
    """The two models, by their variants' names, or by their files' where these are the same."""
    loaded = [generations.load_denoiser(path) for path in paths]
    names = [short(one.version) for one in loaded]
    if names[0] == names[1]:
        names = [path.stem for path in paths]
    if names[0] == names[1]:
        raise BadInput(f"--rope-weights ({paths[0]}) and --polar-weights ({paths[1]}) are both {names[0]}")
    for flag, path, one, kind in zip(("rope", "polar"), paths, loaded, ("v7-rope", "v7-polar"), strict=True):
        if one.version != kind:
            click.echo(
                f"--{flag}-weights: {path} is a {one.version}, and is called {short(one.version)}", err=True
            )
        generations.require_fitting_prompt(one.model, config, path)
    return dict(zip(names, loaded, strict=True))


def common_corpus(name: str | None, models: dict[str, Checkpoint], paths: tuple[Path, Path]) -> Corpus:
    """The corpus of a name, or that which both models were trained on, if they know its characters."""
    said = [str(one.info.get("corpus", "tales")) for one in models.values()]
    if name is None and said[0] != said[1]:
        raise BadInput(
            f"{paths[0]} was trained on {said[0]} and {paths[1]} on {said[1]}: say which --corpus to use"
        )
    if name is None and ".." in PurePath(said[0]).parts:
        raise BadInput(
            f"{paths[0]} names a corpus outside of this folder, {said[0]}: say --corpus if you mean it"
        )
    text = load_corpus(said[0] if name is None else name, with_mask=True)
    for path, one in zip(paths, models.values(), strict=True):
        require_characters(one.tokenizer, text.tokenizer, path)
    return text


def require_grids(models: dict[str, Checkpoint], alphas: list[float], thresholds: list[float]) -> None:
    """Raise a ValueError for an alpha that no model has, or numbers that none can have."""
    if alphas and not any(hasattr(one.model.encoding, "alpha") for one in models.values()):
        raise BadInput(f"--alpha-grid: neither {' nor '.join(models)} has an alpha")
    for flag, values in (("alpha", alphas), ("threshold", thresholds)):
        for value in values:
            if not math.isfinite(value) or (flag == "threshold" and value < 0):
                raise BadInput(f"--{flag}-grid: {value} must be a finite number, and no threshold negative")


def report(results: dict[str, Any]) -> None:
    """Print the judge, the table, and the grid."""
    judge = results["judge"]
    click.echo(f"judge: {judge['path']}, validation loss {judge['val_loss']:.3f} nats per character")
    for line in generations.lines(results):
        click.echo(line)
    for point in results["grid"]:
        alpha = "" if point["alpha"] is None else f", alpha {point['alpha']:g}"
        where = f"{point['model']}{alpha}, threshold {point['confidence_threshold']:g}"
        measures = ("repeat_3gram_chars", "tokens_per_step", "judge_nll", "judge_entropy")
        told = (f"{name} {generations.shown(point['measures'][name])}" for name in measures)
        click.echo(f"{where}: {', '.join(told)}")
