"""`compare stretch`: how far a checkpoint reads past its window, and what that costs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from babygpt.cli.base import PATH, command_line, fields_of, list_of, options_from, output_lock, warn_unused
from babygpt.errors import BadInput
from babygpt.files import write_atomically
from babygpt.models.stretching import METHODS
from babygpt.screen import echo
from babygpt_course.commands.corpora import common_corpus
from babygpt_course.notes.stretch_checkpoint import (
    RECALLS,
    Row,
    StretchConfig,
    distances,
    load_stretchable,
    measure_stretches,
)


@click.command()
@click.argument("weights", type=PATH)
@click.option(
    "--factors", default="2,4,8", show_default=True, callback=list_of(int), help="how many windows are read"
)
@click.option(
    "--methods",
    default=",".join(METHODS),
    show_default=True,
    callback=list_of(str),
    help="ways to stretch RoPE; none reads on as it is, drop takes the code away",
)
@click.option("--corpus", help="what it is measured on  [default: what the model was trained on]")
@options_from(StretchConfig, skip=["methods"])
@click.option("--output", type=PATH, help="where the results go, as JSON  [default: they are only printed]")
@click.option("--overwrite", is_flag=True, help="replace an output that is there already")
@click.pass_context
def stretch(
    ctx: click.Context,
    weights: Path,
    corpus: str | None,
    output: Path | None,
    overwrite: bool,
    **values: Any,
) -> None:
    """Let the checkpoint WEIGHTS read several windows, stretched in several ways, and measure what changes.

    It has RoPE in some layers or all, and no code in the others: a v4 or a v4-nope. The file is only read.

    change is what reading all the windows changes against reading one, on the same characters, in nats per
    character, below 0 if the longer text helps, ± its standard error over windows. loss is that of texts of
    one window: what stretching costs them. On the corpus "recall" a value is asked for that was told so many
    characters before: the share of right answers, and of those where nothing was told.

    With --fine-tune, a copy is trained before each line, with as many characters a step as the checkpoint
    saw and at 0.3 of its learning rates, at the new length; "drop" at the old one, as its paper has it. The
    line "control" is trained for as many steps at the old length, and not stretched.
    """
    warn_unused(ctx, ["seed"] if not values["fine_tune"] else [], "without --fine-tune")
    warn_unused(ctx, ["overwrite"] if output is None else [], "without --output")
    with output_lock(output, "--output", overwrite) if output else nullcontext():
        config, loaded = StretchConfig(**fields_of(StretchConfig, values)), load_stretchable(weights)
        require_another_file(output, weights)
        text, size = common_corpus(corpus, {weights: loaded}), loaded.model.config.block_size
        asked = distances(size, max(config.factors)) if text.name == "recall" else []
        lines = heading(f"{weights} ({loaded.version})", size, text.name, asked)
        try:
            rows = show_rows(
                measure_stretches(loaded, text, config), lines, asked, echo if output else click.echo
            )
        except KeyboardInterrupt:
            raise click.ClickException(f"interrupted; nothing was written, {weights} is as it was") from None
        if output:
            about = {"command": command_line(), "settings": asdict(config), "corpus": text.name}
            model = {"weights": str(weights), "version": loaded.version, "block_size": size}
            results = {**about, **model, "rows": rows}
            write_atomically(output, (json.dumps(results, indent=1, ensure_ascii=False) + "\n").encode())
            echo(f"wrote {output}")


def require_another_file(output: Path | None, weights: Path) -> None:
    """Raise BadInput if the results would take the place of the checkpoint, whatever the user overwrites."""
    if output and output.exists() and output.samefile(weights):
        raise BadInput(f"{output} is the checkpoint itself; choose another --output")


def show_rows(
    rows: Iterator[Row], heading: Sequence[str], asked: Sequence[int], show: Callable[[str], None]
) -> list[Row]:
    """Print every row as soon as it is measured, the first under the heading, and return them all.

    show  prints a line: where results are stored too, one that goes silent if the screen is gone
    """
    found: list[Row] = []
    for row in rows:
        for line in (*([] if found else heading), row_line(row, asked)):
            show(line)
        found.append(row)
    return found


def heading(model: str, block_size: int, corpus: str, asked: Sequence[int]) -> list[str]:
    """What is measured, in words, and the heading of the table.

    asked  distances at which values are asked for
    """
    lines = [f"{model}, trained on windows of {block_size}; {corpus}, nats per character"]
    if asked:
        lines.append(
            f"at {asked[0]}: share of {RECALLS} values recalled so many characters later; chance is 0.1"
        )
    recalled = [f"at {d}" for d in asked] + (["untold"] if asked else [])
    return [*lines, table_line(["method", "factor", "windows", "change", "± se", "loss", *recalled])]


def row_line(row: Row, asked: Sequence[int]) -> str:
    """A line of the table: what `measure_stretches` yields, with a dash for what was not measured."""
    shares = [row["recall"].get(str(d)) for d in asked] + ([row["recall"].get("untold")] if asked else [])
    numbers = [
        (row["change"], "+.4f"),
        (row["se"], ".4f"),
        (row["loss"], ".4f"),
        *((x, ".2f") for x in shares),
    ]
    cells = ["–" if number is None else format(number, form) for number, form in numbers]
    return table_line([row["method"], str(row["factor"]), str(row["windows"] or "–"), *cells])


def table_line(cells: Sequence[str]) -> str:
    """Cells in columns of one width, the first a little wider."""
    return f"{cells[0]:<15}" + "".join(f"{cell:>9}" for cell in cells[1:])
