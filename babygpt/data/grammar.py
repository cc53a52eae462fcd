"""A small probabilistic grammar whose entropy is known exactly.

A grammar has *words* (lists to pick from) and *rules* (templates to pick from); every pick is uniform.
A template is text with two kinds of holes:

    {kind.var}     a word of that kind, bound to var: the same hole always shows the same word,
                   and two variables of one kind never show the same word in one template
    {kind.var!w}   the same, and the answer of a question whose wrong candidate is variable w
    [rule]         any template of that rule; it knows the names bound so far, and no other word

Because every string has one derivation (the tests parse samples exhaustively), the log-probability of
a story is minus the sum of the logs of the numbers of choices, and so are the entropies.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

from babygpt.data.stories import END, Item, Question, Rule, Slot, Story, Template, read_template
from babygpt.errors import BadInput

START_RULE = "story"

Bindings = dict[tuple[str, str], str]  # (kind, var) -> word
Pairs = Counter[tuple[str, str]]  # expected number of times one character follows another
Chars = Counter[str]  # a distribution over characters
T = TypeVar("T")


@dataclass(frozen=True)
class Grammar:
    """Words and rules, and everything that follows from them in closed form.

    words     kind -> the words of that kind
    rules     rule -> the texts of its templates; the rule "story" is the root
    """

    words: dict[str, tuple[str, ...]]
    rules: dict[str, tuple[str, ...]]
    _pairs_of: dict[Item, Pairs] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def templates(self) -> dict[str, tuple[Template, ...]]:
        return {name: tuple(map(read_template, texts)) for name, texts in self.rules.items()}

    # ---- writing -------------------------------------------------------------------------------

    def sample(self, rng: random.Random) -> Story:
        """Write one story with its log-probability."""
        log_prob, pieces = self._expand(START_RULE, rng, {})
        return Story(log_prob, tuple(pieces))

    def _expand(self, rule: str, rng: random.Random, names: Bindings) -> tuple[float, list[tuple[Item, str]]]:
        template = rng.choice(self.templates[rule])
        log_prob = -math.log(len(self.templates[rule]))
        bound = dict(names)
        pieces: list[tuple[Item, str]] = []
        for item in template:
            if isinstance(item, Rule):
                inner, parts = self._expand(item.name, rng, _names(bound))
                log_prob += inner
                pieces += parts
            elif isinstance(item, Slot):
                options = self._options(item, bound)
                word = bound[item.kind, item.var] = rng.choice(options)
                log_prob -= math.log(len(options))
                pieces.append((item, word))
            else:
                pieces.append((item, item))
        return log_prob, pieces

    def _options(self, slot: Slot, bound: Bindings) -> Sequence[str]:
        """The words that may still stand in a slot: its own if bound, else those nobody else has."""
        if (slot.kind, slot.var) in bound:
            return [bound[slot.kind, slot.var]]
        taken = {word for (kind, _), word in bound.items() if kind == slot.kind}
        words = self.words[slot.kind]
        free = [word for word in words if word not in taken] if taken else words
        if not free:
            raise BadInput(f"a template has more variables of kind {slot.kind} than the {len(words)} words")
        return free

    def write(self, n_chars: int, seed: int) -> str:
        """Write whole stories, one a line, until at least n_chars characters stand there.

        n_chars   at least this many characters; the last story is not cut
        seed      the same seed gives the same text
        """
        rng = random.Random(seed)
        stories: list[str] = []
        length = 0
        while length < n_chars:
            stories.append(self.sample(rng).text + END)
            length += len(stories[-1])
        return "".join(stories)

    def questions(self, n: int, seed: int, max_chars: int) -> list[Question]:
        """Collect n questions in mirror pairs: each story once as told, once with the names exchanged.

        n           an even number of questions
        max_chars   longest prompt plus answer, in characters: a window the model can see whole
        returns     n questions; whoever ignores order gets half of them right
        Raises ValueError if n is odd or no story is short enough.
        """
        if n % 2:
            raise BadInput(f"n ({n}) must be even: questions come in mirror pairs")
        rng = random.Random(seed)
        found: list[Question] = []
        for _ in range(200 * n + 1):
            if len(found) == n:
                return found
            story = self.sample(rng)
            question = story.question()
            mirror = question and story.swap(question.answer, question.rival).question()
            if question and mirror and max(question.length, mirror.length) <= max_chars:
                found += [question, mirror]
        raise BadInput(f"max_chars ({max_chars}) is too short: too few stories fit in it")

    # ---- reading -------------------------------------------------------------------------------

    def derivations(self, text: str) -> list[float]:
        """Parse a story exhaustively: the log-probability in nats of each of its derivations."""
        return [p for p, end in self._parse_rule(START_RULE, text, 0, {}) if end == len(text)]

    def log_prob(self, text: str) -> float:
        """The exact log-probability of one story, in nats.

        text      a story without the line end
        Raises ValueError if the grammar cannot write it.
        """
        found = self.derivations(text)
        if not found:
            raise BadInput(f"not a story of this grammar: {text!r}")
        return math.log(sum(map(math.exp, found)))

    def _parse_rule(self, rule: str, text: str, start: int, names: Bindings) -> Iterator[tuple[float, int]]:
        log_n = math.log(len(self.templates[rule]))
        for template in self.templates[rule]:
            for p, end in self._parse(template, text, start, names):
                yield p - log_n, end

    def _parse(self, items: Template, text: str, start: int, bound: Bindings) -> Iterator[tuple[float, int]]:
        if not items:
            yield 0.0, start
            return
        first, rest = items[0], items[1:]
        if isinstance(first, Rule):
            for p, end in self._parse_rule(first.name, text, start, _names(bound)):
                for q, stop in self._parse(rest, text, end, bound):
                    yield p + q, stop
            return
        options = [first] if isinstance(first, str) else self._options(first, bound)
        for word in options:
            if text.startswith(word, start):
                seen = bound if isinstance(first, str) else {**bound, (first.kind, first.var): word}
                for q, stop in self._parse(rest, text, start + len(word), seen):
                    yield q - math.log(len(options)), stop

    # ---- what is known without sampling --------------------------------------------------------

    def entropy(self) -> float:
        """Nats of choice in one story."""
        return self._rule_entropy(START_RULE, {})

    def _rule_entropy(self, rule: str, names: Bindings) -> float:
        templates = self.templates[rule]
        inner = sum(self._entropy(template, names) for template in templates)
        return math.log(len(templates)) + inner / len(templates)

    def _entropy(self, template: Template, names: Bindings) -> float:
        bound = dict(names)
        total = 0.0
        for item in template:
            if isinstance(item, Rule):
                total += self._rule_entropy(item.name, _names(bound))
            elif isinstance(item, Slot):
                options = self._options(item, bound)
                bound[item.kind, item.var] = options[0]  # which word does not matter, only how many are left
                total += math.log(len(options))
        return total

    def expected_length(self) -> float:
        """Mean characters of a story, its line end included."""
        return sum(self.bigrams().values())

    def floor(self) -> float:
        """Entropy rate in nats per character: no model of the text can pass below it."""
        return self.entropy() / self.expected_length()

    def bigram_floor(self) -> float:
        """H(next character | this character) in nats: no bigram model can pass below it."""
        pairs = self.bigrams()
        first: Chars = Counter()
        for (a, _), n in pairs.items():
            first[a] += n
        total = sum(first.values())
        return -sum(n * math.log(n / first[a]) for (a, _), n in pairs.items()) / total

    def bigrams(self) -> Pairs:
        """Expected number of times each character follows another, per story, line ends included."""
        pairs = self._inner_pairs(Rule(START_RULE)).copy()
        for a, p in self._edge(Rule(START_RULE), -1).items():
            pairs[a, END] += p
        for b, p in self._edge(Rule(START_RULE), 0).items():
            pairs[END, b] += p
        return pairs

    def _pairs(self, template: Template) -> Pairs:
        total: Pairs = Counter()
        for item in template:
            total.update(self._inner_pairs(item))
        for left, right in pairwise(template):
            total.update(self._joint(left, right))
        return total

    def _inner_pairs(self, item: Item) -> Pairs:
        """Pairs within an item; remembered, because the same rule stands in many templates."""
        if item not in self._pairs_of:
            if isinstance(item, Rule):
                found = _mixture([self._pairs(template) for template in self.templates[item.name]])
            else:
                found = _mixture([Counter(pairwise(word)) for word in self._words(item)])
            self._pairs_of[item] = found
        return self._pairs_of[item]

    def _words(self, item: str | Slot) -> Sequence[str]:
        """What may stand in a slot, or the literal alone."""
        return [item] if isinstance(item, str) else self.words[item.kind]

    def _joint(self, left: Item, right: Item) -> Pairs:
        """The pair of characters where two items meet; two slots may depend on each other."""
        if isinstance(left, Slot) and isinstance(right, Slot) and left.kind == right.kind:
            words = self.words[left.kind]
            same = left.var == right.var
            return _mixture([Counter({(u[-1], v[0]): 1.0}) for u in words for v in words if (u == v) == same])
        if self._named(left, -1) and self._named(right, 0):
            raise BadInput(f"names touch across a rule's border, between {left} and {right}: put text there")
        ends, starts = self._edge(left, -1), self._edge(right, 0)
        joint: Pairs = Counter()
        for a, p in ends.items():
            for b, q in starts.items():
                joint[a, b] += p * q
        return joint

    def _named(self, item: Item, side: int) -> bool:
        """Whether a name may stand at an item's beginning (side 0) or end (side -1)."""
        if isinstance(item, Rule):
            return any(self._named(template[side], side) for template in self.templates[item.name])
        return isinstance(item, Slot) and item.kind == "name"

    def _edge(self, item: Item, side: int) -> Chars:
        """Distribution of an item's first (side 0) or last (side -1) character."""
        if isinstance(item, Rule):
            return _mixture([self._edge(template[side], side) for template in self.templates[item.name]])
        return _mixture([Counter({word[side]: 1.0}) for word in self._words(item)])

    def alphabet(self) -> list[str]:
        """Every character a story can hold, and the line end, sorted."""
        return sorted({char for pair in self.bigrams() for char in pair})


def _names(bound: Bindings) -> Bindings:
    """The people of a story, who are known in all of it; every other word stays in its template."""
    return {slot: word for slot, word in bound.items() if slot[0] == "name"}


def _mixture(parts: list[Counter[T]]) -> Counter[T]:
    """The mean of several counters."""
    total: Counter[T] = Counter()
    for part in parts:
        for key, n in part.items():
            total[key] += n / len(parts)  # type: ignore[assignment]  # counts may be means
    return total
