"""All claims together: each says what it quotes and what it was measured on, and faults are counted once."""

import re
from collections import Counter
from pathlib import Path

import pytest

from babygpt_course.claims import CLAIMS, Claim, Finding, claims_of, count_verdicts, findings

NOTES = Path(__file__).resolve().parents[4] / "shared" / "source-notes"
needs_notes = pytest.mark.skipif(
    not NOTES.is_dir(), reason="the source notes are no part of the repository: quotes are not compared"
)


def claim(text: str, fault: str = "") -> Claim:
    return Claim("n", text, lambda: Finding("holds", 0.0, "because"), fault=fault)


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize("field", ["quote", "translation", "scope"])
def test_every_claim_says_what_it_rests_on(field):
    assert [(c.note[:3], c.text) for c in CLAIMS if not getattr(c, field).strip()] == []


@needs_notes
def test_every_quote_stands_in_its_note():
    texts = {path.name: squeezed(path.read_text(encoding="utf-8")) for path in NOTES.glob("*.txt")}
    assert {c.note for c in CLAIMS} == texts.keys()
    assert [(c.note[:3], c.quote) for c in CLAIMS if squeezed(c.quote) not in texts[c.note]] == []


def test_no_two_claims_of_a_note_share_their_text():
    assert [c for c, n in Counter((c.note, c.text) for c in CLAIMS).items() if n > 1] == []


def test_a_fault_has_a_name_where_several_claims_fail_by_it():
    failing = Counter(c.fault for c in CLAIMS if c.fault and c.measure().verdict == "fails")
    assert {c.fault for c in CLAIMS if c.fault and failing[c.fault] < 2} == set()


def test_a_tally_counts_verdicts_and_each_fault_once():
    """By hand: a and b fail by one fault, c by its own; d names a fault and holds."""
    verdicts = [
        (claim("a", fault="layouts"), "fails"),
        (claim("b", fault="layouts"), "fails"),
        (claim("c"), "fails"),
        (claim("d", fault="layouts"), "holds"),
        (claim("e"), "depends"),
    ]
    found = count_verdicts(verdicts)
    assert (found.holds, found.depends, found.fails, found.faults) == (1, 1, 3, 2)


def test_findings_show_verdict_and_scope():
    first = claims_of("004")[0]
    (row,) = findings("004", [first.text]).rows
    assert row[1] == first.text
    assert row[2] == first.measure().verdict
    assert row[-1] == first.scope


@pytest.mark.parametrize(("note", "only"), [("005", ()), ("004", ("v2 writes poems",))])
def test_a_claim_that_no_note_makes_is_refused(note, only):
    with pytest.raises(ValueError, match=f"no claim of note '{note}' among 000, 001"):
        claims_of(note, only)
