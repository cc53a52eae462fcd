"""The command `compare`: train versions or own encodings alike from several seeds, and compare them.

PyTorch is imported when the command runs, so that `--help` need not wait for it.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from babygpt.cli import options as shell
from babygpt.cli.encoding_options import BUILD_FLAGS, build_options, chosen_options
from babygpt.cli.encoding_options import versions as all_versions
from babygpt.cli.train import TrainCommand, version_argument
from babygpt.config import ModelConfig, TrainConfig
from babygpt.errors import BadInput

if TYPE_CHECKING:
    from babygpt.experiments.variants import VariantName

EXAMPLE = '"v4-shift --back 2"'
LISTS = ("--seeds", "--rates")  # flags that take several numbers
NUMBERS = re.compile(r"[\d.]+(,[\d.]+)*,?")


class CompareCommand(click.Command):
    """Command whose lists of numbers may have spaces or commas between them: --rates 0.5 1 2."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        joined: list[str] = []
        for arg in args:
            in_list = len(joined) > 1 and joined[-2] in LISTS
            if in_list and NUMBERS.fullmatch(f"{joined[-1]},{arg}"):
                joined[-1] += f",{arg}"
            else:
                joined.append(arg)
        try:
            return super().parse_args(ctx, joined)
        except click.NoSuchOption as error:
            names = {name for kind in all_versions().values() for name in kind.options()}
            if error.option_name in {*map(shell.flag_of, {*names, *BUILD_FLAGS}), "--fixed"}:
                raise BadInput(
                    f"{error.option_name} is an option of one variant: write both in quotes, as in {EXAMPLE}"
                ) from None
            raise


@click.command("variant", cls=TrainCommand)
@version_argument
@build_options
def variant_command(**values: Any) -> None:
    """Parse a variant with options of its own; the command itself is never run."""


def variant_of(words: str) -> VariantName:
    """Return a variant, with its options if it has some: "v4-shift --back 2".

    Raises BadInput for an option that the variant does not have, and for a wrong value.
    """
    version, flag, rest = words.partition(" --")  # the path of a file may hold spaces
    if not flag:
        return words
    try:
        ctx = variant_command.make_context("variant", [version.strip(), *shlex.split(f"--{rest}")])
    except click.UsageError as error:
        raise BadInput(f'"{words}": {error.format_message()}') from None
    except ValueError as error:  # quotes inside that are never closed
        raise BadInput(f'"{words}": {error}') from None
    return version.strip(), chosen_options(ctx, version.strip())


def count_or_seeds(ctx: click.Context, param: click.Parameter, value: str | None) -> int | list[int] | None:
    """Return a number of seeds from "12", or the seeds themselves from "1337,2027" or "1337,"."""
    if value is None:
        return None
    seeds: list[int] = shell.list_of(int)(ctx, param, value)
    return seeds[0] if len(seeds) == 1 and "," not in value else seeds


@click.command(cls=CompareCommand)
@click.argument("versions", nargs=-1, metavar="VARIANT...")
@shell.corpus_option
@click.option(
    "--seeds",
    callback=count_or_seeds,
    help="how many of the course's seeds, or the seeds: 1337,2027,9001  [default: 3; 12 with --confirm]",
)
@click.option(
    "--rates",
    default="",
    callback=shell.list_of(float),
    help="factors of the learning rates, such as 0.5 1 2: every variant takes its best one, on further seeds",
)
@click.option("--confirm", is_flag=True, help="take twelve other seeds than those that were looked at")
@shell.shown("--out", default="comparison.json", type=shell.PATH, help="where the results go")
@shell.options_from(ModelConfig, block_size=64, n_layer=2, n_embd=96)
@shell.options_from(TrainConfig, skip=["seed"])
@shell.worker_options
@click.pass_context
def compare(ctx: click.Context, versions: tuple[str, ...], out: Path, **values: Any) -> None:
    """Train encodings from several seeds, and compare them.

    VARIANT is a version, as `train --versions` lists them, or a class in a file, such as mine.py:Sandwich.
    Options of its encoding stand in the same quotes, as `train` takes them: "v4-shift --back 2". All others
    are compared with the first, seed by seed. All must be trained for one goal: to predict the next
    character, or to fill in masked ones as v7 does.

    Writes comparison.json, a page to post (comparison.md) and its picture (comparison.png). Finished runs are
    kept in comparison.runs.json: after Ctrl-C or a crash, and for more seeds or variants, the same command
    makes only the missing runs.

    Intervals are given from the third seed on, and a verdict from the twelfth. Seeds that were looked at in
    an earlier comparison decide nothing that they suggested; --confirm takes twelve others.
    """
    from babygpt.data.corpus import load_corpus
    from babygpt.device import use_allowed_threads
    from babygpt.experiments.compare import compare_versions
    from babygpt.experiments.variants import candidates_of

    use_allowed_threads()
    variants = [variant_of(words) for words in versions]
    candidates = candidates_of(variants)
    if out.suffix != ".json":
        raise BadInput(f"--out ({out}) must end in .json; the page and its picture stand beside it")
    workers = shell.chosen_workers(values, out.parent / "jobs")
    text = load_corpus(values["corpus"], with_mask=candidates[0].masks)
    try:
        comparison = compare_versions(
            variants,
            text,
            values["seeds"],
            ModelConfig(text.tokenizer.vocab_size, **shell.fields_of(ModelConfig, values)),
            TrainConfig(**shell.fields_of(TrainConfig, values)),
            rates=values["rates"],
            confirm=values["confirm"],
            out=out,
            n_workers=values["workers"] or 1,
            workers=workers,
            tell=lambda line: click.echo(line, err=True),
            command=shell.command_line(),
        )
    except KeyboardInterrupt:
        raise click.ClickException("interrupted; the same command continues with the next run") from None
    click.echo(str(comparison))
    click.echo(f"wrote {out}")
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    # babygpt draws nothing: the package that does has registered this command.
    draw_card = group.get_command(ctx, "card")
    if draw_card:
        ctx.invoke(draw_card, results=out)
    else:
        click.echo("no package with the command `card` is installed, so there is no page", err=True)
