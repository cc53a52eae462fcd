"""Floor of windows that begin anywhere: the exact reader against counting in the list of all stories."""

import math
import random

import numpy as np
import pytest

from babygpt.data import tales
from babygpt.data.grammar import Grammar
from babygpt.data.stories import END
from babygpt.errors import BadInput
from babygpt_course.studies.mid_story import MidStory
from babygpt_course.studies.window_floor import cut_anywhere, floor_by_position, gain_of_longer_text

WORDS = {"name": ("ann", "bo", "anne", "nna", "e"), "verb": ("met", "et", "hid")}


def grammar_of(*story: str, words: dict = WORDS, **rules: tuple[str, ...]) -> Grammar:
    return Grammar(words, {"story": story, **rules})


GRAMMARS = {
    "names and words": grammar_of("{name.a} {verb} {name.b}. who? {name.a!b}.", "{name.b} {verb}."),
    "words that begin and end alike": grammar_of("{name.a}{name.b}.", "so {name.a}{verb}{verb.2}{verb}!"),
    "few names, all of them told": grammar_of(
        "{name.a},{name.b},{name.c}. {name.b!a}", words={"name": "ABC"}
    ),
    "names bound in rules": grammar_of(
        "{name.a} [scene][scene]{name.b}.",
        scene=("{name.z} {verb} ", "{verb}, "),
        words={**WORDS, "name": "ABC"},
    ),
    "rules in rules": grammar_of(
        "[one],{name.a}",
        one=("{name.q},[two],{name.q},[two] ",),
        two=("{name.z}", "{name.y}"),
        words={"name": "ABCD"},
    ),
    "longer names bound in rules": grammar_of(
        "{name.a} [two] {name.a}", two=("{name.z} {name.z}",), words={"name": ("ab", "b", "cab", "ca")}
    ),
}


def all_stories(grammar: Grammar) -> dict[str, float]:
    """Return every story with its probability, drawn until none is missing."""
    rng, probabilities = random.Random(0), {}
    while sum(probabilities.values()) < 1 - 1e-9:
        text = grammar.sample(rng).text
        if text not in probabilities:
            probabilities[text] = math.exp(grammar.log_prob(text))
    return probabilities


def chance(stories: dict[str, float], window: str) -> float:
    """Count how often a window comes per story: an end of one, whole ones, a beginning of one."""
    first, *others = window.split(END)
    if not others:
        return sum(p * sum(s.startswith(first, i) for i in range(len(s))) for s, p in stories.items())
    total = sum(p for s, p in stories.items() if s.endswith(first))
    for whole in others[:-1]:
        total *= stories[whole]
    return total * sum(p for s, p in stories.items() if (s + END).startswith(others[-1]))


@pytest.mark.parametrize("name", GRAMMARS)
def test_each_character_is_as_probable_as_in_the_list_of_all_stories(name: str) -> None:
    grammar, rng = GRAMMARS[name], random.Random(0)
    stories, reader = all_stories(grammar), MidStory(grammar)
    for _ in range(12):
        window = cut_anywhere(grammar, 22, rng)
        counts = [chance(stories, window[: end + 1]) for end in range(22)]
        assert reader.losses(window) == pytest.approx(-np.diff(np.log(counts)), abs=1e-9), window


def test_the_floor_falls_from_the_bigrams_to_that_of_whole_stories() -> None:
    grammar = tales.plain()
    mean, error = floor_by_position(grammar, 90, n_windows=150)
    assert mean.shape == error.shape == (90,)
    assert abs(mean[0] - grammar.bigram_floor()) < 4 * error[0]
    late, spread = mean[60:].mean(), error[60:].mean() / 30**0.5
    assert abs(late - grammar.floor()) < 5 * spread
    assert mean[:10].mean() > mean[20:].mean() + 0.2


def test_a_longer_text_helps_as_far_as_stories_reach() -> None:
    change, error = gain_of_longer_text(tales.plain(), 20, 60, n_windows=4, every=3, seed=5)
    assert change < 0 < error
    assert gain_of_longer_text(tales.plain(), 62, 124, n_windows=6) == (0, 0)  # 61 is the longest story


def test_a_window_that_no_text_holds_is_refused() -> None:
    with pytest.raises(BadInput):
        MidStory(GRAMMARS["names and words"]).losses("\nann met ann.")
