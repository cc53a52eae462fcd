"""Study of who spells: what is read, exchanged and silenced, on a circuit built by hand."""

import torch

from babygpt import load_corpus
from babygpt.experiments.sweep import StudySize, in_turn, questions
from babygpt.metrics.inspection import attention_layers
from babygpt_course.studies import spelling

TINY = StudySize(steps=4, seeds=(1, 2), n_chars=20_000, n_questions=12)


def test_a_twin_differs_in_the_vowel_of_the_right_name_alone():
    corpus = load_corpus("plain-tales", 20_000)
    asked = spelling.ask(corpus, questions(corpus, 64, 40))
    rows = torch.arange(len(asked.ids))
    differs = asked.ids != asked.twins
    assert (differs.sum(dim=1) == 1).all()
    assert differs[rows, asked.mention + 1].all()
    assert torch.equal(asked.ids[rows, asked.mention + 1], asked.vowel)
    assert torch.equal(asked.twins[rows, asked.mention + 1], asked.other)
    assert torch.equal(
        asked.ids[rows, asked.last], asked.ids[rows, asked.mention]
    )  # the first letter is given


def test_a_seed_that_spells_is_dissected_at_three_steps_and_another_at_the_end(monkeypatch):
    shares = iter([0.9, 0.9, 0.1, 0.1])
    monkeypatch.setattr(spelling.metrics, "whole_answer_accuracy", lambda *_: next(shares))
    found = spelling.measure_spelling(in_turn, TINY, every=2)
    steps = [{stage: one["step"] for stage, one in seed.items()} for seed in found["stages"]]
    assert steps == [{"before": 2, "click": 2, "end": 4}, {"end": 4}]
    assert found["spells"] == [[0.9, 0.9], [0.1, 0.1]]
    shares = iter([0.1, 0.1, 0.9, 0.9])  # the second seed writes more names
    found = spelling.measure_spelling(in_turn, TINY, every=2)
    assert [*spelling.last_of(found)] == [2, 1]


def test_the_vowel_that_layer_1_writes_is_exchanged_at_its_letter_only(monkeypatch):
    """Expect the twin's output of one head at the exchanged letter, and the model's own elsewhere."""
    corpus = load_corpus("plain-tales", 20_000)
    asked = spelling.ask(corpus, questions(corpus, 64, 8))
    model = spelling.build("v4", spelling.small_config(corpus, 64))
    layer, seen = attention_layers(model)[0], []
    layer.out.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].unflatten(-1, (4, -1))))
    spelling.patched(model, asked, [2], 2)
    twin, mixed = seen
    with torch.no_grad():
        model(asked.ids)
    plain, rows = seen[-1], torch.arange(len(asked.ids))
    assert torch.equal(mixed[rows, asked.mention + 2, 2], twin[rows, asked.mention + 2, 2])
    assert not torch.equal(twin[rows, asked.mention + 2, 2], plain[rows, asked.mention + 2, 2])
    mixed = mixed.clone()
    mixed[rows, asked.mention + 2, 2] = plain[rows, asked.mention + 2, 2]
    assert torch.equal(mixed, plain)
