"""`compare encodings` and `compare generation`, with the flags of note 000."""

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from babygpt.cli.options import (
    PATH,
    corpus_option,
    fields_of,
    list_of,
    options_from,
    output_lock,
)
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import NAMES, Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.files import require_writable, write_atomically
from babygpt.training.checkpoint import Checkpoint
from babygpt_course.commands.parallel import locate
from babygpt_course.studies import ablation as report
from babygpt_course.notes import generations
from babygpt_course.studies.ablation import Ablation, AblationConfig, run_ablation
from babygpt_course.notes.curriculum import require_same_characters
from babygpt_course.notes.generations import GenerationConfig


@click.group()
def compare() -> None:
    """Compare how models learn and write."""


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
@corpus_option
@options_from(ModelConfig, block_size=64)
@options_from(TrainConfig, skip=["steps", "eval_every", "seed"], batch_size=16)
def encodings(seeds: list[int], variants: list[str], out_dir: Path, corpus: str, **flags: Any) -> None:
    """Train variants of v7 from several seeds, and compare them.

    All variants of a seed see the same batches with the same masks. Writes ablation_results.json, the
    pictures val_loss_curve.png and summary_bars.png in ablation_plots/, and the weights of every run in
    weights/ablation/.

    After Ctrl-C or a crash, the same command continues with the next run; finished ones are kept. It can also
    add seeds and variants. For other settings choose another --out-dir.

    The note's command, whose flags are the defaults, makes 18 000 steps: about 40 minutes of one core, at 8
    or 9 steps a second.
    """
    for name in ("run", "weights/ablation/run", *(f"ablation_plots/{name}" for name in report.PICTURES)):
        require_writable(out_dir / name, "--out-dir")  # now, and not after the first run
    text = load_corpus(corpus, with_mask=True)
    model = ModelConfig(text.tokenizer.vocab_size, **fields_of(ModelConfig, flags))
    training = TrainConfig(**fields_of(TrainConfig, flags))
    config = AblationConfig(**fields_of(AblationConfig, flags))
    ablation = Ablation(text, model, training, config, out_dir)
    try:
        results = run_ablation(ablation, variants, seeds, click.echo, command_line())
    except KeyboardInterrupt:
        raise click.ClickException("interrupted; the same command continues with the next run") from None
    for line in report.report_lines(results):
        click.echo(line)
    for path in (ablation.results_path, *report.draw_report(results, out_dir / "ablation_plots")):
        click.echo(f"wrote {path}")


@compare.command()
@click.option("--rope-weights", required=True, type=PATH, help="a checkpoint of a v7")
@click.option("--polar-weights", required=True, type=PATH, help="another one")
@options_from(GenerationConfig)
@click.option("--output", required=True, type=PATH, help="where the results go, as JSON")
@click.option("--overwrite", is_flag=True, help="replace an output that is there already")
@click.option("--corpus", help="where the prompts come from  [default: what the models were trained on]")
def generation(
    rope_weights: Path, polar_weights: Path, output: Path, overwrite: bool, corpus: str | None, **flags: Any
) -> None:
    """Let two models of masked diffusion continue the same prompts, and measure what they wrote.

    The weights may be called by the note's names, which end in .pt. The table names each model by its file.

    Prompts are windows of the validation text; their true continuations are measured too, as a yardstick.
    distinct, repeat_3gram and entropy (nats) are taken over characters, and over words if the corpus has
    spaces.

    The note's command takes one core up to 20 seconds for each model.
    """
    with output_lock(output, "--output", overwrite):
        config = GenerationConfig(**fields_of(GenerationConfig, flags))
        paths = (locate(rope_weights), locate(polar_weights))
        loaded = {path: generations.load_denoiser(path, config) for path in paths}
        models = {path.stem: one for path, one in loaded.items()}
        if len(models) < 2:
            raise BadInput(f"--rope-weights and --polar-weights are both called {paths[0].stem}; rename one")
        text = common_corpus(corpus, loaded)
        found = generations.compare_generations(text, models, config)
        about = {"command": command_line(), "settings": asdict(config), "corpus": text.name}
        results = {**about, "weights": dict(zip(models, map(str, paths), strict=True)), **found}
        for line in generations.table_lines(results):
            click.echo(line)
        write_atomically(output, (json.dumps(results, indent=1, ensure_ascii=False) + "\n").encode())
        click.echo(f"wrote {output}")


def common_corpus(name: str | None, models: Mapping[Path, Checkpoint]) -> Corpus:
    """Load the corpus of a name, or the one that all models were trained on, with a MASK token.

    models  path of each checkpoint -> the checkpoint
    Raises BadInput if no name is given and the models were trained on several corpora or on a file outside of
    this folder, and for a model that knows other characters.
    """
    own = {str(one.info.get("corpus", "tales")) for one in models.values()}
    # A checkpoint from a stranger must not make us read any file of this machine.
    near = {corpus for corpus in own if corpus in NAMES or Path(corpus).resolve().is_relative_to(Path.cwd())}
    if name is None and (len(own) > 1 or own > near):
        raise BadInput(f"the models were trained on {' and '.join(sorted(own))}: say which --corpus to use")
    text = load_corpus(own.pop() if name is None else name, with_mask=True)
    for path, one in models.items():
        require_same_characters(one.tokenizer, text.tokenizer, path)
    return text


def command_line() -> str:
    """Return the command that runs, as it could be typed again."""
    return shlex.join(["python", "-m", "babygpt", *sys.argv[1:]])
