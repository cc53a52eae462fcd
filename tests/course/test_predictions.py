"""A guess is remembered, counted only if it came in time, and never stored in a notebook."""

import json
from pathlib import Path

import ipywidgets
import pytest

from babygpt.errors import BadInput
from babygpt_course import predictions
from babygpt_course.predictions import (
    GUESS_FILE,
    class_view,
    export_guesses,
    forget_guesses,
    parse_number,
    predict,
    tally,
)

TABLES = Path(__file__).resolve().parents[1] / "tables"
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
    """Compare with a table that a test of the book's page reads, too."""
    table = json.loads((TABLES / "numbers.json").read_text(encoding="utf-8"))
    assert {text: parse_number(text) for text in table} == table


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
    summary = tally()
    assert summary.sentence() == "0 of 2 guesses were right; 3 were asked for."
    assert list(summary.table.rows) == [
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
    summary = tally()
    assert (summary.asked, summary.made, summary.right, summary.late) == (1, 0, 0, 1)
    assert "1 came after the outcome, and do not count." in summary.sentence()


# ---------------------------------------------------------------- the text that a notebook stores


def test_no_stored_text_contains_the_guess():
    texts = set()
    for guess in ("v3", "v4", "neither"):
        predictions.GUESSES.clear()
        winner().field.value = guess
        texts.add((repr(winner()), repr(winner().compare("v4")), repr(tally())))
    ((question, compared, counted),) = texts
    assert question == f"Predict. {ORDER}\n[v3 / v4 / neither]"
    assert predictions.KEPT in compared
    assert predictions.KEPT in counted
    assert repr(share()) == f"Predict. {SHARE}\n[0% to 100%]"
    assert "Which of &lt;them&gt; wins?<br>[v3 / v4 / neither]" in winner().still()


def test_run_all_needs_no_guess():
    assert repr(tally()) == "0 guesses were asked for. No guess was made."
    assert repr(winner().compare("v4")) == f"It came out: v4. {predictions.NO_GUESS}"
    assert winner()._ipython_display_() is None  # outside a kernel, too


# ---------------------------------------------------------------- the file beside the notebook


@pytest.fixture
def start_kernel(monkeypatch, tmp_path):
    """Return a function that forgets what a kernel knows, as a restart does; a person runs the cells."""

    def start(page=("cell", "run")):
        monkeypatch.setattr(predictions, "GUESSES", {})
        monkeypatch.setattr(predictions, "SAID", set())
        monkeypatch.setattr(predictions, "current_cell", lambda: page)

    monkeypatch.chdir(tmp_path)
    start()
    return start


def test_guesses_survive_a_restart_and_count(start_kernel):
    winner().field.value, share().field.value = "v3", "48,5"
    start_kernel()
    assert (winner().value, winner().field.value, winner().message.value) == ("v3", "v3", "Kept.")
    assert (share().value, share().field.value) == (48.5, "48.5")
    assert predict(ORDER, ["v3", "v5"]).value is None  # another question
    winner().field.value = "v4"  # changed before the outcome
    assert predictions.KEPT in repr(winner().compare("v4"))
    start_kernel()
    winner().compare("v4")
    assert (tally().made, tally().right) == (1, 1)


@pytest.mark.parametrize("first", [None, "v3"])
def test_a_guess_after_the_outcome_was_once_shown_does_not_count_after_a_restart(start_kernel, first):
    winner().field.value = first
    winner().compare("v4")
    start_kernel()
    winner().field.value = "v4"
    winner().compare("v4")
    assert (tally().made, tally().right) == (first is not None, 0)
    assert winner().counted == first


def test_a_run_without_a_front_end_neither_reads_nor_writes_the_file(start_kernel):
    start_kernel(page=None)
    winner().field.value = "v3"
    winner().compare("v4")
    start_kernel()
    share()  # asked, and neither guessed nor shown
    assert not GUESS_FILE.exists()
    winner().field.value = "v3"
    file_bytes = GUESS_FILE.read_bytes()
    start_kernel(page=None)
    assert predictions.NO_GUESS in repr(winner().compare("v4"))
    assert GUESS_FILE.read_bytes() == file_bytes


@pytest.mark.parametrize("content", [b"", b"\xff", b"[1]", b'{"a": 1}', b"[" * 100_000])
def test_a_damaged_file_is_set_aside_in_one_line(start_kernel, content):
    GUESS_FILE.write_bytes(content)
    words = ".guesses.json was damaged and is now .guesses.damaged.json; new guesses are kept."
    assert (winner().message.value, share().message.value) == (words, "")
    assert GUESS_FILE.with_suffix(".damaged.json").read_bytes() == content
    winner().field.value = "v3"
    start_kernel()
    assert winner().value == "v3"


@pytest.mark.parametrize("guess", ["v9", 3, None, ["v3"], float("nan")])
def test_a_guess_that_does_not_fit_its_question_is_not_taken(start_kernel, guess):
    entry = {"question": "?", "guess": guess, "shown": False}
    keys = winner().key, predict("?", low=-1, high=1).key
    start_kernel()
    GUESS_FILE.write_text(json.dumps(dict.fromkeys(keys, entry)))
    assert winner().value is None
    assert predict("?", low=-1, high=1).value is None


def test_a_folder_that_cannot_be_written_is_said_once_and_the_kernel_keeps_guesses(start_kernel, monkeypatch):
    def refuse(path, content):
        raise OSError(f"{path} could not be written: Read-only file system")

    monkeypatch.setattr(predictions, "write_atomically", refuse)
    winner().field.value, share().field.value = "v3", "48"
    words = "Kept until the kernel stops: .guesses.json could not be written: Read-only file system"
    assert (winner().message.value, share().message.value) == (words, "Kept.")
    assert (winner().value, share().value) == ("v3", 48.0)


def test_one_call_forgets_all_guesses(start_kernel):
    forget_guesses()  # Forgetting no guesses raises no error.
    winner().field.value, share().field.value = "v3", "48"
    winner().compare("v3")
    forget_guesses()
    assert not GUESS_FILE.exists()
    assert (winner().value, winner().result.value, share().field.value) == (None, "", "")
    winner().field.value = "v4"
    winner().compare("v4")
    assert (tally().made, tally().right) == (1, 1)


# ---------------------------------------------------------------- a class


def send(monkeypatch, name, order, number):
    """Return the line of a student with these guesses."""
    monkeypatch.setattr(predictions, "GUESSES", {})
    winner().field.value, share().field.value = order, number
    return export_guesses(name)


def test_a_class_is_counted_question_by_question_beside_the_outcome(monkeypatch):
    sent = ("Ada", "v3", "48,5"), ("Ben", "neither", "100"), ("Caro", "v3", "")
    lines = [send(monkeypatch, *guesses) for guesses in sent]
    assert lines[2] == f"Caro: {winner().key}=0"
    assert winner().key == "7bc5bcc5"  # The key is the same on every machine.
    monkeypatch.setattr(predictions, "GUESSES", {})
    winner(), share()
    share().compare(104)  # outside the ends, and so in the last range
    rows = [row for row in class_view(lines).rows if row[2] != "0" or row[3]]
    assert rows == [
        (ORDER, "v3", "2", "██"),
        ("", "neither", "1", "█"),
        ("", "40% to 50%", "1", "█"),
        ("", "90% to 100%", "1", "█ ← came out"),
        ("all students", "", "3", ""),
    ]
    winner().compare("v4")
    assert class_view("\n".join(lines)).rows[1] == ("", "v4", "0", " ← came out")


def test_a_late_guess_is_not_exported(monkeypatch):
    winner().compare("v4")
    winner().field.value = "v4"
    assert export_guesses("Ada") == "Ada:"


@pytest.mark.parametrize("name", ["", " ", "a=b", "a\nb", None])
def test_a_name_that_a_line_cannot_hold_is_refused(name):
    with pytest.raises(BadInput, match="the name"):
        export_guesses(name)


def counted(lines):
    """Return the numbers of a class: of each answer to ORDER, of students, of unread lines."""
    rows = class_view(lines).rows
    return [int(row[2]) for row in [*rows[:3], *rows[-2:]]]


def test_a_student_counts_once_with_the_last_line_of_the_name():
    key = winner().key
    first, last = f"Ada  L.: {key}=0", f"ada l.: {key} = 1"
    assert counted([first]) == [1, 0, 0, 1, 0]
    assert counted([first, last, last]) == [0, 1, 0, 1, 0]
    assert counted([first, f"Ben: {key}=0", f"{key}=2", f"{key}=2"]) == [2, 0, 2, 4, 0]


def test_what_answers_no_question_of_the_kernel_is_counted_by_lines():
    order, number = winner().key, share().key
    lines = (
        "hello everybody",
        "Ada: 0123abcd=1",
        "Ben:",
        f"Caro: {order}=9 {number}=101",
        f"Dora: {order}=0.5",
        " ",
    )
    assert counted([*lines, f"Emil: {order}=2; {number}=nan"]) == [0, 0, 1, 1, 5]
    table = class_view("\n".join(f"student {i}: {order}=1" for i in range(99)))
    assert [row[2:] for row in table.rows[:2]] == [("0", ""), ("99", 40 * "█")]
