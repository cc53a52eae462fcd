"""Ways to fill in: the texts that count as right, and the sampler of each name."""

import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.data.corpus import load_corpus
from babygpt.encodings.base import Encoding
from babygpt.models.language_model import LanguageModel
from babygpt.sampling import SecondThoughts, rewrite
from babygpt_course.studies import remasking


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("plain-tales", 20_000, with_mask=True)


def test_the_sentence_grammar_accepts_right_sentences_alone(corpus):
    single = remasking.sentences_of(corpus.grammar)
    names, verbs = corpus.grammar.words["name"], corpus.grammar.words["verb"]
    a, b, verb = names[0], names[1], verbs[0]
    right = [f"{a} {verb} {b}.", f"who {verb}?", f"{verb} whom?", f"{b}.", f"so {a} {verb} {b}."]
    wrong = [f"{a} {verb} {a}.", f"{a} {verb} {b}", f"{verb}?", f"{a} {verb}.", f"{a}x.", f"so {a}."]
    assert all(single.derivations(text) for text in right)
    assert not any(single.derivations(text) for text in wrong)


def test_true_texts_are_right_and_begin_a_tale(corpus):
    texts = remasking.line_start_windows(corpus, 7, 64)
    assert texts.shape == (7, 64)
    assert all(corpus.tokenizer.decode(row).startswith("\n") for row in texts)
    quality = remasking.text_quality(texts, corpus)
    assert quality["sentences"] == quality["tales"] == 1.0
    assert quality["whole_tales"] > 0


def test_each_wrong_sentence_and_tale_is_counted(corpus):
    """Exchange the answer of the first of two tales: its sentences are right, and the tale is not."""
    a, b, c = corpus.grammar.words["name"][:3]
    verb = corpus.grammar.words["verb"][0]
    text = f"\n{a} {verb} {b}. who {verb}? {c}.\n{a} {verb} {b}. who {verb}? {a}.\nwho who? "
    quality = remasking.text_quality(corpus.tokenizer.encode(text)[None], corpus)
    assert quality["whole_tales"] == 2
    assert quality["tales"] == 0.5
    assert quality["sentences"] == pytest.approx(6 / 7)
    assert quality["different"] == pytest.approx(4 / 7)  # "a verb b." and "who verb?" stand there twice


def test_each_way_has_the_sampler_and_temperature_of_its_name():
    (sure, hot), (same, cold) = (remasking.WAYS[f"surest first, {heat}"] for heat in ("1", "0.3"))
    assert sure is same
    assert (hot, cold) == (1.0, 0.3)
    fill, heat = remasking.WAYS["again by doubt, 256 steps, 0.5"]
    assert (fill.func, fill.keywords, heat) == (rewrite, {"thoughts": SecondThoughts(256, 0.3, 5.0)}, 0.5)
    assert {way for pair in remasking.COMPARED for way in pair} <= remasking.WAYS.keys()


class Stubborn(LanguageModel):
    causal = False

    def forward(self, idx, positions=None, cache=None):
        return self.bias.expand(*idx.shape, -1)


def test_guesses_are_counted_at_masked_characters_only(corpus):
    """Compare with the control: a model that always gives the most frequent character is right as often."""
    often = int(corpus.train.mode().values)
    model = Stubborn(ModelConfig(corpus.tokenizer.vocab_size, 64), Encoding())
    bias = torch.zeros(model.config.vocab_size).index_fill(0, torch.tensor(often), 9.0)
    model.bias = torch.nn.Parameter(bias)
    for share in (0.05, 0.95):
        right, frequent = remasking.right_guesses(model, corpus, share, n=20)
        assert right == frequent
        assert 0.05 < right < 0.35
