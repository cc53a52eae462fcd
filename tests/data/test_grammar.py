"""The closed forms of a grammar against the list of everything it can write.

`write_all` below reads a grammar by its description alone (words, rules, uniform picks) and
shares no code with the package.
"""

import math
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from babygpt.data.grammar import Grammar
from babygpt.data.stories import END

NAMES = ("ann", "bo", "eve")


def stories(*templates: str, words: dict | None = None, **rules: tuple[str, ...]) -> Grammar:
    """Build a grammar of a few templates; by default of three names and two verbs."""
    return Grammar(words or {"name": NAMES, "verb": ("met", "hid")}, {"story": templates, **rules})


GRAMMARS = {
    "plain": stories("{name.a} {verb} {name.b}. who? {name.a!b}.", "{name.b} {verb}."),
    "same hole twice": stories("{name.a} {verb} {name.b}, {name.b} {verb} {name.a}."),
    "names that touch": stories("{name.a}{name.b}.", "so {name.a}{name.a}!"),
    "kinds that touch": stories("{name.a}{verb}{name.b}。{verb}谁？{name.b!a}。"),
    "three names that touch": stories("{name.a}{name.b}{name.c}"),
    "one character each": stories(
        "{name.a}{verb}{name.b}，谁{verb}{name.b}？{name.a!b}。",
        "{name.a}{verb.x}{verb.y}。",
        words={"name": ("我", "你", "他"), "verb": ("爱", "打")},
    ),
    "rules": stories(
        "{name.a} ran[gap]who? {name.a!b} or {name.b}.",
        "[gap]none.",
        gap=(". ", ". [scene]. ", ". [scene]. [scene]. "),
        scene=("{verb} it", "{verb} or {verb.other}", "the end"),
    ),
    "a rule that knows the names": stories(
        "{name.a} {verb} {name.b}[gap]{name.a!b}.",
        gap=("? ", ", {name.b} and {name.c} too? ", ", {name.c} {verb}? "),
    ),
    "a name that stays in its rule": stories(
        "{name.a} [scene], [scene], {name.b}.", scene=("{name.b} {verb}", "{verb}")
    ),
    "rules that touch": stories("[one][two][one]", one=("a", "bc", "{verb}"), two=("x", "[one]y")),
    "a rule that touches a word": stories(
        "[open]{name.a}[close]", open=("(", "so {verb}"), close=(")", "{verb} it")
    ),
}


def write_all(grammar: Grammar) -> Counter[str]:
    """List every string with its probability."""
    total: Counter[str] = Counter()
    for p, text, _ in expand(grammar, "[story]", {}):
        total[text] += p
    return total


def expand(grammar: Grammar, text: str, bound: dict) -> Iterator[tuple[float, str, dict]]:
    """Fill the first hole of a template in every way, then the rest."""
    hole = re.search(r"\{(\w+)(?:\.(\w+))?(?:!\w+)?\}|\[(\w+)\]", text)
    if hole is None:
        yield 1.0, text, bound
        return
    before, after = text[: hole.start()], text[hole.end() :]
    for p, word, then in fill(grammar, hole, bound):
        for q, rest, last in expand(grammar, after, then):
            yield p * q, before + word + rest, last


def fill(grammar: Grammar, hole: re.Match, bound: dict) -> Iterator[tuple[float, str, dict]]:
    kind, var, rule = hole.groups()
    if rule:
        inner = {key: word for key, word in bound.items() if key[0] == "name"}
        templates = grammar.rules[rule]
        for template in templates:
            for p, text, _ in expand(grammar, template, inner):
                yield p / len(templates), text, bound
    elif (kind, var) in bound:
        yield 1.0, bound[kind, var], bound
    else:
        used = [word for (k, _), word in bound.items() if k == kind]
        free = [word for word in grammar.words[kind] if word not in used]
        for word in free:
            yield 1 / len(free), word, {**bound, (kind, var): word}


def count_pairs(strings: Counter[str]) -> Counter[tuple[str, str]]:
    """Compute the expected character pairs of a story between two line ends."""
    pairs: Counter[tuple[str, str]] = Counter()
    for text, p in strings.items():
        for pair in pairwise(END + text + END):
            pairs[pair] += p
    return pairs


def conditional_entropy(pairs: Counter[tuple[str, str]]) -> float:
    """Compute H(second | first) in nats: H(pair) - H(first)."""
    total, first = sum(pairs.values()), Counter()
    for (a, _), n in pairs.items():
        first[a] += n

    def entropy(counts: Counter) -> float:
        return -sum(n / total * math.log(n / total) for n in counts.values() if n)

    return entropy(pairs) - entropy(first)


@pytest.fixture(params=GRAMMARS)
def grammar(request: pytest.FixtureRequest) -> Grammar:
    return GRAMMARS[request.param]


# ---------------------------------------------------------------- exact numbers


def test_all_numbers_are_the_enumerated_ones(grammar: Grammar) -> None:
    strings, picks = write_all(grammar), [p for p, _, _ in expand(grammar, "[story]", {})]
    assert len(strings) > 3
    assert sum(math.exp(grammar.log_prob(text)) for text in strings) == pytest.approx(1.0)
    for text, p in strings.items():
        assert grammar.log_prob(text) == pytest.approx(math.log(p))
    assert grammar.entropy() == pytest.approx(-sum(p * math.log(p) for p in picks))
    mean = sum(p * (len(text) + 1) for text, p in strings.items())  # The line end counts as a character.
    assert grammar.expected_length() == pytest.approx(mean)
    expected, got = count_pairs(strings), grammar.bigrams()
    for pair in expected.keys() | got.keys():
        assert got[pair] == pytest.approx(expected[pair], abs=1e-12), pair
    assert grammar.bigram_floor() == pytest.approx(conditional_entropy(expected), abs=1e-12)
    assert grammar.floor() == pytest.approx(grammar.entropy() / grammar.expected_length())
    assert grammar.floor() <= grammar.bigram_floor()
    assert grammar.alphabet() == sorted({char for text in strings for char in text} | {END})
    got.clear()  # a caller's changes do not reach the grammar
    assert grammar.bigrams()
    changed = replace(grammar, rules={"story": ("{verb}!",)})  # nor do kept numbers reach a copy
    assert changed.entropy() == pytest.approx(math.log(2))


def test_every_derivation_of_an_ambiguous_story_is_found() -> None:
    """Parse "aaa" as a+aa and as aa+a: the string has the sum of both probabilities."""
    grammar = stories("{x.1}{x.2}", words={"x": ("a", "aa")})
    assert [math.exp(p) for p in grammar.derivations("aaa")] == pytest.approx([0.5, 0.5])
    assert grammar.log_prob("aaa") == pytest.approx(0.0, abs=1e-12)


def test_names_that_meet_across_a_rule_are_counted_or_refused() -> None:
    """Let two names touch across a rule's border, where they depend on each other."""
    for template, rules in (
        ("{name.a}[ask]", {"ask": ("{name.b}.", "?")}),
        ("[open]{name.b}.", {"open": ("so {name.a}", "!")}),
        ("{name.a} [who][who].", {"who": ("{name.b}", "{name.a}")}),
    ):
        grammar = stories(template, **rules)
        try:
            got = grammar.bigrams()
        except ValueError:
            continue
        assert {p: n for p, n in got.items() if n} == pytest.approx(count_pairs(write_all(grammar)))


WORDS = st.lists(st.text("ab", min_size=1, max_size=2), min_size=3, max_size=4, unique=True)
HOLES = st.sampled_from(["{x.1}", "{x.2}", "{x.3}", "{y}", "{y.2}", ".", " ab"])
TEMPLATES = st.lists(HOLES, min_size=1, max_size=5).map("".join)


@given(x=WORDS, y=WORDS, templates=st.lists(TEMPLATES, min_size=1, max_size=3))
def test_any_small_grammar_has_the_enumerated_numbers(x: list, y: list, templates: list) -> None:
    grammar = stories(*templates, words={"x": tuple(x), "y": tuple(y)})
    strings = write_all(grammar)
    picks = [p for p, _, _ in expand(grammar, "[story]", {})]
    assert grammar.entropy() == pytest.approx(-sum(p * math.log(p) for p in picks), abs=1e-9)
    assert {p: n for p, n in grammar.bigrams().items() if n} == pytest.approx(count_pairs(strings))
    for text, p in strings.items():
        assert grammar.log_prob(text) == pytest.approx(math.log(p), abs=1e-9)


# ---------------------------------------------------------------- writing


def test_stories_have_their_exact_frequencies(grammar: Grammar) -> None:
    strings, rng, n = write_all(grammar), random.Random(0), 3000
    drawn = [grammar.sample(rng) for _ in range(n)]
    for story in drawn[:50]:
        assert any(story.log_prob == pytest.approx(p) for p in grammar.derivations(story.text))
    counts = Counter(story.text for story in drawn)
    assert counts.keys() <= strings.keys()
    for text, p in strings.items():
        assert abs(counts[text] - n * p) < 5 * math.sqrt(n * p * (1 - p)) + 1


def test_text_is_whole_stories_and_just_long_enough(grammar: Grammar) -> None:
    text = grammar.write(500, seed=0)
    assert text.endswith(END)
    lines = text.removesuffix(END).split(END)
    assert len(text) - len(lines[-1]) - 1 < 500 <= len(text)
    strings = write_all(grammar)
    assert all(line in strings for line in lines)
    assert text == grammar.write(500, seed=0) != grammar.write(500, seed=1)


def test_texts_outside_the_grammar_are_refused() -> None:
    for text in (
        "",
        "ann met bo. who? ann",
        "ann met bo. who? eve.",  # eve did not meet
        "ann met ann. who? ann.",  # two variables never show one word
        "ann met bo. who? ann..",
        "ann met bo. who? ann.\n",
    ):
        with pytest.raises(ValueError, match="not a story"):
            GRAMMARS["plain"].log_prob(text)


# ---------------------------------------------------------------- stories and questions


def test_distance_is_not_fooled_by_a_name_inside_a_word() -> None:
    """Find no name in "called", which contains cal."""
    grammar = stories(
        "{name.a} {verb} {name.b}. {verb} who? {name.b!a}.",
        words={"name": ("cal", "ben"), "verb": ("called",)},
    )
    questions = [q for q in grammar.questions(8, seed=0, max_chars=99) if q.answer == "cal"]
    assert {q.distance for q in questions} == {len("cal. called who? ")}


def test_questions_come_in_mirror_pairs() -> None:
    grammar = GRAMMARS["plain"]
    questions = grammar.questions(40, seed=0, max_chars=40)
    assert len(questions) == 40
    for question, mirror in zip(questions[::2], questions[1::2], strict=True):
        assert (question.answer, question.rival) == (mirror.rival, mirror.answer)
        assert sorted(question.prompt) == sorted(mirror.prompt)
        assert question.prompt != mirror.prompt
    assert questions == grammar.questions(40, 0, 40) != grammar.questions(40, 1, 40)
    silent = stories("{name.a} {verb}.")
    assert silent.sample(random.Random(0)).question() is None
    with pytest.raises(ValueError, match="too few stories"):
        silent.questions(2, seed=0, max_chars=99)


@given(max_chars=st.integers(25, 60), names=st.permutations(["bo", "ann", "maximilian"]))
def test_questions_and_both_answers_fit(max_chars: int, names: list[str]) -> None:
    """Allow for the mirror of a story, which is longer where its answer is the longer name."""
    words = {"name": tuple(names), "verb": ("met",)}
    grammar = stories("{name.a} {verb} {name.b}. who? {name.a!b}.", words=words)
    try:
        questions = grammar.questions(20, seed=0, max_chars=max_chars)
    except ValueError:
        assume(False)
    for q in questions:
        assert len(q.prompt + q.answer) <= max_chars
