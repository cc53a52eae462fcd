"""Tables read the same on every machine as text, and carry the numbers as HTML."""

import pytest

from babygpt.claims import findings
from babygpt.claims.note_004 import parameters
from babygpt.invariants import Verdict, promises
from babygpt.tables import source


def test_promises_hide_the_numbers_in_text_and_show_them_in_html():
    table = promises([Verdict("kept", 1.5e-8, 1e-6), Verdict("broken <b>", 3.0, 1e-6)])
    assert repr(table) == "✓  kept\n✗  broken <b>"
    html = table._repr_html_()
    assert "1.5e-08" in html
    assert "broken &lt;b&gt;" in html


def test_findings_run_the_claims_they_show():
    table = findings("004", only=["v2 adds block_size × n_embd parameters to v1"])
    assert repr(table) == "✓  v2 adds block_size × n_embd parameters to v1  holds"


def test_an_unknown_note_is_refused():
    with pytest.raises(ValueError, match="no claim of note '999'"):
        findings("999")


def test_source_shows_the_file():
    assert "def parameters" in source(parameters)._repr_markdown_()
