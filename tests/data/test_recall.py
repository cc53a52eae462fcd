"""Tales with notes: a question asks for each noted value at the drawn distance; the tale is unchanged."""

import random
import re
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.data import load_corpus, recall_corpus, tales
from babygpt.data.recall import VALUES, Spacing, alphabet, recall_windows, weave, write_recall_text
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput

NOTE_OR_QUESTION = re.compile(r"<(?P<told>\w)>|\[(?P<digit>\d)\]|\{(?P<capital>[A-Z])\}|\((?P<greek>[α-ω])\)")
TOKENIZER = CharTokenizer(alphabet())


@st.composite
def spacings(draw: st.DrawFn) -> Spacing:
    nearest = draw(st.integers(3, 30))
    return Spacing(nearest, nearest + draw(st.integers(0, 60)), draw(st.floats(0, 1)))


def kind_of(value: str) -> str:
    return "digit" if value.isdigit() else "capital" if value.isascii() else "greek"


def askings(text: str) -> list[tuple[int, str, str]]:
    """Return for every question of a text its distance, the noted value, and the value asked for."""
    waiting: dict[str, tuple[int, str]] = {}
    questions = []
    for note in NOTE_OR_QUESTION.finditer(text):
        place, value = note.start(), note[note.lastgroup]
        if note["told"]:
            assert kind_of(value) not in waiting, "told again before it was asked"
            waiting[kind_of(value)] = place, value
        else:
            begun, noted = waiting.pop(note.lastgroup)
            questions.append((place - begun, noted, value))
    return questions


@given(spacings(), st.integers(0, 99))
def test_each_question_follows_its_note_within_the_spacing(spacing: Spacing, seed: int) -> None:
    """Require no other note or question of its kind in between."""
    for distance, noted, answer in askings(write_recall_text(1000, seed, spacing)):
        assert spacing.nearest <= distance <= spacing.furthest
        assert noted == answer


@given(spacings(), st.integers(0, 99))
def test_removing_the_notes_gives_back_the_tale(spacing: Spacing, seed: int) -> None:
    tale = tales.plain().write(400, seed)
    woven = weave(tale, random.Random(seed), spacing)
    assert NOTE_OR_QUESTION.sub("", woven) == tale
    assert set(woven) <= set(alphabet())
    assert recall_corpus(200, spacing).tokenizer.characters == alphabet()


def test_values_are_drawn_evenly_and_every_distance_occurs() -> None:
    """Expect a chi-squared below 55.5 (27 degrees of freedom, 9 a kind), as in 999 of 1000 texts."""
    questions = askings(write_recall_text(200_000, 0))
    often = Counter(value for _, value, _ in questions)
    surprise = 0.0
    for values in VALUES.values():
        even = sum(often[value] for value in values) / len(values)
        surprise += sum((often[value] - even) ** 2 / even for value in values)
    assert surprise < 55.5
    assert [often.total() / 3] * 3 == pytest.approx(
        [sum(often[value] for value in values) for values in VALUES.values()], rel=0.1
    )
    distances = Counter(distance for distance, _, _ in questions)
    assert distances.keys() == set(range(8, 53))
    assert max(distances.values()) < 2 * min(distances.values())


def test_the_corpus_loads_by_name_and_has_no_floor() -> None:
    values = "".join(VALUES.values())
    assert len(set(values)) == 30
    assert not set(values) & set(tales.plain().alphabet())  # A value is therefore recognised anywhere.
    corpus = load_corpus("recall", 9000)
    assert (corpus.name, len(corpus.train), len(corpus.val)) == ("recall", 9000, 1000)
    assert corpus.grammar is corpus.floor is corpus.bigram_floor is None
    assert corpus.fingerprint() == load_corpus("recall", 9000).fingerprint()
    train_lines = set(corpus.tokenizer.decode(corpus.train).split("\n"))
    assert not train_lines & set(corpus.tokenizer.decode(corpus.val).split("\n")[:-1])
    assert load_corpus("recall", 90, with_mask=True).tokenizer.mask_id == len(alphabet())


# ---------------------------------------------------------------- windows


@given(st.integers(3, 150), st.integers(0, 50), st.booleans(), st.integers(0, 99))
def test_windows_ask_for_the_value_noted_at_that_distance(distance: int, more: int, is_told: bool, seed: int):
    """Require no other value of that kind in them."""
    length = distance + 1 + more
    windows = recall_windows(TOKENIZER, distance, 3, length, seed, is_told=is_told)
    assert windows.tokens.shape == (3, length)
    again, other_seed = (
        recall_windows(TOKENIZER, distance, 3, length, seed + n, is_told=is_told) for n in (0, 1)
    )
    assert all(torch.equal(a, b) for a, b in zip(windows, again, strict=True))
    assert not torch.equal(windows.tokens, other_seed.tokens) or length < 9
    for row, values, answer, _ in zip(*windows, strict=True):
        text = TOKENIZER.decode(row)
        choices = VALUES[text[-1]]
        assert TOKENIZER.decode(values) == choices
        assert sum(char in choices for char in text) == is_told
        assert text[-distance - 1 :].startswith(f"<{choices[answer]}>") == is_told


@given(
    st.integers(3, 150),
    st.lists(st.integers(3, 60).map(lambda n: 3 * n), unique=True, max_size=4),
    st.booleans(),
)
def test_older_values_stand_at_the_given_distances(distance: int, older: list[int], is_told: bool):
    """Require other values, and no further value of the kind."""
    windows = recall_windows(TOKENIZER, distance, 3, older=older, is_told=is_told)
    for row, _, answer, others in zip(*windows, strict=True):
        text = TOKENIZER.decode(row)
        choices = VALUES[text[-1]]
        noted = {back: others[i] for i, back in enumerate(older)} | ({0: answer} if is_told else {})
        assert len({answer.item(), *others.tolist()}) == len(older) + 1
        assert all(text[-distance - back - 1 :].startswith(f"<{choices[it]}>") for back, it in noted.items())
        assert sum(char in choices for char in text) == len(noted)


def test_a_window_begins_as_if_text_went_before_it() -> None:
    """Expect questions about notes before the window as often in its first characters as later."""
    rows = [TOKENIZER.decode(row) for row in recall_windows(TOKENIZER, 60, 1000).tokens]
    first, later = (
        sum(text[start : start + 15].count(end) for text in rows for end in "]})") for start in (5, 35)
    )
    assert first == pytest.approx(later, rel=0.25)


def test_impossible_windows_are_refused() -> None:
    for make, words in (
        (lambda: recall_windows(TOKENIZER, 2), r"distance \(2\) must be at least 3"),
        (lambda: recall_windows(TOKENIZER, 24, length=24), r"length \(24\) must be at least 25"),
        (lambda: recall_windows(TOKENIZER, 24, length=48, older=(8, 24)), "at least 49"),
        (lambda: recall_windows(CharTokenizer("abc"), 24), "not in the vocabulary"),
    ):
        with pytest.raises(BadInput, match=words):
            make()
