"""Tests of the tool that counts what a reader of a lesson has to take in."""

import pytest
from click.testing import CliRunner

from tools.lengths import main, measure_lengths

TEXTS = [
    "# A heading with 7 words does not count here",
    "v4 has 2 layers of [96](a/page/12.md) channels, and $x_1 + 2$ is no number. It learns.",
    "## Exercises\n\nWrite 100 lines.",
]


def test_words_numbers_and_sentences_before_the_exercises_are_counted():
    lengths = measure_lengths(TEXTS)
    assert lengths.numbers == 2  # 2 and 96: neither the name v4 nor links and formulas
    assert lengths.words == len(f"{TEXTS[0]} {TEXTS[1]}".split())
    assert lengths.longest == 13
    assert (lengths.sentence, lengths.short) == (6.5, 0.5)


def test_a_lesson_without_text_has_no_sentences():
    assert measure_lengths([]) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("number", ["03a", "08"])
def test_the_command_counts_a_lesson_that_is_named(number):
    printed = CliRunner().invoke(main, [number])
    assert printed.exit_code == 0
    (row,) = [line for line in printed.output.splitlines() if line.startswith(f"| {number}")]
    assert row.count("|") == 7
