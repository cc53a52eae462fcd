"""Studies of answers and of lengths: parts of a text and their losses, and stored numbers on the page."""

from pathlib import Path

import numpy as np
import pytest

from babygpt.config import ModelConfig
from babygpt.data.corpus import load_corpus
from babygpt.data.grammar import Grammar
from babygpt.models.versions import build
from babygpt_course.studies import names
from babygpt_course.studies.results import load_results
from babygpt_course.studies.roles_and_lengths import KNOWS


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


PAGE = (Path(__file__).resolve().parents[3] / "docs" / "results.md").read_text(encoding="utf-8")


def span(numbers, form, times=1.0):
    """The smallest and the largest of some numbers, in words."""
    return f"{times * min(numbers):{form}} to {times * max(numbers):{form}}"


def test_the_page_says_what_the_study_of_names_stored():
    study = load_results("names")
    short, long = (f"v4, plain-tales, {steps} steps" for steps in (450, 1800))
    written, later = ([f"{share:.0%}" for share in study["whole"][arm]] for arm in (short, long))
    for phrase in (
        f"right on {span(study['accuracy'][short], '.0f', 100)}% of the questions",
        "by the second on {}, {} and {}".format(*written),
        f"the second costs {span([letters[1] for letters in study['letters'][short]], '.2f')} nats",
        f"the first count is {span(study['alike'][short], '.0f', 100)}%",
        "After 1800 steps it writes {}, {} and {}".format(*later),
        f"needs about {load_results('floors')['window']['plain-tales']['64'][0]:.2f} nats",
    ):
        assert phrase in PAGE
    assert max(min(heads[0]) for heads in study["without"][short]) < 0.65  # of the first layer


def test_the_page_says_what_the_study_of_lengths_stored():
    change = load_results("lengths")["change"]
    for phrase in (
        f"costs ALiBi {span(change['alibi'], '.2f')} nats",
        f"NoPE (never good) {span(change['nope'], '.2f')}",
        f"RoPE {span(change['v4'], '.2f')}",
        f"the sinusoid {span(change['v3'], '.1f')}",
    ):
        assert phrase in PAGE


def test_the_page_says_what_the_study_of_roles_stored():
    accuracy = load_results("roles")["accuracy"]
    assert f"the best seed gets {max(accuracy['nope']):.1%} right" in PAGE
    assert [sum(share > KNOWS for share in accuracy[v]) for v in ("v3", "v4", "learned")] == [3, 3, 1]
