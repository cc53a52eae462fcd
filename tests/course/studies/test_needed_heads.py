"""Study of needed heads: the parts of a question, where heads look, and what is exchanged."""

import numpy as np
import pytest
import torch

from babygpt import build, load_corpus, metrics
from babygpt.experiments.sweep import StudySize, in_turn, questions, small_config
from babygpt.metrics.inspection import attention_layers
from babygpt_course.studies import needed_heads

PROMPT = "\nfera fed pera. who fed? "


@pytest.fixture(scope="module")
def case():
    """Return a model whose heads differ, questions, and their rows."""
    corpus = load_corpus("plain-tales", 20_000)
    torch.manual_seed(0)
    model = build("v4", small_config(corpus, 64))
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3)
    role_questions = questions(corpus, 64, 12)
    return corpus, model, role_questions, needed_heads.PromptRows(corpus, role_questions)


def test_the_other_question_asks_for_the_other_name():
    exchanged = needed_heads.exchanged_question(PROMPT)
    assert exchanged == "\nfera fed pera. fed whom? "
    assert needed_heads.exchanged_question(exchanged) == PROMPT


def test_each_part_of_a_prompt_is_found():
    parts = needed_heads.parts_of(PROMPT, "pera", "fera", 30)
    texts = ["".join(c for c, here in zip(PROMPT, part, strict=False) if here) for part in parts]
    assert texts == ["pera.", "fera ", " who fed?", " "]
    assert parts[3].nonzero().item() == len(PROMPT) - 1


def test_heads_look_where_their_weights_are(case):
    corpus, model, role_questions, rows = case
    looks, before = needed_heads.looks(model, rows)
    role_questions = [q for q in role_questions if q.answer[0] != q.rival[0]]
    last, back = [], []
    for q in role_questions:
        weights = metrics.attention_weights(model, corpus.tokenizer.encode(q.prompt))  # (L, H, T, T)
        start = q.prompt.index(q.answer)
        last.append(weights[:, :, -1, start : start + len(q.answer) + 1].sum(axis=-1))
        back.append(np.diagonal(weights, -1, 2, 3))
    np.testing.assert_allclose(looks[..., 0], np.mean(last, axis=0), rtol=1e-4)
    on_names = needed_heads.weights_from_last(model, rows) * rows.parts[0]  # (L, H, Q, T)
    np.testing.assert_allclose(looks[..., 0], on_names.sum(dim=-1).mean(dim=-1), rtol=1e-4)
    np.testing.assert_allclose(before, np.concatenate(back, axis=2).mean(axis=2), rtol=1e-4)


def test_one_head_is_exchanged_at_the_last_token_only(case):
    _, model, _, rows = case
    outputs, n = [], torch.arange(len(rows.ids))
    handle = attention_layers(model)[1].out.register_forward_hook(
        lambda _, inputs, __: outputs.append(inputs[0].unflatten(-1, (4, -1)))
    )
    needed_heads.exchanged(model, rows, 1, 2)
    with torch.no_grad():
        model(rows.ids)
    handle.remove()
    twin, mixed, plain = outputs
    last = rows.parts[3].int().argmax(dim=1)
    assert torch.equal(mixed[n, last, 2], twin[n, rows.twins_last, 2])
    assert not torch.equal(mixed[n, last, 2], plain[n, last, 2])
    mixed = mixed.clone()
    mixed[n, last, 2] = plain[n, last, 2]
    assert torch.equal(mixed, plain)


def test_two_silent_heads_stand_beside_one(case):
    corpus, model, role_questions, rows = case

    def right(ablated):
        return metrics.role_accuracy(ablated, corpus.tokenizer, role_questions)

    dissection = needed_heads.dissect_answers(model, right, rows)
    np.testing.assert_allclose(needed_heads.alone(dissection), metrics.ablate_heads(model, right), atol=1e-4)
    with metrics.without_heads(model, [(0, 3), (1, 1)]):
        assert (
            dissection["without"][3][5]
            == dissection["without"][5][3]
            == pytest.approx(right(model), abs=1e-4)
        )
    assert {len(shares) for shares in dissection["silent"].values()} == {8}


def test_only_seeds_that_answer_are_dissected():
    tiny = StudySize(steps=2, seeds=(1, 2), n_chars=20_000, n_questions=8)
    results = needed_heads.measure_heads(in_turn, tiny)
    assert len(results["heads"]) == 2
    assert needed_heads.dissected(results | {"accuracy": [0.5, 0.95]}) == results["heads"][1:]
