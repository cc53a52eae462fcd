"""Tables read the same on every machine as text, rounding noise included."""

import pytest

from babygpt.experiments.paired import format_mean_sd, mean_sd
from babygpt.invariants import Promise, promises
from babygpt.tables import format_measured, markdown, source
from babygpt_course.claims import findings
from babygpt_course.claims.note_004 import parameters


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [
        (1.1e-6, 1e-4, "below 1e-4"),
        (9.5e-7, 1e-4, "below 1e-4"),
        (0.0, 1e-4, "below 1e-4"),  # Another processor gives 1e-7.
        (-3e-8, 1e-4, "below 1e-4"),
        (4e-13, 1e-6, "below 1e-6"),
        (3e-7, 1 / 3, "below 1e-4"),  # holds by far, and is noise
        (3e-5, 1e-6, "3e-05"),  # breaks the promise, so it is no noise
        (1.2e-4, 1e-4, "0.00012"),
        (0.2, 1 / 3, "0.2"),
        (0.0, 0.0, "0"),  # a count, and no noise allowed
        (1e-7, 0.0, "1e-07"),
        (2.0, 3.0, "2"),
    ],
)
def test_rounding_noise_is_shown_as_below_its_limit(value, limit, text):
    promise = Promise("kept or broken", value, limit)
    assert promise.measured == format_measured(value, limit) == text
    assert promise.holds is (value <= limit)
    assert not text.startswith("below") or promise.holds


def test_promises_show_one_text_on_every_processor():
    here, there = ([Promise("kept", 1.5e-8 * by, 1e-6), Promise("broken <b>", 3.0, 1e-6)] for by in (1, 9))
    assert (
        repr(promises(here)) == repr(promises(there)) == "✓  kept  below 1e-6  1e-6\n✗  broken <b>  3  1e-6"
    )
    assert promises(here)._repr_html_() == promises(there)._repr_html_()
    assert "broken &lt;b&gt;" in promises(here)._repr_html_()


def test_findings_run_the_claims_they_show():
    table = findings("004", only=["v2 adds block_size × n_embd parameters to v1"])
    assert repr(table) == "✓  v2 adds block_size × n_embd parameters to v1  holds"


def test_rows_that_are_not_first_fold_out_and_unknown_ones_are_refused():
    sentence = "v2 tells 我爱你 from 你爱我"
    only = ["v2 adds block_size × n_embd parameters to v1", "so v2 can write on past block_size"]
    table = findings("004", only, first=only[1:])
    assert [row[1] for row in table.rows] == only[::-1]
    shown, folded = table._repr_html_().split("<details><summary>1 more</summary>")
    assert only[1] in shown
    assert only[0] in folded
    assert "<details>" not in findings("004", only)._repr_html_()
    with pytest.raises(ValueError, match="no claim of note '001'"):
        findings("001", first=[sentence])
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
    table = markdown(("a", "b"), [("1", "2"), ("3", "4")])
    assert table == "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n"


def test_source_shows_the_file():
    assert "def parameters" in source(parameters)._repr_markdown_()
