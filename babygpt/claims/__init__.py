"""The claims of the source notes, each measured.

A claim holds, fails, or depends on something that the reason names. What takes a second is measured on
the spot; what takes many training runs is read from the stored results (`babygpt.experiments.results`).
"""

from collections.abc import Sequence

from babygpt.claims import note_000, note_001, note_002, note_003, note_004
from babygpt.claims.base import Claim as Claim
from babygpt.claims.base import Finding as Finding
from babygpt.claims.base import Tally as Tally
from babygpt.claims.base import tally as tally
from babygpt.errors import BadInput
from babygpt.tables import MARKS, Table

CLAIMS: tuple[Claim, ...] = (
    *note_000.CLAIMS,
    *note_001.CLAIMS,
    *note_002.CLAIMS,
    *note_003.CLAIMS,
    *note_004.CLAIMS,
)


def findings(note: str, only: Sequence[str] = ()) -> Table:
    """Run the claims of a source note and show what became of them.

    note   the beginning of its file name, such as "004"
    only   texts of the claims to run; all of the note's by default
    Raises BadInput if the note makes no such claim.
    """
    chosen = [c for c in CLAIMS if c.note.startswith(note) and (not only or c.text in only)]
    if not chosen:
        raise BadInput(f"no claim of note {note!r} among {sorted({c.note for c in CLAIMS})}")
    measured: list[tuple[str, Finding]] = [(c.text, c.measure()) for c in chosen]
    rows = [(MARKS[f.verdict], text, f.verdict, f"{f.value:.3g}", f.reason) for text, f in measured]
    return Table(("", "the note says", "verdict", "measured", "because"), rows, stable=3)
