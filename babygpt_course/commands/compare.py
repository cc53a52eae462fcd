"""`compare encodings` and `compare generation`: by the flags of note 000. `stretch` has a file of its own."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from babygpt.cli.base import (
    PATH,
    command_line,
    corpus_option,
    fields_of,
    list_of,
    options_from,
    output_lock,
    refuse_unwritable,
    require_writable_folder,
    save_every_option,
)
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.errors import BadInput
from babygpt.files import write_atomically
from babygpt.screen import echo
from babygpt.tables import format_mean_sd
from babygpt.training.checkpoint import Checkpoint
from babygpt_course.commands.corpora import common_corpus
from babygpt_course.commands.parallel import locate
from babygpt_course.commands.stretch import stretch
from babygpt_course.notes import generations, report
from babygpt_course.notes.ablation import Ablation, AblationConfig, parse_variant, run_ablation, short_name
from babygpt_course.notes.generations import GenerationConfig
from babygpt_course.notes.scorer import STEPS, find_scorer

JUDGE = Path("weights") / "judge.safetensors"


@click.group()
def compare() -> None:
    """Compare how models learn, write, or read on."""


compare.add_command(stretch)


@compare.command()
@click.option(
    "--seeds", default="1337,2027,9001", show_default=True, callback=list_of(int), help="with commas between"
)
@click.option(
    "--variants",
    default="rope,polar",
    show_default=True,
    callback=list_of(str),
    help="versions that fill in masked tokens, by name: rope or v7-rope, v7, ...",
)
@options_from(AblationConfig)
@click.option("--out-dir", default=".", show_default=True, type=PATH, help="where everything goes")
@save_every_option
@corpus_option
@options_from(ModelConfig, block_size=64)
@options_from(TrainConfig, skip=["steps", "eval_every", "seed"], batch_size=16)
def encodings(
    seeds: list[int], variants: list[str], out_dir: Path, corpus: str, save_every: int, **values: Any
) -> None:
    """Train variants of v7 from several seeds, and compare them.

    All variants of a seed see the same batches with the same masks. Writes ablation_results.json, the
    pictures val_loss_curve.png and summary_bars.png in ablation_plots/, and the weights of every run in
    weights/ablation/.

    The same command again, after Ctrl-C or worse, goes on where it stopped: finished runs are left as they
    are, another goes on from its last checkpoint. A second terminal with the same --out-dir shares the work.
    More seeds and variants can be added that way; for anything else, choose another --out-dir.

    The note's command, whose flags are the defaults, makes 18 000 steps: about 40 minutes of one core, which
    made 8 or 9 steps a second.
    """
    for folder in (out_dir, out_dir / "ablation_plots", out_dir / "weights" / "ablation"):
        require_writable_folder(folder, "--out-dir")  # now, and not after the first run
    for name in report.PICTURES:
        refuse_unwritable(out_dir / "ablation_plots" / name, "--out-dir")
    names = [parse_variant(name) for name in variants]
    text = load_corpus(corpus, with_mask=True)
    ablation = Ablation(
        text,
        ModelConfig(text.tokenizer.vocab_size, **fields_of(ModelConfig, values)),
        TrainConfig(**fields_of(TrainConfig, values)),
        AblationConfig(**fields_of(AblationConfig, values)),
        out_dir,
        save_every,
    )
    try:
        results = run_ablation(ablation, names, seeds, echo, command_line())
    except KeyboardInterrupt:
        raise click.ClickException(f"interrupted; the same command goes on in {out_dir}") from None
    for line in report.report_lines(results):
        echo(line)
    for path in (ablation.results_path, *report.draw_report(results, out_dir / "ablation_plots")):
        echo(f"wrote {path}")


# ---------------------------------------------------------------- generations


@compare.command()
@click.option("--rope-weights", required=True, type=PATH, help="a checkpoint of a v7")
@click.option("--polar-weights", required=True, type=PATH, help="another one")
@options_from(GenerationConfig)
@click.option("--output", required=True, type=PATH, help="where the results go, as JSON")
@click.option("--overwrite", is_flag=True, help="replace an output that is there already")
@click.option("--corpus", help="where the prompts come from  [default: what the models were trained on]")
@click.option(
    "--judge",
    type=PATH,
    help=f"a v4 that tells how likely a text is  [default: {JUDGE}, trained if it is not there]",
)
@click.option("--judge-steps", default=STEPS, show_default=True, help="steps of a judge that is trained here")
@click.option("--alpha-grid", default="", callback=list_of(float), help="also with these alphas, as 0,0.3,1")
@click.option("--threshold-grid", default="", callback=list_of(float), help="also with these thresholds")
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

    The weights may be called by the note's names, which end in .pt.

    Prompts are windows of the validation text; their true continuations are measured too, as a yardstick.
    distinct, repeat_3gram and entropy (nats) are taken over characters, and over words if the corpus has
    spaces. judge_nll is how unlikely a v4 finds the text, judge_entropy how unsure it is as it reads, both
    in nats per character: a text that goes in circles is low in both, and its own entropy is low too.

    The note's command takes one core up to 20 seconds for each model, and the judge 2 minutes, once.
    """
    with output_lock(output, "--output", overwrite):
        if judge is None and not JUDGE.exists():
            require_writable_folder(JUDGE.parent, "folder to work in, or say --judge")
        config = GenerationConfig(**fields_of(GenerationConfig, values))
        paths = (locate(rope_weights), locate(polar_weights))
        models = load_models(paths, config)
        require_grids(models, alpha_grid, threshold_grid)
        text = common_corpus(corpus, dict(zip(paths, models.values(), strict=True)), with_mask=True)
        generations.prompt_windows(text, config)  # refuses a short text before a judge is trained
        try:
            scorer = find_scorer(judge, JUDGE, text, judge_steps)
        except KeyboardInterrupt:
            raise click.ClickException("interrupted; the same command goes on with the judge") from None
        found = generations.compare_generations(text, models, scorer.checkpoint.model, config)
        points = generations.measure_grid(
            text, models, scorer.checkpoint.model, config, alpha_grid, threshold_grid
        )
        weights = dict(zip(models, map(str, paths), strict=True))
        about = {"command": command_line(), "settings": asdict(config), "corpus": text.name}
        results = {**about, "weights": weights, "judge": scorer.describe(), **found, "grid": points}
        print_generations(results)
        write_atomically(output, (json.dumps(results, indent=1, ensure_ascii=False) + "\n").encode())
        echo(f"wrote {output}")


def load_models(paths: tuple[Path, Path], config: GenerationConfig) -> dict[str, Checkpoint]:
    """Load the two models, called by their variants, or by their files where these are the same."""
    loaded = [generations.load_denoiser(path) for path in paths]
    names = [short_name(model.version) for model in loaded]
    if names[0] == names[1]:
        names = [path.stem for path in paths]
    if names[0] == names[1]:
        raise BadInput(f"--rope-weights ({paths[0]}) and --polar-weights ({paths[1]}) are both {names[0]}")
    for flag, path, one in zip(("rope", "polar"), paths, loaded, strict=True):
        if (name := short_name(one.version)) != flag:
            echo(f"--{flag}-weights: {path} is a {one.version}, and is called {name}", error=True)
        generations.require_fitting_prompt(one.model, config, path)
    return dict(zip(names, loaded, strict=True))


def require_grids(models: dict[str, Checkpoint], alphas: list[float], thresholds: list[float]) -> None:
    """Raise BadInput for an alpha that no model has, or numbers that none can have."""
    if alphas and not any(hasattr(one.model.encoding, "alpha") for one in models.values()):
        raise BadInput(f"--alpha-grid: neither {' nor '.join(models)} has an alpha")
    for flag, values in (("alpha", alphas), ("threshold", thresholds)):
        for value in values:
            if not math.isfinite(value) or (flag == "threshold" and value < 0):
                raise BadInput(f"--{flag}-grid: {value} must be a finite number, and no threshold negative")


def print_generations(results: dict[str, Any]) -> None:
    """Print the judge, the table, and the grid."""
    judge = results["judge"]
    echo(f"judge: {judge['path']}, validation loss {judge['val_loss']:.3f} nats per character")
    for line in generations.report_lines(results):
        echo(line)
    for point in results["grid"]:
        alpha = "" if point["alpha"] is None else f", alpha {point['alpha']:g}"
        where = f"{point['model']}{alpha}, threshold {point['confidence_threshold']:g}"
        measures = ("repeat_3gram_chars", "tokens_per_step", "judge_nll", "judge_entropy")
        values = (f"{name} {format_mean_sd(point['measures'][name])}" for name in measures)
        echo(f"{where}: {', '.join(values)}")
