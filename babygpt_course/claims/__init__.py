"""The claims of the source notes, each measured.

A claim holds, fails, is undecided, or depends on a condition that the reason names. Short measurements run
when they are called. Measurements on trained models read stored results (`babygpt_course.studies.results`);
one rule decides them or leaves them undecided (`babygpt.experiments.paired`).

note_000.toml  the note's sentences: its own words, a translation, and how we understand them
note_000.py    the measurement of each sentence, a function of the same name
"""

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from types import ModuleType

from babygpt.errors import BadInput
from babygpt.tables import MARKS, Table
from babygpt_course.claims import note_000, note_001, note_002, note_003, note_004
from babygpt_course.claims.claim import VERDICTS as VERDICTS
from babygpt_course.claims.claim import Claim as Claim
from babygpt_course.claims.claim import Finding as Finding
from babygpt_course.claims.claim import VerdictCounts as VerdictCounts
from babygpt_course.claims.claim import by_luck as by_luck
from babygpt_course.claims.claim import count_verdicts as count_verdicts


def claims_in(module: ModuleType, sentences: str = "") -> list[Claim]:
    """Return the claims of a note's module, in the order of its sentences.

    sentences  as TOML; by default those of the file beside the module
    """
    file = files(__name__) / f"{module.__name__.rpartition('.')[2]}.toml"
    sentences_by_name = tomllib.loads(sentences or file.read_text(encoding="utf-8"))
    return [
        Claim(module.NOTE, **sentence, **vars(getattr(module, name)))
        for name, sentence in sentences_by_name.items()
    ]


CLAIMS = tuple(c for module in (note_000, note_001, note_002, note_003, note_004) for c in claims_in(module))


def claims_of(note: str = "", only: Sequence[str] = ()) -> list[Claim]:
    """Return the claims of a source note.

    note     the beginning of its file name, such as "004"; "" for all notes
    only     texts of the claims to return; all by default
    Raises BadInput if the note makes no such claim.
    """
    chosen = [c for c in CLAIMS if c.note.startswith(note) and (not only or c.text in only)]
    if not chosen:
        raise BadInput(f"no claim of note {note!r} among {', '.join(sorted({c.note[:3] for c in CLAIMS}))}")
    return chosen


def findings(note: str, only: Sequence[str] = (), first: Sequence[str] = ()) -> Table:
    """Measure the claims of a source note and show verdicts, reasons, and what they were measured on.

    note   the beginning of its file name, such as "004"
    only   texts of the claims to measure; all of the note's by default
    first  texts of the claims to show, in this order; the others fold out below. By default all are shown
    Raises BadInput if the note makes no such claim.
    """
    chosen = claims_of(note, only)
    for text in first:
        claims_of(note, [text])  # raises if there is none
    chosen.sort(key=lambda claim: first.index(claim.text) if claim.text in first else len(first))
    rows = []
    for claim in chosen:
        finding = claim.measure()
        mark = MARKS[finding.verdict]
        rows.append((mark, claim.text, finding.verdict, finding.measured, finding.reason, claim.scope))
    heading = ("", "the note says", "verdict", "measured", "because", "measured on")
    return Table(heading, rows, stable=3, open=len(first) or None)
