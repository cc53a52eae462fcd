"""Where heads look, on texts whose answer is known; and questions that only order can tell apart."""

import numpy as np
import pytest
import torch

from babygpt.metrics import attention_weights
from babygpt_course.real import heads, views
from babygpt_course.real.questions import margins, mirrors


def test_targets_of_a_text_that_is_read_by_hand():
    targets = heads.targets(torch.tensor([7, 1, 2, 1, 2]))  # row 3 looks back to 1, row 4 to 2
    pairs = {kind: [tuple(place) for place in where.nonzero().tolist()] for kind, where in targets.items()}
    assert pairs[heads.BEFORE] == [(2, 1), (3, 2), (4, 3)]
    assert pairs[heads.FIRST] == [(2, 0), (3, 0), (4, 0)]
    assert pairs[heads.SAME] == [(3, 1), (4, 2)]
    assert pairs[heads.FOLLOWED] == [(3, 2), (4, 3)]


def test_shares_are_those_of_the_attention_weights(awake):
    model, idx = awake("v4"), torch.tensor([3, 1, 2, 1, 2, 0, 1])
    weights, shares = attention_weights(model, idx), heads.head_looks(model, idx)
    L, H = weights.shape[:2]
    want = [weights[:, :, 3, 2], weights[:, :, 4, 3], weights[:, :, 6, 2] + weights[:, :, 6, 4]]
    np.testing.assert_allclose(shares[heads.FOLLOWED], np.mean(want, axis=0), rtol=1e-5)
    assert all(share.shape == (L, H) for share in shares.values())
    far = heads.looks_by_distance(model, idx, 3)
    np.testing.assert_allclose(far[:, :, 2], weights.diagonal(-2, 2, 3)[:, :, 1:].mean(axis=-1), rtol=1e-5)


def test_a_repeated_text_is_drawn_from_its_seed():
    idx = heads.repeated_tokens(60, 49_152, 198, seed=3)
    assert idx[0] == 198
    assert torch.equal(idx[1:61], idx[61:])
    assert torch.equal(idx, heads.repeated_tokens(60, 49_152, 198, seed=3))
    assert len(idx[1:61].unique()) == 60


def test_each_question_has_its_mirror_image_and_examples_about_others():
    questions = mirrors(2)
    assert len(questions) == 30
    names = {(question.right, question.other) for question in questions}
    assert {(b, a) for a, b in names} == names
    for question in questions:
        *examples, prompt = question.text.split("\n")
        assert len(examples) == 2
        assert prompt.startswith(question.right)
        assert prompt.split(". ")[0].endswith(question.other)
        assert not any(name in example for example in examples for name in (question.right, question.other))


def test_names_are_one_token_and_questions_are_equally_long(real_model):
    _, tokenizer = real_model
    lengths = {len(tokenizer.encode(question.text)) for question in mirrors(1)}
    assert len(lengths) == 1
    assert all(len(tokenizer.encode(f" {question.right}", start=False)) == 1 for question in mirrors(0))


def test_margins_are_differences_of_log_probabilities(real_model):
    model, tokenizer = real_model
    (question,) = questions = mirrors(1)[:1]
    with torch.inference_mode():
        log_p = model(tokenizer.encode(question.text)[None].to(model.norm.weight.device))[0, -1].log_softmax(
            -1
        )
    ids = [int(tokenizer.encode(f" {name}", start=False)[0]) for name in (question.right, question.other)]
    assert margins(model, tokenizer, questions)[0] == pytest.approx(
        float(log_p[ids[0]] - log_p[ids[1]]), abs=1e-3
    )


def test_the_view_shows_the_weights_of_the_chosen_head_and_refuses_long_texts(real_model):
    model, tokenizer = real_model
    shown = views.attention(model, tokenizer, "Ada ran. Ada ran.", layer=17, head=1)
    (panel,) = shown.now()
    weights = attention_weights(model, tokenizer.encode("Ada ran. Ada ran."))[16, 0]
    np.testing.assert_allclose(panel.marks[0].values, weights, atol=1e-6)
    assert panel.title.startswith("Layer 17, head 1: ")
    shown.text = "word " * 40
    assert shown.shown["problem"] == "42 tokens are too many for the picture: at most 32"
