"""Ways to fill in: which texts count as right, and which sampler a name means."""

import pytest
import torch
import torch.nn.functional as F

from babygpt.config import ModelConfig
from babygpt.data.corpus import load_corpus
from babygpt.models.versions import build
from babygpt.sampling import SecondThoughts, fill_in, rewrite
from babygpt_course.studies import remasking


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("plain-tales", 20_000, with_mask=True)


@pytest.fixture(scope="module")
def judge(corpus):
    """Return a model that finds every character equally likely."""
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


def test_a_sampler_has_the_settings_that_its_name_tells():
    fill = remasking.SAMPLERS["again by doubt, 0.3"]["16"]
    assert (fill.func, fill.keywords) == (rewrite, {"thoughts": SecondThoughts(16, 0.3, 5.0)})
    assert remasking.SAMPLERS["by chance"]["16"].func is fill_in


def test_a_judge_says_how_likely_a_text_is_and_how_unsure_it_was(awake, text):
    judge, ids = awake("v4"), text(3, 12)
    surprise, unsure = remasking.nll_and_entropy(judge, ids, start=4)
    log_p = judge(ids[:, :-1])[:, 3:].log_softmax(-1)
    expected = F.nll_loss(log_p.transpose(1, 2), ids[:, 4:], reduction="none").mean(1)
    torch.testing.assert_close(surprise.float(), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(unsure.float(), -(log_p.exp() * log_p).sum(-1).mean(1), atol=1e-5, rtol=0)


def test_a_text_longer_than_the_window_is_read_to_its_end(awake, text):
    """Each token is judged after half a window at least: the last one after the 15 before it."""
    judge, ids = awake("v4", block_size=16), text(2, 41)
    surprise, _ = remasking.nll_and_entropy(judge, ids, start=1)
    by_hand = []
    for begin in range(1, 41, 8):
        end = min(begin + 8, 41)
        log_p = judge(ids[:, max(0, end - 17) : end - 1]).log_softmax(-1)
        picked = log_p[:, begin - end :].gather(-1, ids[:, begin:end, None])[..., 0]
        by_hand.append(-picked)
    torch.testing.assert_close(surprise.float(), torch.cat(by_hand, 1).mean(1), atol=1e-5, rtol=0)
    changed = ids.clone()
    changed[:, -1] = (changed[:, -1] + 1) % 11
    assert (remasking.nll_and_entropy(judge, changed, 1)[0] != surprise).all()


@pytest.mark.parametrize("start", [0, 12])
def test_a_judge_needs_something_before_and_after(awake, text, start):
    with pytest.raises(ValueError, match=rf"start \({start}\) must lie between 1 and 11"):
        remasking.nll_and_entropy(awake("v4"), text(1, 12), start)
