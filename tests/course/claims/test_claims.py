"""All claims together: verdicts are those of the notes' pages, and quotes stand in the notes."""

import re
from collections import Counter
from pathlib import Path

import pytest

from babygpt_course import claims as package
from babygpt_course.claims import CLAIMS, VERDICTS, Claim, Finding, claims_of, count_verdicts, findings
from babygpt_course.claims.claim import Measurement, by_luck, combine, negligible, opposite

ROOT = Path(__file__).resolve().parents[3]
NOTES = ROOT.parent / "shared" / "source-notes"


EXACT = "hhhfffhfh. hhdddfdhhfff..d .hfhdhh...... dfhdh..dhhh dhhhdfhhhd".split()  # note by note


@pytest.fixture(scope="module")
def measured():
    return [(claim, claim.measure()) for claim in CLAIMS]


@pytest.fixture(scope="module")
def verdicts(measured):
    return [(claim, finding.verdict) for claim, finding in measured]


def test_every_verdict_is_that_of_its_notes_page(verdicts):
    """Read the pages that `python -m babygpt claims --write docs/notes` writes."""
    by_note: dict[str, dict[str, str]] = {}
    for claim, verdict in verdicts:
        by_note.setdefault(claim.note[:3], {})[claim.text] = verdict
    row = re.compile(rf"^\| ({'|'.join(VERDICTS)}) \| (.*) \|$", re.MULTILINE)
    for note, measured in by_note.items():
        page = (ROOT / "docs" / "notes" / f"{note}.md").read_text(encoding="utf-8")
        assert measured == {text: verdict for verdict, text in row.findall(page)}


def test_claims_without_training_have_these_verdicts(measured):
    """Compare first letters of the verdicts in the sentences' order; a dot where trained models decide."""
    letters = {claim.note: "" for claim, _ in measured}
    for claim, finding in measured:
        letters[claim.note] += "." if finding.comparisons else finding.verdict[0]
    assert list(letters.values()) == EXACT


def test_every_named_fault_makes_several_claims_fail(verdicts):
    failing = Counter(claim.fault for claim, verdict in verdicts if claim.fault and verdict == "fails")
    assert {claim.fault for claim in CLAIMS if claim.fault and failing[claim.fault] < 2} == set()


def test_every_claim_has_quote_translation_scope_and_a_unique_text():
    assert all(c.quote.strip() and c.translation.strip() and c.scope.strip() for c in CLAIMS)
    assert len({(c.note, c.text) for c in CLAIMS}) == len(CLAIMS)


def test_every_measurement_belongs_to_a_claim():
    names = [vars(getattr(package, f"note_{note}")) for note in {claim.note[:3] for claim in CLAIMS}]
    measurements = {m.measure for each in names for m in each.values() if isinstance(m, Measurement)}
    assert measurements == {claim.measure for claim in CLAIMS}


@pytest.mark.skipif(not NOTES.is_dir(), reason="the source notes are no part of the repository")
def test_every_quote_is_in_its_note():
    texts = {path.name: "".join(path.read_text(encoding="utf-8").split()) for path in NOTES.glob("*.txt")}
    assert {c.note for c in CLAIMS} == texts.keys()
    parts = [(c.note, part) for c in CLAIMS for part in "".join(c.quote.split()).split("…")]
    assert [part for note, part in parts if part not in texts[note]] == []


def test_counting_verdicts_counts_each_shared_fault_once():
    """Count by hand: a and b fail by one fault, c by its own; d names a fault and holds."""
    rows = {"a": "fails", "b": "fails", "c": "fails", "d": "holds", "e": "depends", "f": "undecided"}
    faults = {"a": "layouts", "b": "layouts", "d": "layouts"}
    claims = {t: Claim("n", t, lambda: Finding("holds", 0.0, ""), fault=faults.get(t, "")) for t in rows}
    counts = count_verdicts((claims[text], verdict) for text, verdict in rows.items())
    assert (counts.holds, counts.depends, counts.undecided, counts.fails, counts.faults) == (1, 1, 1, 3, 2)


def test_only_trained_models_leave_a_claim_undecided_and_chance_decides_none(measured):
    """Check a sentence of docs/notes/README.md: about 1 of 100 comparisons of equal models is decided."""
    assert {finding.verdict for _, finding in measured} <= set(VERDICTS)
    assert [
        c.text for c, finding in measured if finding.verdict == "undecided" and not finding.comparisons
    ] == []
    assert 0 < sum(finding.comparisons for _, finding in measured) < 100
    assert "fewer than 1 of these 100" in by_luck(100)
    assert "fewer than 2 of these 101" in by_luck(101)


PARTS = {"h": "holds", "hh": "holds", "hfu": "depends", "hf": "depends", "hu": "undecided", "uf": "undecided"}


@pytest.mark.parametrize("parts", PARTS)
def test_verdicts_of_several_readings_are_combined(parts):
    verdicts = [{"h": "holds", "f": "fails", "u": "undecided"}[part] for part in parts]
    assert combine(*verdicts) == PARTS[parts]
    assert combine(*map(opposite, verdicts)) == opposite(PARTS[parts])


def test_an_effect_decided_below_the_threshold_is_negligible():
    """Include effects above 0 from every seed; three seeds decide nothing."""
    assert negligible([0.001, 0.002, 0.003, 0.001, 0.002, 0.004] * 2) == "holds"
    assert negligible([-0.03, 0.0, 0.01, -0.02, 0.015, -0.01] * 2) == "holds"
    assert negligible([0.1, 0.12, 0.09, 0.11, 0.1, 0.13] * 2) == "fails"
    assert negligible([0.01, 0.03, 0.02, 0.01, 0.025, 0.015] * 2) == "undecided"
    assert negligible([0.001, 0.002, 0.003]) == "undecided"


def test_findings_show_verdict_and_scope():
    first = claims_of("004")[0]
    (row,) = findings("004", [first.text]).rows
    assert (row[1], row[2], row[-1]) == (first.text, first.measure().verdict, first.scope)


@pytest.mark.parametrize(("note", "only"), [("005", ()), ("004", ("v2 writes poems",))])
def test_a_claim_that_no_note_makes_is_refused(note, only):
    with pytest.raises(ValueError, match=f"no claim of note '{note}' among 000, 001"):
        claims_of(note, only)
