"""Holes that are words, how seldom a question is asked in earnest, and the study's bookkeeping."""

from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy

from babygpt.config import ModelConfig
from babygpt.data.batches import IGNORED
from babygpt.data.corpus import load_corpus
from babygpt.models.versions import build
from babygpt.objectives.diffusion import denoise, mask_token_id
from babygpt_course.studies import who
from babygpt_course.studies.results import load_results
from babygpt_course.studies.sweep import Scale, in_turn


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("plain-tales", 9_000, with_mask=True)


def test_whole_words_are_lost_and_the_text_stays_the_same(corpus):
    objective, draw = who.WordHoles(corpus, 64), torch.Generator().manual_seed(0)
    idx, targets, rates = objective.batch(400, draw)
    hidden, text = targets != IGNORED, torch.where(targets == IGNORED, idx, targets)
    assert corpus.tokenizer.decode(text[0]) in corpus.tokenizer.decode(corpus.train)
    letter = objective.is_letter[text]
    inside = letter[:, 1:] & letter[:, :-1]  # both of two neighbours belong to one word
    assert inside.any()
    assert not (inside & (hidden[:, 1:] != hidden[:, :-1])).any()
    assert (~inside & (hidden[:, 1:] != hidden[:, :-1])).any()
    assert float(hidden.float().mean()) == pytest.approx(float(rates.mean()), abs=0.03)  # as often as letters


@pytest.mark.parametrize(("hidden", "visible"), [(4, 4), (1, 1), (3, 0), (2, 5)])
def test_the_share_of_asking_is_the_integral(hidden, visible):
    t = (torch.arange(100_000).double() + 0.5) / 100_000
    integral = float((t**hidden * (1 - t) ** visible).mean())
    assert who.share_of_asking(hidden, visible) == pytest.approx(integral, rel=1e-6)


def test_each_arm_is_asked_at_every_point():
    scale = Scale(steps=12, n_chars=9_000, n_questions=2, seeds=(1, 2))
    found = who.measure_who(in_turn, scale, arms=("letters", "next letter"))
    for arm in ("letters", "next letter"):
        assert [len(curve) for curve in found["roles"][arm]] == [who.POINTS] * 2
    assert list(found["hidden"]) == ["letters"]  # what reads from left to right has no holes
    assert found["asked"][-1] == 12 * 16 * 64 // 2  # half the characters of 16 windows a step


def test_a_wholly_masked_answer_is_scored_by_its_letters(corpus):
    """By the last of exact_nelbo's sets, in which all letters are masked: their losses, added up."""
    torch.manual_seed(0)
    model = build("v7", ModelConfig(corpus.tokenizer.vocab_size, 64, n_layer=1, n_head=2, n_embd=16))
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3)
    question, _ = corpus.grammar.questions(2, 0, 64)
    text = corpus.tokenizer.encode(question.prompt + question.answer + question.end)
    at = torch.arange(len(question.prompt), len(question.prompt) + len(question.answer))
    logits = denoise(model, text.index_fill(0, at, mask_token_id(model))[None])[0, at].detach()
    right, wrong = who.hidden_answers(model, corpus.tokenizer, [question])[0]
    assert right == pytest.approx(-float(cross_entropy(logits, text[at], reduction="sum")), abs=1e-4)
    other = corpus.tokenizer.encode(question.rival)
    assert wrong == pytest.approx(-float(cross_entropy(logits, other, reduction="sum")), abs=1e-4)


def test_the_page_says_what_is_stored():
    found = load_results("who")
    page = (Path(__file__).parents[3] / "docs" / "results.md").read_text(encoding="utf-8")
    assert f"after {found['steps']:,} steps too ({['no', 'one', 'two'][len(found['seeds'])]} seed" in page
    assert 0.4 < found["roles"]["letters, RoPE"][0][-1] < 0.6
    assert 0.4 < found["hidden"]["words, RoPE"][0] < 0.6
    assert max(found["roles"]["words, RoPE"][0]) < 0.6 < 0.9 < found["roles"]["next letter"][0][-1]
    assert f"one question in {round(1 / who.share_of_asking(4, 4))} is" in page
