"""`compare encodings`, with the flags of note 000."""

from pathlib import Path
from typing import Any

import click

from babygpt.cli.options import PATH, command_line, corpus_option, fields_of, list_of, options_from
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.files import require_writable
from babygpt_course.studies import ablation as report
from babygpt_course.studies.ablation import Ablation, AblationConfig, run_ablation


@click.group()
def compare() -> None:
    """Compare how models learn."""


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
