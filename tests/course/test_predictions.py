"""A guess is remembered, counted only if it came in time, and never stored in a notebook."""

import ipywidgets
import pytest

from babygpt.errors import BadInput
from babygpt_course import predictions
from babygpt_course.predictions import parse_number, predict, tally

ORDER, SHARE = "Which of <them> wins?", "How many of 200 questions are answered?"


@pytest.fixture(autouse=True)
def fresh_kernel(monkeypatch):
    monkeypatch.setattr(predictions, "GUESSES", {})


def winner():
    return predict(ORDER, ["v3", "v4", "neither"])


def share():
    return predict(SHARE, low=0, high=100, unit="%")


# ---------------------------------------------------------------- questions


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        (("?",), {}, "choices, or else low and high"),
        (("?", ["a", "b"]), {"low": 0, "high": 1}, "choices, or else low and high"),
        (("?", "ab"), {}, "'ab'"),
        (("?", ["a", "b", "a"]), {}, "different"),
        (("?",), {"low": 3, "high": 3}, "low=3"),
    ],
)
def test_an_impossible_question_is_refused(args, kwargs, words):
    with pytest.raises(BadInput) as caught:
        predict(*args, **kwargs)
    assert words in str(caught.value)


def test_a_guess_survives_a_cell_that_is_run_again_and_no_other_question():
    for guess in (winner(), share()):
        assert not guess.field.value  # nothing is chosen at first
        assert isinstance(guess.field, ipywidgets.RadioButtons | ipywidgets.Text)
        assert (guess.field.description, guess.field.tooltip) == ("Your guess", guess.question)
    assert "<them>" not in winner().box.children[0].value  # text, not markup
    winner().field.value = "v3"
    share().field.value = "48 %"
    assert (winner().value, share().value) == ("v3", 48.0)
    assert predict(ORDER, ["v3", "v5"]).value is None


def test_numbers_are_read_as_people_type_them():
    read = {
        "48": 48,
        " 48 ": 48,
        "0.5": 0.5,
        "0,5": 0.5,
        "0,125": 0.125,  # a leading 0 is no group of thousands
        "-0,125": -0.125,
        "0,125,000": None,
        "1,200": 1200,
        "1,200.5": 1200.5,
        "1,234,567": 1234567,
    }
    read |= {"−3": -3, "-3": -3, "1e3": 1000, "": None, "many": None, "nan": None, "inf": None, "1,2,3": None}
    assert {text: parse_number(text) for text in read} == read


@pytest.mark.parametrize("junk", ["many", "101", "-1", "nan"])
def test_an_unreadable_guess_is_named_and_not_stored(junk):
    guess = share()
    guess.field.value = "30"
    guess.field.value = junk
    assert guess.value is None
    assert "0% to 100%" in guess.message.value
    assert junk in guess.message.value
    guess.field.value = "31"
    assert (guess.value, guess.message.value) == (31.0, "Kept.")


# ---------------------------------------------------------------- comparisons


def test_guesses_and_outcomes_are_shown_side_by_side_and_counted():
    winner().field.value = "v3"
    share().field.value = "30"
    predict("Never compared?", ["yes", "no"]).field.value = "yes"
    winner().compare("v4")
    share().compare(48)
    winner().field.value = "v4"  # too late
    assert "You guessed: v3. It came out: v4. ✗" in winner().result.value
    assert "You guessed: 30%. It came out: 48%. ✗ (18 points away)" in share().result.value
    assert "120%" in repr(share().compare(120))  # an outcome may lie outside the ends
    found = tally()
    assert found.sentence() == "0 of 2 guesses were right; 3 were asked for."
    assert list(found.table.rows) == [
        (ORDER, "v3", "v4", "✗"),
        (SHARE, "30%", "120%", "✗"),
        ("Never compared?", "yes", "–", ""),
    ]


@pytest.mark.parametrize(("guess", "mark"), [(38, "✓"), (58, "✓"), (37.9, "✗"), (58.1, "✗")])
def test_near_means_within_a_tenth_of_the_range(guess, mark):
    share().field.value = str(guess)
    share().compare(48)
    assert mark in share().result.value
    exact = predict("?", low=-10, high=10, near=0)
    exact.compare(-2.0)
    assert (exact.mark(-2.0), exact.mark(-2.1), exact.in_words(-2.0)) == ("✓", "✗", "−2")


def test_a_late_guess_is_shown_and_not_counted():
    winner().compare("v4")
    winner().field.value = "v4"
    assert "You guessed: v4. It came out: v4. ✓ Guessed after the outcome was shown." in winner().result.value
    winner().compare("v4")
    found = tally()
    assert (found.asked, found.made, found.right, found.late) == (1, 0, 0, 1)
    assert "1 came after the outcome, and do not count." in found.sentence()


# ---------------------------------------------------------------- the text that a notebook stores


def test_no_stored_text_contains_the_guess():
    texts = set()
    for guess in ("v3", "v4", "neither"):
        predictions.GUESSES.clear()
        winner().field.value = guess
        texts.add((repr(winner()), repr(winner().compare("v4")), repr(tally())))
    ((asked, compared, counted),) = texts
    assert asked == f"Predict. {ORDER}\n[v3 / v4 / neither]"
    assert predictions.KEPT in compared
    assert predictions.KEPT in counted
    assert repr(share()) == f"Predict. {SHARE}\n[0% to 100%]"
    assert "Which of &lt;them&gt; wins?<br>[v3 / v4 / neither]" in winner().still()


def test_run_all_needs_no_guess():
    assert repr(tally()) == "0 guesses were asked for. No guess was made."
    assert repr(winner().compare("v4")) == f"It came out: v4. {predictions.NO_GUESS}"
    assert winner()._ipython_display_() is None  # outside a kernel, too
