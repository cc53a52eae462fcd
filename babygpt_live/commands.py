"""Commands that the live lab adds to `python -m babygpt`.

The entry point `babygpt.commands` in pyproject.toml names the table below. Reading it imports no library that
draws, so that `--help` stays quick.
"""

from pathlib import Path

import click

from babygpt.cli.options import PATH
from babygpt.files import require_writable, write_atomically

COMMANDS = {  # name -> its module, and the first sentence of its help
    "card": ("babygpt_live.commands", "Make a page and a picture of a stored comparison."),
}


@click.command()
@click.argument("results", type=PATH)
def card(results: Path) -> None:
    """Make a page and a picture of a stored comparison.

    RESULTS is the file that `compare` wrote, such as comparison.json. The page (comparison.md) and its
    picture (comparison.png) stand beside it; earlier ones are replaced.
    """
    from babygpt.experiments import comparison
    from babygpt.experiments.looks import read_comparison
    from babygpt_live.comparison import draw_comparison

    numbers = read_comparison(results, finished=True)
    page, picture = results.with_suffix(".md"), results.with_suffix(".png")
    for path in (page, picture):
        require_writable(path, "RESULTS")
    write_atomically(picture, draw_comparison(numbers))
    write_atomically(page, comparison.card(numbers, picture.name).encode())
    click.echo(f"wrote {page} and {picture}")
