"""`claims`: the lines that it prints for each claim, and its counts."""

import pytest

from babygpt.experiments.paired import RULE
from babygpt_course import claims as package
from babygpt_course.claims import Claim, Finding


@pytest.fixture
def two_notes(monkeypatch):
    """Return three claims of two notes, of which two fail by one fault."""
    monkeypatch.setattr(
        package,
        "CLAIMS",
        (
            Claim("000_a.txt", "gates turn", lambda: Finding("holds", 2.5, "they do"), "门转", "gates turn!"),
            Claim(
                "001_b.txt",
                "K falls",
                lambda: Finding("fails", 0.0, "it rises"),
                quote="K 下降",
                translation="K falls off",
                reading="of position, not of distance",
                scope="a head of 8",
                fault="position for distance",
            ),
            Claim("001_b.txt", "K ends", lambda: Finding("fails", 1.0, "no"), fault="position for distance"),
        ),
    )


def test_claims_prints_every_field_of_a_claim(run, two_notes):
    result = run("claims", "001")
    assert result.exit_code == 0, result.output
    assert "✗ fails: K falls  [0]" in result.stdout
    fields = ("K 下降", "K falls off", "of position, not of distance", "a head of 8", "it rises")
    assert all(part in result.stdout for part in fields)
    assert "gates" not in result.stdout
    assert result.stdout.rstrip().endswith("001: 0 hold, 0 depend, 0 undecided, 2 fail, by 1 fault")


def test_all_notes_are_counted_together(run, two_notes):
    lines = run("claims").stdout.splitlines()
    assert "000: 1 hold, 0 depend, 0 undecided, 0 fail, by 0 faults" in lines
    assert lines[-1] == "2 notes: 1 hold, 0 depend, 0 undecided, 2 fail, by 1 fault"
    assert [line for line in lines if line.startswith("====")] == ["==== 000_a.txt", "==== 001_b.txt"]


def test_an_unknown_note_is_refused(run, refused, two_notes):
    refused(run("claims", "007"), "no claim of note '007' among 000, 001")


def test_a_new_claim_joins_the_table_of_the_claim_before_it(run, two_notes, tmp_path):
    """Replace the old rows by their texts; keep the text around the tables and other notes' rows."""
    heading = "| | the note says |\n|---|---|\n"
    page = tmp_path / "001.md"
    page.write_text(f"First.\n\n{heading}| holds | K falls |\n\nThen.\n\n{heading}| holds | K is gone |\n")
    index = tmp_path / "README.md"
    row = "| [000](000.md) | 1 | 0 | 0 | 0 | 0 |\n"
    index.write_text(f"7 claims\n\n{row}| [001](001.md) | 2 | 0 | 0 | 0 | 0 |\n")
    assert run("claims", "001", "--write", str(tmp_path)).exit_code == 0
    rows = "| fails | K falls |\n| fails | K ends |\n"
    assert page.read_text() == f"First.\n\n{heading}{rows}\nThen.\n\n{heading}"
    assert index.read_text() == f"3 claims\n\n{row}| [001](001.md) | 0 | 0 | 0 | 2 | 1 |\n"


def test_the_rule_is_printed_where_trained_models_are_compared(run, monkeypatch):
    claim = Claim("000_a.txt", "gates gain", lambda: Finding("undecided", 0.01, "three seeds", 36))
    monkeypatch.setattr(package, "CLAIMS", (claim,))
    printed = " ".join(run("claims").stdout.split())
    assert "? undecided: gates gain [0.01]" in printed
    assert f"1 undecided, 0 fail, by 0 faults {RULE} Between equal models luck would decide" in printed
