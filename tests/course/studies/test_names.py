"""Studies of answers: parts of a text and their losses."""

import numpy as np
import pytest

from babygpt.config import ModelConfig
from babygpt.data.corpus import load_corpus
from babygpt.data.grammar import Grammar
from babygpt.models.versions import build
from babygpt_course.studies import names


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("plain-tales", 9_000)


def test_parts_of_a_story_are_read_off_its_template():
    rules = {"story": ("{name.a} met {name.b}. who met? {name.a!b}. so {name.b} sat.",)}
    text, parts, begins = names.parts_of_stories(Grammar({"name": ("ab", "cd")}, rules), 60, seed=1)
    story = text[: text.index("\n") + 1]
    assert len(text) == len(parts) == len(begins) == 2 * len(story)
    words = {part: "".join(c for c, p in zip(story, parts, strict=False) if p == part) for part in set(parts)}
    assert words["new word"] == story[:2] + story[7:9]
    assert words["answer"] == story[:2]  # she who met
    assert words["repeated word"] == story[7:9]
    assert words["frame"] == " met . who met? . so  sat.\n"
    assert set(begins) == {0, len(story)}


def test_parts_of_an_untrained_model_share_its_loss_by_their_size(corpus):
    model = build("v4", ModelConfig(corpus.tokenizer.vocab_size, 16, 1, 2, 16))
    parts = names.loss_by_part(model, corpus, n_windows=8)
    assert sum(parts.values()) == pytest.approx(np.log(corpus.tokenizer.vocab_size), rel=1e-4)
    assert set(parts) <= {"answer", "repeated word", "new word", "frame", "story cut off"}
    assert parts["story cut off"] > parts.get("answer", 0.0)  # stories are longer than such a window
