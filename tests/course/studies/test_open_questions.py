"""Study of what lesson 11 left open: letters, heads together, inserted letters, frozen pairs, clicks."""

from math import inf

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from babygpt import build
from babygpt.encodings import Encoding, PerLayer
from babygpt.experiments.sweep import StudySize, in_turn, questions, small_config
from babygpt.metrics.inspection import attention_weights, written_by_heads
from babygpt_course.studies import open_questions as study
from babygpt_course.studies.spelling import look, patch_letters, second_letter_rows, second_letters
from babygpt_course.studies.stretching import with_encoding

TINY = StudySize(steps=6, seeds=(1, 2), n_chars=20_000, n_questions=12)


@pytest.fixture
def model(corpus):
    """Return an untrained v4 whose every layer writes something."""
    torch.manual_seed(0)
    model = build("v4", small_config(corpus, 64))
    for name, p in model.named_parameters():
        if name.endswith(("out.weight", "head.weight")):
            torch.nn.init.normal_(p, std=0.3)
    return model


# ---------------------------------------------------------------- letters


def test_letters_are_counted_where_the_written_name_is_first_wrong(corpus, model, monkeypatch):
    quiz = questions(corpus, 64, 40)
    texts = [q.answer if i % 2 else q.answer[:2] + "x" + q.answer[3:] for i, q in enumerate(quiz)]
    texts[0] = "x" + quiz[0].answer[1:3] + "x"  # the first of two wrong letters counts
    texts[2] = quiz[2].answer + "x"  # the end does not come
    monkeypatch.setattr(study.metrics, "greedy_answers", lambda *_: texts)
    wrong = study.measure_letters(model, corpus, quiz)["first wrong"]
    assert wrong == [1 / 40, 0, 18 / 40, 0, 1 / 40]


def test_a_letter_is_right_if_the_ones_before_it_are_given(corpus, model):
    """Compare the letters with the likeliest one after each prompt, read one text at a time."""
    quiz = questions(corpus, 64, 6)
    expected = []
    for q in quiz:
        text, name = corpus.tokenizer.encode(q.prompt + q.answer + q.end), q.answer + q.end
        likeliest = corpus.tokenizer.decode(model(text[None])[0].argmax(dim=-1))
        expected.append([likeliest[len(q.prompt) + i - 1] == letter for i, letter in enumerate(name)])
    assert study.letters_right(model, corpus, quiz).tolist() == expected


def test_letters_that_both_names_share_are_told_from_the_others(corpus, model, monkeypatch):
    quiz = questions(corpus, 64, 40)
    third = np.array([q.answer[2] == q.rival[2] for q in quiz])
    right = np.ones((len(quiz), 5), dtype=bool)
    right[:, 2] = third  # a model that takes the third letter from the wrong name
    monkeypatch.setattr(study, "letters_right", lambda *_: right)
    numbers = study.measure_letters(model, corpus, quiz)
    assert (numbers["shared"][2], numbers["unshared"][2]) == (1.0, 0.0)
    assert numbers["letters"][2] == round(third.mean(), 4)
    assert numbers["unshared"][3:] == [None, None]  # every name ends with an a, and all end alike


# ---------------------------------------------------------------- heads


def test_all_heads_exchanged_at_one_letter_are_those_of_the_study_of_spelling(corpus, model):
    rows = second_letter_rows(corpus, questions(corpus, 64, 40))
    for letter in (1, 2):
        together = patch_letters(model, rows, None, letter)
        assert together == patch_letters(model, rows, range(4), letter)


def test_another_first_letter_changes_nothing_else_in_the_story(corpus):
    quiz = questions(corpus, 64, 40)
    rows, decode = second_letter_rows(corpus, quiz), corpus.tokenizer.decode
    firsts = {name[0] for name in corpus.grammar.words["name"]}
    new = set()
    for ids, other, start in zip(rows.ids, study.with_other_firsts(corpus, rows), rows.mention, strict=True):
        text, changed = decode(ids), decode(other)
        assert changed[start] in firsts - {text[start]}
        assert changed[:start] + text[start] + changed[start + 1 :] == text
        new.add(changed[start])
    assert len(new) > 3  # not one letter for all


def test_an_exchange_before_a_head_that_writes_nothing_changes_nothing(corpus, model):
    rows = second_letter_rows(corpus, questions(corpus, 64, 40))
    twins = study.with_other_firsts(corpus, rows)
    own = second_letters(model, rows)
    assert not torch.equal(study.second_letters_exchanged(model, rows, twins, [1, 2]), own)
    torch.nn.init.zeros_(model.blocks[0].attention.out.weight)
    own = second_letters(model, rows)
    assert torch.equal(study.second_letters_exchanged(model, rows, twins, [1, 2]), own)


def test_silencing_two_heads_has_each_head_alone_on_its_diagonal(corpus, model):
    rows = second_letter_rows(corpus, questions(corpus, 64, 40))
    shares = np.array(study.without_two(model, rows))
    assert shares.shape == (2, 4, 4)
    assert np.array_equal(shares, shares.transpose(0, 2, 1))
    assert shares[1, 2, 2] == study.right_without(model, rows, [(1, 2)])
    assert shares[1, 0, 3] == study.right_without(model, rows, [(1, 0), (1, 3)])


# ---------------------------------------------------------------- position or kind


@pytest.mark.parametrize("kind", study.INSERTED)
def test_a_letter_is_inserted_between_vowel_and_third_letter(corpus, kind):
    quiz = [q for q in questions(corpus, 64, 40) if q.prompt.count(q.answer) == 1]
    rows, decode = study.InsertedRows(corpus, quiz, kind), corpus.tokenizer.decode
    for i, q in enumerate(quiz):
        text, third = decode(rows.ids[i, : rows.last[i] + 1]), int(rows.third[i])
        name = text[third - 3 : third + 2]
        assert name[:2] + name[3:] == q.answer
        assert (name[2] in "aeiou") == (kind == "vowel")
        assert name[2] not in q.answer[:2]
        assert (decode(rows.vowel[i : i + 1]), decode(rows.inserted[i : i + 1])) == (name[1], name[2])
        assert text[: third - 1] + text[third:] == q.prompt + q.answer[0]
    assert len(set(rows.inserted.tolist())) > 3  # not one letter for all


class Row:
    """Weights of a head that looks as far back as it is told."""

    def __init__(self, back):
        self.back = back

    def __call__(self, model, ids, use):
        weights = torch.zeros(len(ids), 4, ids.shape[1], ids.shape[1])
        places = torch.arange(self.back, ids.shape[1])
        weights[:, 3, places, places - self.back] = 1.0
        return [use(weights)]


def test_a_head_that_follows_position_is_told_from_one_that_follows_vowels(corpus, model, monkeypatch):
    rows = study.InsertedRows(corpus, questions(corpus, 64, 40), "consonant")
    for back, expected in {1: (1.0, 0.0), 2: (0.0, 1.0)}.items():
        monkeypatch.setattr(study, "each_weights", Row(back))
        numbers = study.measure_inserted(model, rows, writer=3)
        assert (numbers["one before"], numbers["two before"]) == expected
    assert study.measure_inserted(model, rows, writer=0)["two before"] == 0


def test_pairs_of_one_head_are_frozen_and_the_other_heads_stay(corpus, model):
    text = corpus.val[:20]
    own = attention_weights(model, text)

    def weights_with(turns):
        layers = [study.HeadFrozenRotary(model.encoding, 2, turns), model.encoding]
        return attention_weights(with_encoding(model, PerLayer(layers)), text)

    every, none = torch.ones(12, dtype=torch.bool), torch.zeros(12, dtype=torch.bool)
    np.testing.assert_allclose(weights_with(every), own, atol=1e-6)
    frozen = weights_with(none)[0]
    np.testing.assert_allclose(frozen[[0, 1, 3]], own[0][[0, 1, 3]], atol=1e-6)
    unrotated = attention_weights(with_encoding(model, PerLayer([Encoding(), model.encoding])), text)
    np.testing.assert_allclose(frozen[2], unrotated[0, 2], atol=1e-6)
    assert abs(frozen[2] - own[0, 2]).max() > 0.01


def test_the_writer_and_a_control_are_frozen(corpus, model):
    rows = second_letter_rows(corpus, questions(corpus, 64, 12))
    numbers = study.measure_frozen(model, rows)
    assert numbers["as trained"]["back"] == round(float(look(model, rows)[1][0].max()), 4)
    names = {f"{head}, {kind} frozen" for head in ("writer", "control") for kind in ("quickest", "others")}
    assert numbers.keys() == {"as trained", *names}
    assert len(written_by_heads(model, rows.ids)) == 2  # the model itself keeps its encoding
    assert numbers["writer, others frozen"] != numbers["writer, quickest frozen"]


# ---------------------------------------------------------------- runs


def curves(at, second, answers):
    return {"curves": {"at": at, "second": second, "answers": answers, "spells": answers}}


def test_clicks_of_vowel_and_answer_are_read_from_the_curves():
    runs = [curves([50, 100], [0.8, 0.9], [0.5, 0.9]), curves([50, 100], [0.5, 0.79], [0.95, 0.9])]
    results = {"seeds": [1, 2], "arms": {"v4": {"curves": [run["curves"] for run in runs]}}}
    assert study.first_clicks(results) == [(50, 100), (inf, 50)]


def test_a_note_lies_at_the_letter_where_the_exchange_turns_most_vowels():
    letters = {"second": (0.1, 0.9, 0.2), "third": (0.8, 0.0, 0.2), "fourth": (0.1, 0.0, 0.2)}
    letters |= {"second to fourth": (0.9, 0.9, 0.2)}  # which is no single letter
    exchanged = [{place: {"exchanged": turned[i]} for place, turned in letters.items()} for i in range(3)]
    assert [study.note_letter({"exchanged": each}) for each in exchanged] == ["third", "second", None]
    ax = Figure().subplots()
    study.draw_notes(ax, {"seeds": [7, 8, 9], "arms": {"v4": {"exchanged": exchanged[::-1]}}})
    assert [label.get_text() for label in ax.get_yticklabels()] == ["seed 9", "seed 8", "seed 7"]
    assert "turns the vowel in 1 seeds, the vowel itself in 1" in ax.get_title().replace("\n", " ")
    drawn = {line.get_label(): list(line.get_xdata()) for line in ax.lines}
    assert drawn["at the third"] == pytest.approx([80, 0, 20])
    assert drawn["at the vowel itself"] == pytest.approx([10, 90, 20])


def test_every_arm_is_trained_measured_drawn_and_tabulated():
    results = study.measure_open(in_turn, TINY, every=2)
    arms = results["arms"]
    assert arms.keys() == study.ARMS.keys()
    assert all(len(arm["end"]) == 2 for arm in arms.values())
    assert [arms[name]["curves"][0]["at"] for name in ("v4", "nope")] == [[2, 4, 6], [4, 8]]
    results = {"command": "made", "minutes": 1.0, **results}
    study.draw_open(Figure(figsize=(15, 9)), results)
    rows = [line for line in study.table(results).splitlines() if line.startswith("| 1 |")]
    assert len(rows) == 1
