"""Ways to fill in: which texts count as right, and which sampler a name means."""

from functools import partial

import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.data.corpus import load_corpus
from babygpt.models.versions import build
from babygpt.sampling import SecondThoughts, ancestral, fill_in, rewrite
from babygpt_course.studies import remasking


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("plain-tales", 20_000, with_mask=True)


@pytest.fixture(scope="module")
def judge(corpus):
    """Finds every character as likely as any other."""
    model = build("v1", ModelConfig(len(corpus.tokenizer.characters), 64))
    for p in model.parameters():
        torch.nn.init.zeros_(p)
    return model


def test_a_sentence_is_right_by_itself(corpus):
    single = remasking.sentences_of(corpus.grammar)
    names, verbs = corpus.grammar.words["name"], corpus.grammar.words["verb"]
    a, b, verb = names[0], names[1], verbs[0]
    right = [f"{a} {verb} {b}.", f"who {verb}?", f"{verb} whom?", f"{b}.", f"so {a} {verb} {b}."]
    wrong = [f"{a} {verb} {a}.", f"{a} {verb} {b}", f"{verb}?", f"{a} {verb}.", f"{a}x.", f"so {a}."]
    assert all(single.derivations(text) for text in right)
    assert not any(single.derivations(text) for text in wrong)


def test_true_texts_are_right_and_begin_a_tale(corpus, judge):
    texts = remasking.true_texts(corpus, 7, 64)
    assert texts.shape == (7, 64)
    assert all(corpus.tokenizer.decode(row).startswith("\n") for row in texts)
    found = remasking.text_quality(texts, corpus, judge)
    assert found["sentences"] == found["tales"] == 1.0
    assert found["whole_tales"] > 0
    assert (
        found["judge_nll"]
        == found["judge_entropy"]
        == pytest.approx(torch.tensor(float(len(corpus.tokenizer.characters))).log())
    )


def test_each_wrong_sentence_and_tale_is_counted(corpus, judge):
    """Two tales of which the first has its answer exchanged: its sentences are right, and it is not."""
    a, b, c = corpus.grammar.words["name"][:3]
    verb = corpus.grammar.words["verb"][0]
    text = f"\n{a} {verb} {b}. who {verb}? {c}.\n{a} {verb} {b}. who {verb}? {a}.\nwho who? "
    found = remasking.text_quality(corpus.tokenizer.encode(text)[None], corpus, judge)
    assert found["whole_tales"] == 2
    assert found["tales"] == 0.5
    assert found["sentences"] == pytest.approx(6 / 7)
    assert found["distinct_words"] == pytest.approx(5 / 14)


@pytest.mark.parametrize(
    ("name", "setting", "expected"),
    [
        ("by chance", "16", partial(fill_in, order=ancestral(16))),
        ("again by doubt, 0.3", "16", partial(rewrite, thoughts=SecondThoughts(16, 0.3, 5.0))),
    ],
)
def test_a_way_to_fill_in_is_the_sampler_that_it_names(awake, name, setting, expected):
    model, blank = awake("v7"), torch.full((2, 12), 10)
    ours, other = (
        fill(model, blank, generator=torch.Generator().manual_seed(0)).tokens
        for fill in (remasking.SAMPLERS[name][setting], expected)
    )
    assert torch.equal(ours, other)
