"""`claims`: measure the claims of the source notes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import click

from babygpt.tables import MARKS
from babygpt_course.claims import Claim, Finding, Tally, claims_of, tally

WIDTH = 100  # columns of a terminal that are filled


@click.command()
@click.argument("notes", nargs=-1, metavar="[NOTE]...")
def claims(notes: tuple[str, ...]) -> None:
    """Measure what the source notes claim, and print the verdicts.

    NOTE is 000, 001, 002, 003 or 004; without one, all five are measured, in half a minute.

    Of each claim you see the verdict and the number that decides, the note's own sentence with a translation,
    what else the sentence may mean, what it was measured on, and why the verdict is what it is. Claims that
    fail by one and the same mistake of the note are counted as one fault.
    """
    chosen = [claims_of(note) for note in notes or sorted({c.note[:3] for c in claims_of()})]
    verdicts = []
    for of_note in chosen:
        click.echo(f"==== {of_note[0].note}\n")
        for claim in of_note:
            finding = claim.measure()
            verdicts.append((claim, finding.verdict))
            click.echo("\n".join(describe(claim, finding)) + "\n")
        click.echo(f"{of_note[0].note[:3]}: {count(tally(verdicts[-len(of_note) :]))}\n")
    if len(chosen) > 1:
        click.echo(f"{len(chosen)} notes: {count(tally(verdicts))}")


def describe(claim: Claim, finding: Finding) -> Iterator[str]:
    """Yield the lines about one claim: the verdict first, then quote, translation, scope and reason."""
    yield f"{MARKS[finding.verdict]} {finding.verdict}: {claim.text}  [{finding.value:.4g}]"
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


def count(found: Tally) -> str:
    """A tally in words."""
    faults = f"{found.faults} fault{'s' * (found.faults != 1)}"
    return f"{found.holds} hold, {found.depends} depend, {found.fails} fail, by {faults}"
