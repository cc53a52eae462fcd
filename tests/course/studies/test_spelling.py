"""Study of who spells: what is read, exchanged and silenced, on a circuit built by hand."""

import torch

from babygpt import load_corpus
from babygpt.experiments.sweep import StudySize, in_turn, questions
from babygpt.metrics.inspection import attention_layers
from babygpt_course.studies import spelling

TINY = StudySize(steps=4, seeds=(1, 2), n_chars=20_000, n_questions=12)


def test_a_twin_differs_in_the_vowel_of_the_right_name_alone():
    corpus = load_corpus("plain-tales", 20_000)
    letter_rows = spelling.second_letter_rows(corpus, questions(corpus, 64, 40))
    rows = torch.arange(len(letter_rows.ids))
    differs = letter_rows.ids != letter_rows.twins
    assert (differs.sum(dim=1) == 1).all()
    assert differs[rows, letter_rows.mention + 1].all()
    assert torch.equal(letter_rows.ids[rows, letter_rows.mention + 1], letter_rows.vowel)
    assert torch.equal(letter_rows.twins[rows, letter_rows.mention + 1], letter_rows.twin_vowel)
    assert torch.equal(
        letter_rows.ids[rows, letter_rows.last], letter_rows.ids[rows, letter_rows.mention]
    )  # the first letter is given


def test_a_seed_that_spells_is_dissected_at_three_steps_and_another_at_the_end(monkeypatch):
    shares = iter([0.9, 0.9, 0.1, 0.1])
    monkeypatch.setattr(spelling.metrics, "whole_answer_accuracy", lambda *_: next(shares))
    results = spelling.measure_spelling(in_turn, TINY, every=2)
    steps = [{stage: dissection["step"] for stage, dissection in seed.items()} for seed in results["stages"]]
    assert steps == [{"before": 2, "click": 2, "end": 4}, {"end": 4}]
    assert results["spells"] == [[0.9, 0.9], [0.1, 0.1]]
    shares = iter([0.1, 0.1, 0.9, 0.9])  # the second seed writes more names
    results = spelling.measure_spelling(in_turn, TINY, every=2)
    assert [*spelling.last_of(results)] == [2, 1]


def test_the_vowel_that_layer_1_writes_is_exchanged_at_its_letter_only(monkeypatch):
    """Expect the twin's output of one head at the exchanged letter, and the model's own elsewhere."""
    corpus = load_corpus("plain-tales", 20_000)
    letter_rows = spelling.second_letter_rows(corpus, questions(corpus, 64, 8))
    model = spelling.build("v4", spelling.small_config(corpus, 64))
    layer, outputs = attention_layers(model)[0], []
    layer.out.register_forward_hook(lambda _, inputs, __: outputs.append(inputs[0].unflatten(-1, (4, -1))))
    spelling.patch_letters(model, letter_rows, [2], 2)
    twin, mixed = outputs
    with torch.no_grad():
        model(letter_rows.ids)
    plain, rows = outputs[-1], torch.arange(len(letter_rows.ids))
    assert torch.equal(mixed[rows, letter_rows.mention + 2, 2], twin[rows, letter_rows.mention + 2, 2])
    assert not torch.equal(twin[rows, letter_rows.mention + 2, 2], plain[rows, letter_rows.mention + 2, 2])
    mixed = mixed.clone()
    mixed[rows, letter_rows.mention + 2, 2] = plain[rows, letter_rows.mention + 2, 2]
    assert torch.equal(mixed, plain)
