"""Holes that are words, how seldom a question is asked in earnest, and the study's bookkeeping."""

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from torch.nn.functional import cross_entropy

from babygpt.config import ModelConfig
from babygpt.data.batches import IGNORED
from babygpt.data.corpus import load_corpus
from babygpt.models.versions import build
from babygpt.objectives.diffusion import denoise, mask_token_id
from babygpt_course.studies import who
from babygpt_course.studies.results import load_results


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


def test_the_figure_shows_each_seed_of_an_arm_at_the_end_of_its_curve():
    results = load_results("who")
    figure = Figure()
    who.draw_who(figure, results)
    drawn = np.concatenate([np.ravel(line.get_xdata()) for line in figure.axes[0].lines])
    drawn = np.concatenate([drawn, *(np.asarray(c.get_offsets())[:, 0] for c in figure.axes[0].collections)])
    arm = next(arm for arm in results["roles"] if not arm.startswith("words"))
    for curve in results["roles"][arm]:
        assert np.isclose(drawn, 100 * curve[-1], atol=1e-6).any()
