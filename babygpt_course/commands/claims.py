"""`claims`: measure the claims of the source notes."""

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import astuple
from pathlib import Path

import click

from babygpt.experiments.paired import RULE
from babygpt.tables import MARKS
from babygpt_course.claims import Claim, Finding, VerdictCounts, by_luck, claims_of, count_verdicts

WIDTH = 100  # columns of a terminal that are filled
HEADING = "| | the note says |\n|---|---|\n"  # of every table of verdicts on a note's page


@click.command()
@click.argument("notes", nargs=-1, metavar="[NOTE]...")
@click.option(
    "--write",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write the verdicts into the notes' pages in this folder, such as docs/notes.",
)
def claims(notes: tuple[str, ...], write: Path | None) -> None:
    """Measure what the source notes claim, and print the verdicts.

    NOTE is 000, 001, 002, 003 or 004; without one, all five are measured, in half a minute.

    Of each claim you see the verdict and the number that decides, the note's own sentence with a translation,
    what else the sentence may mean, what it was measured on, and why the verdict is what it is. Claims that
    fail by one and the same mistake of the note are counted as one fault. Trained models are compared by one
    rule, which is printed at the end; where it decides nothing, the claim is undecided.
    """
    chosen = [claims_of(note) for note in notes or sorted({c.note[:3] for c in claims_of()})]
    verdicts, comparisons = [], 0
    for of_note in chosen:
        click.echo(f"==== {of_note[0].note}\n")
        for claim in of_note:
            finding = claim.measure()
            verdicts.append((claim, finding.verdict))
            comparisons += finding.comparisons
            click.echo("\n".join(describe_claim(claim, finding)) + "\n")
        note, of_note_verdicts = of_note[0].note[:3], verdicts[-len(of_note) :]
        click.echo(f"{note}: {count_in_words(count_verdicts(of_note_verdicts))}\n")
        if write:
            write_verdicts(write, note, of_note_verdicts)
    if len(chosen) > 1:
        click.echo(f"{len(chosen)} notes: {count_in_words(count_verdicts(verdicts))}")
    if comparisons:
        click.echo("\n" + textwrap.fill(f"{RULE} {by_luck(comparisons)}", WIDTH))


def write_verdicts(folder: Path, note: str, verdicts: list[tuple[Claim, str]]) -> None:
    """Write the verdicts of one note into its page, and their counts into the folder's README."""
    page, index = folder / f"{note}.md", folder / "README.md"
    rows = {claim.text: f"| {verdict} | {claim.text} |\n" for claim, verdict in verdicts}
    page.write_text(with_verdicts(page.read_text(encoding="utf-8"), rows), encoding="utf-8")
    numbers = " | ".join(str(number) for number in astuple(count_verdicts(verdicts)))
    link = f"| [{note}]({note}.md) | "
    text = re.sub(rf"{re.escape(link)}\d.*", f"{link}{numbers} |", index.read_text(encoding="utf-8"))
    index.write_text(re.sub(r"\d+ claims", f"{len(claims_of())} claims", text, count=1), encoding="utf-8")


def with_verdicts(page: str, rows: Mapping[str, str]) -> str:
    """Replace the rows of a page's tables; a new claim joins the table of the claim before it."""
    start, *tables = page.split(HEADING)
    rows_of_tables = ["" for _ in tables]
    number = 0
    for text, row in rows.items():
        number = next((i for i, table in enumerate(tables) if f" | {text} |\n" in table), number)
        rows_of_tables[number] += row
    after = (re.sub(r"\A(\|.*\n)*", "", table) for table in tables)
    return start + "".join(HEADING + new + rest for new, rest in zip(rows_of_tables, after, strict=True))


def describe_claim(claim: Claim, finding: Finding) -> Iterator[str]:
    """Yield the lines about one claim: the verdict first, then quote, translation, scope and reason."""
    yield f"{MARKS[finding.verdict]} {finding.verdict}: {claim.text}  [{finding.measured}]"
    parts = {
        "note": claim.quote,
        "in English": claim.translation,
        "reading": claim.reading,
        "measured on": claim.scope,
        "because": finding.reason,
        "fault": claim.fault if finding.verdict == "fails" else "",
    }
    for name, words in parts.items():
        if words:
            start, rest = f"    {name:<12}", " " * 16
            yield textwrap.fill(words, WIDTH, initial_indent=start, subsequent_indent=rest)


def count_in_words(counts: VerdictCounts) -> str:
    """Return the counts in words."""
    faults = f"{counts.faults} fault{'s' * (counts.faults != 1)}"
    parts = f"{counts.holds} hold, {counts.depends} depend, {counts.undecided} undecided, {counts.fails} fail"
    return f"{parts}, by {faults}"
