"""Numbers of a text, counted by hand."""

import math

import pytest

from babygpt.errors import BadInput
from babygpt.metrics.texts import distinct, entropy, repeated_share, text_measures, words


def test_shares_of_grams_equal_counts_by_hand():
    """Count the pairs of abab: ab, ba, ab."""
    assert distinct("abab", 1) == 2 / 4
    assert distinct("abab", 2) == 2 / 3
    assert repeated_share("abab", 2) == 2 / 3
    assert repeated_share("abab", 3) == 0


def test_words_are_counted_like_characters():
    assert words("who's there? ada, ben-hur. ada!") == ["who's", "there", "ada", "ben-hur", "ada"]
    assert distinct(words("ada met ben. ada met eve."), 2) == 4 / 5
    assert repeated_share(words("ada met ben. ada met ben."), 3) == 2 / 4


def test_a_text_without_such_grams_has_no_number():
    for measure in (distinct, repeated_share):
        assert math.isnan(measure("ab", 3))
        with pytest.raises(BadInput):
            measure("ab", 0)
    assert math.isnan(entropy(""))


def test_entropy_equals_the_value_by_hand():
    assert entropy("aaaa") == pytest.approx(0)
    assert entropy("abcd") == pytest.approx(math.log(4))
    assert entropy("aaab") == pytest.approx(0.75 * math.log(4 / 3) + 0.25 * math.log(4))


def test_words_are_measured_only_where_they_are_asked_for():
    assert text_measures("a b a b", has_words=True)["distinct_2_words"] == 2 / 3
    assert not [name for name in text_measures("我爱你", has_words=False) if "words" in name]
