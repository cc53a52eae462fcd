"""The first screen of a lesson's page: goals and set-up fold away, so that the first picture is near."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from tools.book.opening import fold_setup, open_page, split_goals

LEAD = "# 04 · RoPE\n\n**Why?**\n\nThe model below turns."
GOALS = "1. turn a clock,\n2. read it."
NEEDS = "**Needs:** nothing. **Takes:** about 15 seconds, and by our estimate 57 minutes to read and guess."


def test_goals_and_needs_stand_behind_one_line_with_the_minutes():
    lead, folded = split_goals(f"{LEAD} You will be able to\n\n{GOALS}\n\n{NEEDS}")
    assert lead == LEAD
    assert "<summary>What you will be able to do · 57 minutes</summary>" in folded
    assert folded.endswith(f"\n\n{GOALS}\n\n{NEEDS}\n\n</details>")
    lead, folded = split_goals(f"{LEAD}\n\n{NEEDS}")
    assert lead == LEAD
    assert folded.startswith('<details class="goals"><summary>What you need')
    with pytest.raises(ValueError, match="no needs in"):
        split_goals(LEAD)


def test_the_first_picture_comes_right_after_the_question_and_all_else_below_it():
    code, later = new_code_cell("draw()"), [new_markdown_cell("then"), new_code_cell("y")]
    head, picture, below, *rest = open_page(
        [new_markdown_cell(f"{LEAD}\n\n{NEEDS}"), code, *later], "A note."
    )
    assert head.source == LEAD
    assert picture.source == "draw()"
    assert picture.metadata["tags"] == ["hide-input", "opening"]
    assert below.source.startswith("<details")
    assert below.source.endswith("</details>\n\nA note.")
    assert rest == later


def test_goals_stand_below_the_question_of_a_page_that_begins_with_two_texts():
    cells = [new_markdown_cell(f"{LEAD}\n\n{NEEDS}"), new_markdown_cell("then"), new_code_cell("y")]
    head, below, *rest = open_page(cells)
    assert (head.source, rest) == (LEAD, cells[1:])
    assert below.source.endswith("</details>")


def test_the_code_before_the_second_text_is_one_folded_cell_with_all_outputs():
    outputs = [new_output("stream", text=text) for text in ("first", "second")]
    setup = [new_code_cell("import math"), *(new_code_cell(f"x{i}", outputs=[outputs[i]]) for i in range(2))]
    later = [new_markdown_cell("then"), new_code_cell("y"), new_markdown_cell("last")]
    head, joined, *rest = fold_setup([new_markdown_cell("# Title"), *setup, *later])
    assert head.source == "# Title"
    assert joined.source == "import math\n\nx0\n\nx1"
    assert joined.outputs == outputs
    assert "hide-input" in joined.metadata["tags"]
    assert rest == later
    assert not rest[1].metadata.get("tags")


def test_a_page_of_two_texts_stays_as_it_is():
    cells = [new_markdown_cell("# Title"), new_markdown_cell("then"), new_code_cell("y")]
    assert fold_setup(cells) == cells
