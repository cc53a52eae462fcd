"""Tables read the same on every machine as text, and carry the numbers as HTML."""

import pytest

from babygpt.experiments.paired import format_mean_sd, mean_sd
from babygpt.invariants import Promise, promises
from babygpt.tables import markdown, source
from babygpt_course.claims import findings
from babygpt_course.claims.note_004 import parameters


def test_promises_hide_the_numbers_in_text_and_show_them_in_html():
    table = promises([Promise("kept", 1.5e-8, 1e-6), Promise("broken <b>", 3.0, 1e-6)])
    assert repr(table) == "✓  kept\n✗  broken <b>"
    html = table._repr_html_()
    assert "1.5e-08" in html
    assert "broken &lt;b&gt;" in html


def test_findings_run_the_claims_they_show():
    table = findings("004", only=["v2 adds block_size × n_embd parameters to v1"])
    assert repr(table) == "✓  v2 adds block_size × n_embd parameters to v1  holds"


def test_rows_that_are_not_first_fold_out_and_unknown_ones_are_refused():
    wanted = "v2 tells 我爱你 from 你爱我"
    only = ["v2 adds block_size × n_embd parameters to v1", "so v2 can write on past block_size"]
    table = findings("004", only, first=only[1:])
    assert [row[1] for row in table.rows] == only[::-1]
    seen, folded = table._repr_html_().split("<details><summary>1 more</summary>")
    assert only[1] in seen
    assert only[0] in folded
    assert "<details>" not in findings("004", only)._repr_html_()
    with pytest.raises(ValueError, match="no claim of note '001'"):
        findings("001", first=[wanted])
    with pytest.raises(ValueError, match="no claim of note '999'"):
        findings("999")


@pytest.mark.parametrize(
    ("values", "form", "text"),
    [
        ([1.0, 2.0, 3.0], ".3f", "2.000 ± 1.000"),
        ([0.5, 0.7], ".0%", "60% ± 14%"),
        ([2.0], ".1f", "2.0"),
        ([], ".3f", "–"),
    ],
)
def test_mean_and_deviation_show_if_there_are_any(values, form, text):
    assert format_mean_sd(mean_sd(values), form) == text


def test_markdown_has_a_line_for_each_row():
    found = markdown(("a", "b"), [("1", "2"), ("3", "4")])
    assert found == "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n"


def test_source_shows_the_file():
    assert "def parameters" in source(parameters)._repr_markdown_()
