"""Comparison of written texts: the same prompts for all models, and right numbers."""

import json
import math
from dataclasses import replace

import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.data.corpus import from_text
from babygpt.errors import BadInput
from babygpt.experiments.paired import format_mean_sd
from babygpt.models.versions import build
from babygpt.sampling import by_confidence, continue_text
from babygpt.training.checkpoint import Checkpoint
from babygpt_course.notes import generations as experiment
from babygpt_course.notes.generations import GenerationConfig, entropy
from babygpt_course.studies.text_measures import distinct, repeated, words

TEXT = "the cat sat on the mat. " * 60
CONFIG = GenerationConfig(num_prompts=3, prompt_len=8, gen_len=20, temp=1.0, top_k=4, seed=5)


@pytest.fixture
def corpus():
    return from_text("text", TEXT, with_mask=True)


@pytest.fixture
def models(corpus, wake):
    """Return two untrained models whose answers depend on everything."""
    shape = ModelConfig(corpus.tokenizer.vocab_size, block_size=16, n_layer=1, n_head=2, n_embd=16)
    return {name: Checkpoint(wake(build(f"v7-{name}", shape)), corpus.tokenizer) for name in ("rope", "last")}


# ---------------------------------------------------------------- prompts


def test_prompts_are_different_windows_of_the_validation_text(corpus):
    found = experiment.prompt_windows(corpus, CONFIG)
    assert found.shape == (3, 28)
    whole = corpus.tokenizer.decode(corpus.val)
    assert all(corpus.tokenizer.decode(row) in whole for row in found)
    assert torch.equal(found, experiment.prompt_windows(corpus, CONFIG))
    assert not torch.equal(found, experiment.prompt_windows(corpus, replace(CONFIG, seed=6)))
    many = experiment.prompt_windows(replace(corpus, val=torch.arange(60)), replace(CONFIG, num_prompts=33))
    assert len(set(many[:, 0].tolist())) == 33  # 60 - 28 + 1 places to begin, each taken once


# ---------------------------------------------------------------- numbers


def test_rows_hold_the_generated_texts_and_their_measurements(corpus, models):
    found, again = (experiment.compare_generations(corpus, models, CONFIG) for _ in range(2))
    assert found == again
    truth = experiment.prompt_windows(corpus, CONFIG)
    assert list(found["rows"]) == ["rope", "last", "true"]
    assert found["prompts"] == [corpus.tokenizer.decode(row[:8]) for row in truth]
    order, draw = by_confidence(CONFIG.confidence_threshold), torch.Generator().manual_seed(5)
    filled = continue_text(models["rope"].model, truth[:, :8], 20, order, 1.0, 4, draw)
    rope = found["rows"]["rope"]
    assert rope["texts"] == [corpus.tokenizer.decode(row[8:]) for row in filled.tokens]
    assert all(len(text) == 20 for text in rope["texts"])
    steps = filled.when.amax(dim=1)
    assert rope["each"]["tokens_per_step"] == pytest.approx((20 / steps).tolist())
    assert rope["each"]["confidence"] == pytest.approx(filled.confidence[:, 8:].mean(1).tolist())
    one = rope["texts"][0]
    assert rope["each"]["distinct_1_chars"][0] == len(set(one)) / 20
    spread = rope["measures"]["distinct_1_chars"]
    assert spread["mean"] == pytest.approx(sum(rope["each"]["distinct_1_chars"]) / 3)
    assert found["rows"]["true"]["texts"] == [corpus.tokenizer.decode(row[8:]) for row in truth]
    assert "tokens_per_step" not in found["rows"]["true"]["measures"]


def test_words_are_counted_where_there_are_spaces_only():
    assert "distinct_2_words" in experiment.text_measures("a b a b", by_words=True)
    assert experiment.text_measures("a b a b", by_words=True)["distinct_2_words"] == 2 / 3
    assert not [name for name in experiment.text_measures("我爱你", by_words=False) if "words" in name]


def test_a_measure_that_a_text_does_not_have_is_left_out(corpus):
    more = {"some": [math.nan, 1.0, 3.0], "none": [math.nan], "one": [2.0]}
    row = experiment.result_row(experiment.prompt_windows(corpus, CONFIG), corpus.tokenizer, 8, more)
    assert row["measures"]["some"] == {"mean": 2.0, "sd": pytest.approx(2**0.5)}
    assert row["measures"]["none"] == {"mean": None, "sd": None}
    assert row["measures"]["one"] == {"mean": 2.0, "sd": None}
    assert row["each"]["some"] == [None, 1.0, 3.0]
    assert [format_mean_sd(row["measures"][name]) for name in more] == ["2.000 ± 1.414", "–", "2.000"]
    json.dumps(row, allow_nan=False)


# ---------------------------------------------------------------- numbers of a text, counted by hand


def test_shares_of_grams_equal_counts_by_hand():
    """Count the pairs of abab: ab, ba, ab."""
    assert distinct("abab", 1) == 2 / 4
    assert distinct("abab", 2) == 2 / 3
    assert repeated("abab", 2) == 2 / 3
    assert repeated("abab", 3) == 0


def test_words_are_counted_like_characters():
    assert words("who's there? ada, ben-hur. ada!") == ["who's", "there", "ada", "ben-hur", "ada"]
    assert distinct(words("ada met ben. ada met eve."), 2) == 4 / 5
    assert repeated(words("ada met ben. ada met ben."), 3) == 2 / 4


def test_a_text_without_such_grams_has_no_number():
    for measure in (distinct, repeated):
        assert math.isnan(measure("ab", 3))
        with pytest.raises(BadInput):
            measure("ab", 0)
    assert math.isnan(entropy(""))


def test_entropy_equals_the_value_by_hand():
    assert entropy("aaaa") == pytest.approx(0)
    assert entropy("abcd") == pytest.approx(math.log(4))
    assert entropy("aaab") == pytest.approx(0.75 * math.log(4 / 3) + 0.25 * math.log(4))
