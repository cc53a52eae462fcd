"""All claims together: verdicts are those of the notes' pages, and quotes stand in the notes."""

import re
from collections import Counter
from pathlib import Path

import pytest

from babygpt_course import claims as package
from babygpt_course.claims import CLAIMS, Claim, Finding, claims_of, count_verdicts, findings
from babygpt_course.claims.claim import Measurement

ROOT = Path(__file__).resolve().parents[3]
NOTES = ROOT.parent / "shared" / "source-notes"


@pytest.fixture(scope="module")
def verdicts():
    return [(claim, claim.measure().verdict) for claim in CLAIMS]


def test_every_verdict_is_that_of_its_notes_page(verdicts):
    """The pages are written by `python -m babygpt claims --write docs/notes`, and read by people."""
    by_note: dict[str, dict[str, str]] = {}
    for claim, verdict in verdicts:
        by_note.setdefault(claim.note[:3], {})[claim.text] = verdict
    row = re.compile(r"^\| (holds|depends|fails) \| (.*) \|$", re.MULTILINE)
    for note, measured in by_note.items():
        page = (ROOT / "docs" / "notes" / f"{note}.md").read_text(encoding="utf-8")
        assert measured == {text: verdict for verdict, text in row.findall(page)}


def test_a_fault_has_a_name_where_several_claims_fail_by_it(verdicts):
    failing = Counter(claim.fault for claim, verdict in verdicts if claim.fault and verdict == "fails")
    assert {claim.fault for claim in CLAIMS if claim.fault and failing[claim.fault] < 2} == set()


def test_every_claim_says_what_it_rests_on_and_has_a_text_of_its_own():
    assert [
        c.text for c in CLAIMS if not (c.quote.strip() and c.translation.strip() and c.scope.strip())
    ] == []
    assert len({(c.note, c.text) for c in CLAIMS}) == len(CLAIMS)


def test_every_measurement_has_its_sentence():
    names = [vars(getattr(package, f"note_{note}")) for note in {claim.note[:3] for claim in CLAIMS}]
    made = {m.measure for each in names for m in each.values() if isinstance(m, Measurement)}
    assert made == {claim.measure for claim in CLAIMS}


@pytest.mark.skipif(not NOTES.is_dir(), reason="the source notes are no part of the repository")
def test_every_quote_stands_in_its_note():
    texts = {path.name: "".join(path.read_text(encoding="utf-8").split()) for path in NOTES.glob("*.txt")}
    assert {c.note for c in CLAIMS} == texts.keys()
    assert [c.quote for c in CLAIMS if "".join(c.quote.split()) not in texts[c.note]] == []


def test_verdicts_are_counted_and_each_fault_once():
    """By hand: a and b fail by one fault, c by its own; d names a fault and holds."""
    rows = {"a": "fails", "b": "fails", "c": "fails", "d": "holds", "e": "depends"}
    faults = {"a": "layouts", "b": "layouts", "d": "layouts"}
    made = {t: Claim("n", t, lambda: Finding("holds", 0.0, ""), fault=faults.get(t, "")) for t in rows}
    found = count_verdicts((made[text], verdict) for text, verdict in rows.items())
    assert (found.holds, found.depends, found.fails, found.faults) == (1, 1, 3, 2)


def test_findings_show_verdict_and_scope():
    first = claims_of("004")[0]
    (row,) = findings("004", [first.text]).rows
    assert (row[1], row[2], row[-1]) == (first.text, first.measure().verdict, first.scope)


@pytest.mark.parametrize(("note", "only"), [("005", ()), ("004", ("v2 writes poems",))])
def test_a_claim_that_no_note_makes_is_refused(note, only):
    with pytest.raises(ValueError, match=f"no claim of note '{note}' among 000, 001"):
        claims_of(note, only)
