"""The claims of the source notes, each measured.

A claim holds, fails, or depends on something that the reason names. What takes a second is measured on
the spot; what takes many training runs is read from the results that a command has stored in figures/.
"""

from babygpt.claims import note_000, note_001, note_002, note_003, note_004
from babygpt.claims.base import Claim as Claim
from babygpt.claims.base import Finding as Finding

CLAIMS: tuple[Claim, ...] = (
    *note_000.CLAIMS,
    *note_001.CLAIMS,
    *note_002.CLAIMS,
    *note_003.CLAIMS,
    *note_004.CLAIMS,
)
