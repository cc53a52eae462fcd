"""A story and its question, taken apart by hand."""

import random
import re

import pytest

from babygpt.data.grammar import Grammar
from babygpt.data.stories import END, Question, read_template


def grammar_of(*templates: str, words: dict | None = None) -> Grammar:
    """A grammar of a few templates; by default of three names and two verbs."""
    words = words or {"name": ("ann", "bo", "eve"), "verb": ("met", "hid")}
    return Grammar(words, {"story": templates})


def test_template_falls_into_its_parts() -> None:
    start, name, between, question, rule, end = read_template("so {name.a}, {name.b!a}[gap].")
    assert (start, between, end) == ("so ", ", ", ".")
    assert (name.kind, name.var, name.rival) == ("name", "a", None)
    assert (question.kind, question.var, question.rival) == ("name", "b", "a")
    assert rule.name == "gap"


def test_question_is_the_story_up_to_the_answer() -> None:
    grammar = grammar_of("{name.a} {verb} {name.b}. who? {name.a!b}; who {verb}? {name.b!a}.")
    rng = random.Random(0)
    for _ in range(20):
        story = grammar.sample(rng)
        subject, _, other = story.text.split(".")[0].split(" ")
        question = story.question()
        assert (question.answer, question.rival, question.end) == (subject, other, ";")
        told = question.prompt + question.answer + question.end
        assert (END + story.text).startswith(told)  # in running text, after a line end


def test_a_story_that_asks_nothing_has_no_question() -> None:
    assert grammar_of("{name.a} {verb} {name.b}.").sample(random.Random(0)).question() is None


def test_swapped_story_exchanges_the_names_and_nothing_else() -> None:
    grammar = grammar_of("{name.a} {verb} {name.b}. who? {name.a!b}.", "{name.b} {verb}.")
    rng, exchange = random.Random(0), {"ann": "eve", "eve": "ann"}
    for _ in range(30):
        story = grammar.sample(rng)
        swapped = story.swap("ann", "eve").text
        assert swapped == re.sub("ann|eve", lambda m: exchange[m[0]], story.text)
        assert grammar.log_prob(swapped) == pytest.approx(story.log_prob)
        assert story.swap("ann", "eve").swap("eve", "ann").text == story.text


def test_distance_reaches_back_to_where_the_name_stood() -> None:
    assert Question("ann met bo. who? ", "ann", "bo", ".").distance == 17
    assert Question("ann met bo. who was met? ", "bo", "ann", ".").distance == 17


def test_distance_is_not_fooled_by_a_name_inside_a_word() -> None:
    """The word "called" does not mention cal."""
    grammar = grammar_of(
        "{name.a} {verb} {name.b}. {verb} who? {name.b!a}.",
        words={"name": ("cal", "ben"), "verb": ("called",)},
    )
    questions = [q for q in grammar.questions(8, seed=0, max_chars=99) if q.answer == "cal"]
    assert {q.distance for q in questions} == {len("cal. called who? ")}
