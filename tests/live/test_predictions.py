"""A guess is kept, counted only if it was made in time, and nothing of it goes into a notebook."""

import threading

import ipywidgets
import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from babygpt.errors import BadInput
from babygpt.live import predict, predictions, tally
from babygpt.live.answers import parse_number

ORDER, SHARE = "Which of them wins?", "How many of 200 questions are answered?"


@pytest.fixture(autouse=True)
def fresh_kernel(monkeypatch):
    monkeypatch.setattr(predictions, "GUESSES", {})


def winner():
    return predict(ORDER, ["v3", "v4", "neither"])


def share():
    return predict(SHARE, low=0, high=100, unit="%")


# ---------------------------------------------------------------- asking


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: predict("", ["a", "b"]), "''"),
        (lambda: predict("  ", ["a", "b"]), "question"),
        (lambda: predict(3, ["a", "b"]), "3"),
        (lambda: predict("?"), "choices, or else low and high"),
        (lambda: predict("?", low=1), "choices, or else low and high"),
        (lambda: predict("?", ["a", "b"], low=0, high=1), "choices, or else low and high"),
        (lambda: predict("?", ["a"]), "'a'"),
        (lambda: predict("?", "ab"), "'ab'"),
        (lambda: predict("?", ["a", "b", "a"]), "different"),
        (lambda: predict("?", ["a", " "]), "' '"),
        (lambda: predict("?", [1, 2]), "1"),
        (lambda: predict("?", low=3, high=3), "3"),
        (lambda: predict("?", low=0, high=float("inf")), "inf"),
        (lambda: predict("?", low=float("nan"), high=1), "nan"),
        (lambda: predict("?", low=0, high=1, near=-1), "-1"),
    ],
)
def test_what_cannot_be_asked_is_refused(ask, told):
    with pytest.raises(BadInput) as caught:
        ask()
    assert told in str(caught.value)


def test_a_cell_that_is_run_again_keeps_the_guess():
    winner().field.value = "v3"
    share().field.value = "48"
    assert (winner().value, share().value) == ("v3", 48.0)
    assert winner() is winner()


def test_another_question_under_the_same_words_begins_without_a_guess():
    winner().make("v3")
    assert predict(ORDER, ["v3", "v5"]).value is None


def test_nothing_is_chosen_at_first():
    assert winner().field.value is None
    assert share().field.value == ""


def test_widgets_are_native_ones_with_a_name():
    for guess in (winner(), share()):
        assert isinstance(guess.field, ipywidgets.RadioButtons | ipywidgets.Text)
        assert guess.field.description == "Your guess"
        assert guess.field.tooltip == guess.question


def test_a_question_is_text_and_no_markup():
    assert "<b>x</b>" not in predict("Is <b>x</b> larger?", ["yes", "no"]).box.children[0].value


# ---------------------------------------------------------------- numbers as people type them


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("48", 48),
        (" 48 ", 48),
        ("0.5", 0.5),
        ("0,5", 0.5),
        ("1,200", 1200),
        ("1,200.5", 1200.5),
        ("1,234,567", 1234567),
        ("−3", -3),
        ("-3", -3),
        ("1e3", 1000),
        ("", None),
        ("many", None),
        ("nan", None),
        ("inf", None),
        ("1,2,3", None),
    ],
)
def test_numbers_are_read_as_typed(typed, number):
    assert parse_number(typed) == number


def test_the_unit_may_be_typed_too():
    share().field.value = "48 %"
    assert share().value == 48.0


@pytest.mark.parametrize("junk", ["many", "101", "-1", "nan"])
def test_what_is_no_such_number_is_said_and_not_kept(junk):
    guess = share()
    guess.field.value = "30"
    guess.field.value = junk
    assert guess.value is None
    assert "0% to 100%" in guess.message.value
    assert junk in guess.message.value
    guess.field.value = "31"
    assert (guess.value, guess.message.value) == (31.0, "Kept.")


def test_a_guess_can_be_made_without_the_widget():
    share().make(0)
    assert (share().value, share().field.value) == (0.0, "0")
    share().make(None)
    assert (share().value, share().field.value) == (None, "")
    winner().make("v4")
    assert winner().field.value == "v4"
    with pytest.raises(BadInput, match="v9"):
        winner().make("v9")
    with pytest.raises(BadInput, match="101"):
        share().make(101)
    assert (winner().value, share().value) == ("v4", None)


# ---------------------------------------------------------------- comparing


def test_the_guess_stands_beside_the_outcome():
    winner().make("v3")
    share().make(30)
    winner().compare("v4")
    share().compare(48)
    assert "You guessed: v3. It came out: v4. ✗" in winner().result.value
    assert "You guessed: 30%. It came out: 48%. ✗ (18% away)" in share().result.value


@pytest.mark.parametrize(("guess", "mark"), [(38, "✓"), (58, "✓"), (37.9, "✗"), (58.1, "✗")])
def test_near_is_a_tenth_of_the_way_from_end_to_end(guess, mark):
    share().make(guess)
    share().compare(48)
    assert share().mark(guess) == mark
    assert mark in share().result.value


def test_near_can_be_given():
    asked = predict("?", low=-10, high=10, near=0)
    assert asked.kind.right(-2.0, -2.0)
    assert not asked.kind.right(-2.0, -2.1)
    assert asked.kind.words(-2.0) == "−2"


@pytest.mark.parametrize("outcome", ["v9", None, 4])
def test_an_outcome_is_one_of_the_choices(outcome):
    with pytest.raises(BadInput, match=str(outcome)):
        winner().compare(outcome)
    assert winner().outcome is None


@pytest.mark.parametrize("outcome", ["many", None, float("nan")])
def test_an_outcome_is_a_number(outcome):
    with pytest.raises(BadInput, match=str(outcome)):
        share().compare(outcome)


def test_an_outcome_may_lie_outside_the_ends():
    share().make(90)
    assert "120%" in repr(share().compare(120))


def test_a_late_guess_is_shown_and_not_counted():
    winner().compare("v4")
    winner().field.value = "v4"
    assert "You guessed: v4. It came out: v4. ✓ Guessed after the outcome was shown." in winner().result.value
    winner().compare("v4")
    found = tally()
    assert (found.asked, found.made, found.right, found.late) == (1, 0, 0, 1)
    assert "1 came after the outcome, and do not count." in found.sentence()


def test_what_counts_is_the_guess_made_before():
    winner().make("v3")
    winner().compare("v4")
    winner().field.value = "v4"
    winner().compare("v4")
    assert "You guessed: v3." in winner().result.value
    assert (tally().made, tally().right) == (1, 0)


def test_the_tally_lists_all_in_order():
    winner().make("v4")
    share().make(10)
    predict("Never compared?", ["yes", "no"]).make("yes")
    winner().compare("v4")
    share().compare(48)
    found = tally()
    assert found.sentence() == "1 of 2 guesses were right; 3 were asked for."
    assert list(found.table.rows) == [
        (ORDER, "v4", "v4", "✓"),
        (SHARE, "10%", "48%", "✗"),
        ("Never compared?", "yes", "–", ""),
    ]


def test_a_tally_of_nothing():
    assert repr(tally()) == "0 guesses were asked for. No guess was made."
    assert tally()._ipython_display_() is None


def test_guesses_from_many_threads_are_all_kept():
    def ask(i):
        for _ in range(20):
            predict(f"number {i % 4}?", low=0, high=1000).make(i)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [g.value % 4 for g in predictions.GUESSES.values()] == [
        int(question[7]) for question in predictions.GUESSES
    ]
    assert tally().asked == 4


# ---------------------------------------------------------------- what a notebook keeps


@pytest.mark.parametrize("guess", ["v3", "v4", "neither"])
def test_no_text_tells_the_guess(guess):
    winner().make(guess)
    words = repr(winner()), repr(winner().compare("v4")), repr(tally())
    winner().make("neither")
    predictions.GUESSES.clear()
    winner().make("v3")
    assert (repr(winner()), repr(winner().compare("v4")), repr(tally())) == words
    assert predictions.KEPT in words[1]
    assert predictions.KEPT in words[2]


def test_no_answer_is_needed():
    assert repr(winner()) == f"Predict. {ORDER}\n[v3 / v4 / neither]"
    assert repr(share()) == f"Predict. {SHARE}\n[0% to 100%]"
    assert repr(winner().compare("v4")) == f"It came out: v4. {predictions.NO_GUESS}"
    assert repr(tally()) == "2 guesses were asked for. No guess was made."
    assert winner()._ipython_display_() is None  # outside a kernel, too


CELLS = (
    "from babygpt.live import predict, tally",
    "guess = predict('Which?', ['SECRET', 'other'])\nguess",
    "guess.make('SEC' + 'RET')\nguess.compare('other')",
    "tally()",
)


def test_a_notebook_that_ran_holds_widgets_words_and_no_guess(monkeypatch, tmp_path):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))  # in a fresh clone Make's own has no parent yet
    nb = new_notebook(cells=[new_code_cell(source) for source in CELLS])
    NotebookClient(
        nb, timeout=300, startup_timeout=300, kernel_name="python3", store_widget_state=False
    ).execute()
    asked, compared, counted = ([o.data for o in cell.outputs] for cell in nb.cells[1:])
    for (data,) in (asked, compared, counted):
        assert set(data) == {"text/plain", "application/vnd.jupyter.widget-view+json"}
    assert asked[0]["text/plain"] == "Predict. Which?\n[SECRET / other]"
    stored = nbformat.writes(new_notebook(cells=nb.cells[2:]))
    assert "SECRET" not in stored
    assert "widget-state" not in stored


def test_a_page_gets_words_of_their_own_beside_the_widget(monkeypatch):
    shown = []
    monkeypatch.setattr(predictions, "current_cell", lambda: ("cell", "1"))
    monkeypatch.setattr(predictions, "show", lambda data, **_: shown.append(data))
    predict("Is a < b?", ["yes", "no"])._ipython_display_()
    widget, words = shown
    assert "application/vnd.jupyter.widget-view+json" in widget
    assert widget["text/plain"] == ""  # the widget's own text would hold its value
    assert set(words) == {"text/html", "text/plain"}
    assert "Is a &lt; b?<br>[yes / no]" in words["text/html"]
    assert "babygpt-still" in words["text/html"]
