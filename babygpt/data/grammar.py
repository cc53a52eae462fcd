"""A small probabilistic grammar whose entropy is known exactly.

A grammar has *words* (lists to pick from) and *rules* (templates to pick from); every pick is uniform.
A template is text with two kinds of holes:

    {kind.var}     a word of that kind, bound to var: the same hole always shows the same word,
                   and two variables of one kind never show the same word in one template
    {kind.var!w}   the same, and the answer of a question whose wrong candidate is variable w
    [rule]         any template of that rule; it knows the names bound so far, and no other word

Every string has one derivation (the tests parse samples exhaustively). So the log-probability of a story is
minus the sum of the logs of the numbers of choices, and the entropies follow in the same way.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from babygpt.data.stories import END, Item, Question, Rule, Slot, Story, Template, read_template
from babygpt.errors import BadInput

START_RULE = "story"

Bindings = dict[tuple[str, str], str]  # (kind, var) -> word
Pairs = Counter[tuple[str, str]]  # expected number of times one character follows another
Chars = Counter[str]  # a distribution over characters


@dataclass(frozen=True)
class Grammar:
    """Grammar of words and rules, with all numbers that follow from them in closed form.

    words     kind -> the words of that kind
    rules     rule -> the texts of its templates; the rule "story" is the root
    """

    words: dict[str, tuple[str, ...]]
    rules: dict[str, tuple[str, ...]]
    _pairs: dict[Item, Pairs] = field(default_factory=dict, init=False, repr=False, compare=False)
    _edges: dict[tuple[Item, int], Chars] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def templates(self) -> dict[str, tuple[Template, ...]]:
        return {name: tuple(map(read_template, texts)) for name, texts in self.rules.items()}

    @cached_property
    def _by_first(self) -> dict[str, dict[str, list[str]]]:
        """Return the words of each kind by their first character."""
        by_first: dict[str, dict[str, list[str]]] = {kind: defaultdict(list) for kind in self.words}
        for kind, words in self.words.items():
            for word in words:
                by_first[kind][word[:1]].append(word)
        return by_first

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
        """Return the words that a slot may show: its own if bound, else those that no other variable has."""
        if (slot.kind, slot.var) in bound:
            return [bound[slot.kind, slot.var]]
        taken = {word for (kind, _), word in bound.items() if kind == slot.kind}
        words = self.words[slot.kind]
        free = list(words)
        for word in taken:
            free.remove(word)
        if not free:
            raise BadInput(f"a template has more variables of kind {slot.kind} than the {len(words)} words")
        return free

    def write(self, n_chars: int, seed: int) -> str:
        """Write whole stories, one a line, with at least n_chars characters.

        n_chars   in characters; the last story is not cut
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
        """Collect n questions in mirror pairs: each story once as it is, once with the names exchanged.

        n           an even number of questions
        max_chars   longest prompt plus answer, in characters: a window the model can see whole
        returns     n questions; a model that ignores order gets half of them right
        Raises BadInput if n is odd or too few stories are short enough.
        """
        if n % 2:
            raise BadInput(f"n ({n}) must be even: questions come in mirror pairs")
        rng = random.Random(seed)
        collected: list[Question] = []
        for _ in range(200 * n + 1):  # an end, in case no story fits
            if len(collected) == n:
                return collected
            story = self.sample(rng)
            question = story.question()
            mirror = question and story.swap(question.answer, question.rival).question()
            if question and mirror and max(question.length, mirror.length) <= max_chars:
                collected += [question, mirror]
        raise BadInput(f"max_chars ({max_chars}) is too short: too few stories fit in it")

    # ---- reading -------------------------------------------------------------------------------

    def derivations(self, text: str) -> list[float]:
        """Parse a story exhaustively. Return the log-probability in nats of each of its derivations."""
        return [p for p, end, _ in self._parse_item(Rule(START_RULE), text, 0, {}) if end == len(text)]

    def log_prob(self, text: str) -> float:
        """Return the exact log-probability of one story, in nats.

        text      a story without the line end
        Raises BadInput if the grammar cannot write it.
        """
        log_probs = self.derivations(text)
        if not log_probs:
            raise BadInput(f"not a story of this grammar: {text!r}")
        return math.log(sum(map(math.exp, log_probs)))

    def _parse(self, items: Template, text: str, start: int, bound: Bindings) -> Iterator[tuple[float, int]]:
        """Yield every way to read these items from `start` on: its log-probability and its end."""
        if not items:
            yield 0.0, start
            return
        for p, end, bound_after in self._parse_item(items[0], text, start, bound):
            for q, stop in self._parse(items[1:], text, end, bound_after):
                yield p + q, stop

    def _parse_item(
        self, item: Item, text: str, start: int, bound: Bindings
    ) -> Iterator[tuple[float, int, Bindings]]:
        """Yield every way to read one item from `start` on, and the words that are bound after it."""
        if isinstance(item, Rule):
            log_n = math.log(len(self.templates[item.name]))
            for template in self.templates[item.name]:
                for p, end in self._parse(template, text, start, _names(bound)):
                    yield p - log_n, end, bound
        elif isinstance(item, str):
            if text.startswith(item, start):
                yield 0.0, start + len(item), bound
        else:
            near = self._by_first[item.kind].get(text[start : start + 1], ())
            words = [word for word in near if text.startswith(word, start)]
            options = self._options(item, bound) if words else ()  # a long list, and most often not needed
            for word in words:
                if word in options:
                    bound_after = {**bound, (item.kind, item.var): word}
                    yield -math.log(len(options)), start + len(word), bound_after

    # ---- what is known without sampling --------------------------------------------------------

    def entropy(self) -> float:
        """Return the entropy of one story, in nats."""
        return self._entropy(START_RULE, {})

    def _entropy(self, rule: str, names: Bindings) -> float:
        templates, total = self.templates[rule], 0.0
        for template in templates:
            bound, inner = dict(names), 0.0
            for item in template:
                # Entropies add up: the word of one item does not change how many options later items have.
                if isinstance(item, Rule):
                    inner += self._entropy(item.name, _names(bound))
                elif isinstance(item, Slot):
                    options = self._options(item, bound)
                    bound[item.kind, item.var] = options[0]  # any word: only the number of options counts
                    inner += math.log(len(options))
            total += inner
        return math.log(len(templates)) + total / len(templates)

    def expected_length(self) -> float:
        """Return the mean length of a story, in characters, with its line end."""
        return sum(self.bigrams().values())

    def floor(self) -> float:
        """Return the entropy rate in nats per character. The loss of no model can be lower."""
        return self.entropy() / self.expected_length()

    def bigram_floor(self) -> float:
        """Return H(next character | this character) in nats. The loss of no bigram model can be lower."""
        pairs = self.bigrams()
        first: Counter[str] = Counter()
        for (a, _), n in pairs.items():
            first[a] += n
        total = sum(first.values())
        return -sum(n * math.log(n / first[a]) for (a, _), n in pairs.items()) / total

    def bigrams(self) -> Pairs:
        """Return how often each character follows another, expected per story with its line end."""
        story = Rule(START_RULE)
        pairs = self._within(story).copy()
        for a, p in self._edge(story, -1).items():
            pairs[a, END] += p
        for b, p in self._edge(story, 0).items():
            pairs[END, b] += p
        return pairs

    def alphabet(self) -> list[str]:
        """Return all characters of all stories and the line end, sorted."""
        return sorted({char for pair in self.bigrams() for char in pair})

    # ---- pairs of characters: counted exactly, without writing any -----------------------------

    def _within(self, item: Item) -> Pairs:
        """Return the expected pairs within an item. Results are kept, since many templates share a rule."""
        if item not in self._pairs:
            if isinstance(item, Rule):
                parts: list[Pairs] = [Counter() for _ in self.templates[item.name]]
                for total, template in zip(parts, self.templates[item.name], strict=True):
                    for part in map(self._within, template):
                        total.update(part)
                    for before, after in pairwise(template):
                        total.update(self._joint(before, after))
            else:
                parts = [Counter(pairwise(word)) for word in self._words(item)]
            self._pairs[item] = _mean(parts)
        return self._pairs[item]

    def _edge(self, item: Item, side: int) -> Chars:
        """Return the distribution of an item's first (side 0) or last (side -1) character."""
        if (item, side) not in self._edges:
            if isinstance(item, Rule):
                parts = [self._edge(template[side], side) for template in self.templates[item.name]]
            else:
                parts = [Counter({word[side]: 1.0}) for word in self._words(item)]
            self._edges[item, side] = _mean(parts)
        return self._edges[item, side]

    def _words(self, item: str | Slot) -> Sequence[str]:
        """Return the words that a slot may show, or the literal alone."""
        return [item] if isinstance(item, str) else self.words[item.kind]

    def _joint(self, before: Item, after: Item) -> Pairs:
        """Return the pairs of characters where two items meet. Two slots of a kind depend on each other."""
        if isinstance(before, Slot) and isinstance(after, Slot) and before.kind == after.kind:
            words = self.words[before.kind]
            same = before.var == after.var
            return _mean([Counter({(u[-1], v[0]): 1.0}) for u in words for v in words if (u == v) == same])
        if self._may_be_name(before, -1) and self._may_be_name(after, 0):
            raise BadInput(
                f"names touch across a rule's border, between {before} and {after}: put text there"
            )
        last_chars, first_chars = self._edge(before, -1), self._edge(after, 0)
        joint: Pairs = Counter()
        for a, p in last_chars.items():
            for b, q in first_chars.items():
                joint[a, b] += p * q
        return joint

    def _may_be_name(self, item: Item, side: int) -> bool:
        """Return whether a name may stand at an item's beginning (side 0) or end (side -1)."""
        if isinstance(item, Rule):
            return any(self._may_be_name(template[side], side) for template in self.templates[item.name])
        return isinstance(item, Slot) and item.kind == "name"


def _names(bound: Bindings) -> Bindings:
    """Return the names, which hold in the whole story. Every other word stays in its template."""
    return {slot: word for slot, word in bound.items() if slot[0] == "name"}


def _mean(parts: list[Counter[Any]]) -> Counter[Any]:
    """Return the mean of several counters."""
    total: Counter[Any] = Counter()
    for part in parts:
        for key, n in part.items():
            total[key] += n / len(parts)  # type: ignore[assignment]  # counts may be means
    return total
