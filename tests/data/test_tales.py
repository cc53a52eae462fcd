"""The tales: one derivation each, exact numbers, and questions that only word order answers."""

import math
import random
from collections import Counter
from itertools import pairwise

import pytest

from babygpt.data import tales
from babygpt.data.grammar import Grammar
from babygpt.data.stories import END, Question, Story

GRAMMARS = {"english": tales.english(), "chinese": tales.chinese()}
STORIES, QUESTIONS = 300, 200


@pytest.fixture(params=GRAMMARS, scope="module")
def grammar(request: pytest.FixtureRequest) -> Grammar:
    return GRAMMARS[request.param]


@pytest.fixture(scope="module")
def samples(grammar: Grammar) -> list[Story]:
    rng = random.Random(0)
    return [grammar.sample(rng) for _ in range(STORIES)]


@pytest.fixture(scope="module")
def megabyte(grammar: Grammar) -> str:
    return grammar.write(1_000_000, seed=0)


@pytest.fixture(scope="module")
def questions(grammar: Grammar) -> list[Question]:
    return grammar.questions(QUESTIONS, seed=0, max_chars=10_000)


def test_every_story_has_one_derivation_as_probable_as_it_was_drawn(grammar: Grammar, samples: list[Story]):
    assert len(set(grammar.rules["story"])) >= 12
    assert all(len(set(words)) == len(words) for words in grammar.words.values())
    for story in samples:
        assert grammar.derivations(story.text) == [pytest.approx(story.log_prob)], story.text
    rng = random.Random(1)
    for template in grammar.rules["story"]:  # each of them at least once
        alone = Grammar(grammar.words, {**grammar.rules, "story": (template,)})
        assert len(grammar.derivations(alone.sample(rng).text)) == 1


def test_floor_is_the_mean_negative_log_prob_per_character(grammar: Grammar) -> None:
    """Allow four standard errors of a ratio of two means."""
    rng, n = random.Random(2), 5000
    drawn = [grammar.sample(rng) for _ in range(n)]
    nats, length = [-s.log_prob for s in drawn], [len(s.text) + 1 for s in drawn]
    floor = grammar.floor()
    spread = math.sqrt(sum((a - floor * b) ** 2 for a, b in zip(nats, length, strict=True)) / n)
    error = spread / math.sqrt(n) / (sum(length) / n)
    assert error < 0.01
    assert abs(sum(nats) / sum(length) - floor) < 4 * error


def test_a_megabyte_has_the_exact_bigram_entropy_length_and_alphabet(grammar: Grammar, megabyte: str) -> None:
    pairs, first = Counter(pairwise(megabyte)), Counter(megabyte[:-1])
    n = sum(pairs.values())
    empirical = -sum(c / n * math.log(c / first[a]) for (a, _), c in pairs.items())
    assert empirical == pytest.approx(grammar.bigram_floor(), abs=0.005)
    assert grammar.bigram_floor() > grammar.floor() + 0.3
    assert sorted(set(megabyte)) == grammar.alphabet()
    lengths = [len(line) + 1 for line in megabyte.removesuffix(END).split(END)]
    assert sum(lengths) / len(lengths) == pytest.approx(grammar.expected_length(), rel=0.03)


def test_english_has_few_characters_and_a_floor_near_a_half() -> None:
    english = GRAMMARS["english"]
    assert 25 <= len(english.alphabet()) <= 40
    assert english.alphabet()[0] == END
    assert all(char.isascii() for char in english.alphabet())
    assert 0.4 <= english.floor() <= 0.6


def test_both_directions_of_love_are_equally_probable_in_chinese() -> None:
    forward, backward = "我爱你。被爱的是谁？你。", "你爱我。被爱的是谁？我。"
    assert GRAMMARS["chinese"].log_prob(forward) == pytest.approx(GRAMMARS["chinese"].log_prob(backward))


# ---------------------------------------------------------------- questions


def test_every_story_contains_its_question_and_answer(samples: list[Story]) -> None:
    for story in samples:
        question = story.question()
        assert question.answer != question.rival
        assert question.answer in question.prompt
        assert question.rival in question.prompt
        start = question.prompt + question.answer + question.end
        assert (END + story.text).startswith(start)


def test_the_rival_never_completes_a_story(grammar: Grammar, samples: list[Story]) -> None:
    """Require that only the right answer continues the prompt to a story."""
    for story in samples[:100]:
        q, text = story.question(), END + story.text
        wrong = q.prompt + q.rival + text[len(q.prompt + q.answer) :]
        assert grammar.derivations(wrong.removeprefix(END)) == []
        swapped = story.swap(q.answer, q.rival)
        assert grammar.log_prob(swapped.text) == pytest.approx(story.log_prob)
        parted = [part.replace(q.rival, q.answer) for part in story.text.split(q.answer)]
        assert swapped.text == q.rival.join(parted)
        assert (swapped.question().answer, swapped.question().rival) == (q.rival, q.answer)
        assert swapped.swap(q.answer, q.rival).text == story.text


def test_the_answer_is_first_as_often_as_last(questions: list[Question]) -> None:
    """Make "the first named" and "the last named" useless as rules for guessing."""
    first = [q.prompt.index(q.answer) < q.prompt.index(q.rival) for q in questions]
    assert 0.25 < sum(first) / len(first) < 0.75


def test_questions_reach_from_one_clause_to_several_sentences(questions: list[Question]) -> None:
    sentences = Counter(q.prompt.count(".") + q.prompt.count("。") for q in questions)
    assert min(sentences) <= 1
    assert max(sentences) >= 3
    distances = sorted(q.distance for q in questions)
    assert distances[-10] > 3 * distances[10]
