"""Count what a reader of a lesson has to take in: words, numbers, paragraphs and sentences.

    python -m tools.lengths               every lesson
    python -m tools.lengths 04c 08        only these

Counted is the text of a lesson before its exercises (04c: before its recap). Nothing depends on these counts:
a lesson of the way has about 1,900 words and 75 numbers, a side trip 2,100 and 90, and none is filled up to
that.
"""

import re
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import click
import nbformat

from babygpt.tables import markdown

ROOT = Path(__file__).resolve().parents[1]
END = re.compile(r"^## (?:Exercises|Recap)", flags=re.M)
LINK = re.compile(r"\]\([^)]*\)")
HEADING = re.compile(r"^#.*$", flags=re.M)
FORMULA = re.compile(r"\$\$.*?\$\$|\$.*?\$", flags=re.S)
NUMBER = re.compile(r"(?<![\w.])−?\d[\d,]*(?:\.\d+)?")
SENTENCE_END = re.compile(r"(?<=[.?!:])[*_)\"]*\s+(?=[A-Z*])")
FEW = 8  # words of a sentence that is short


class Lengths(NamedTuple):
    """Counts of the text of a lesson.

    words, numbers  before the exercises
    longest         words of its longest paragraph
    sentence        words of a sentence, in the mean
    short           share of sentences of at most FEW words
    """

    words: int
    numbers: int
    longest: int
    sentence: float
    short: float


def measure_lengths(texts: list[str]) -> Lengths:
    """Count the text cells of a lesson, up to its exercises.

    texts  the Markdown of its cells, in order
    """
    whole = END.split("\n\n".join(texts), maxsplit=1)[0]
    prose = LINK.sub("]", FORMULA.sub("", HEADING.sub("", whole)))
    paragraphs = [part for part in re.split(r"\n\s*\n", prose) if part.strip() and part.strip()[0] != "|"]
    sentences = [s for part in paragraphs for s in SENTENCE_END.split(part) if re.search(r"\w", s)]
    words = [len(sentence.split()) for sentence in sentences]
    return Lengths(
        words=len(whole.split()),
        numbers=len(NUMBER.findall(prose)),
        longest=max((len(part.split()) for part in paragraphs), default=0),
        sentence=mean(words or [0]),
        short=mean([n <= FEW for n in words] or [0]),
    )


@click.command(help=__doc__.replace("    python", "\b\n    python", 1))
@click.argument("numbers", nargs=-1)
def main(numbers: tuple[str, ...]) -> None:
    """See the module's docstring."""
    rows = []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        number = path.stem.split("_")[0]
        if numbers and number not in numbers:
            continue
        cells = nbformat.read(path, as_version=4).cells
        lengths = measure_lengths([cell.source for cell in cells if cell.cell_type == "markdown"])
        rows.append(
            (
                number,
                f"{lengths.words:,}",
                str(lengths.numbers),
                str(lengths.longest),
                f"{lengths.sentence:.1f}",
                f"{lengths.short:.0%}",
            )
        )
    heading = ("lesson", "words", "numbers", "longest paragraph", "words a sentence", "8 or fewer")
    click.echo(markdown(heading, rows))


if __name__ == "__main__":
    main()
