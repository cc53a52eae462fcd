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
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from babygpt.data.bigrams import Bigrams, Pairs
from babygpt.data.stories import END, Item, Question, Rule, Slot, Story, Template, read_template
from babygpt.errors import BadInput

START_RULE = "story"

Bindings = dict[tuple[str, str], str]  # (kind, var) -> word


@dataclass(frozen=True)
class Grammar:
    """Words and rules, and everything that follows from them in closed form.

    words     kind -> the words of that kind
    rules     rule -> the texts of its templates; the rule "story" is the root
    """

    words: dict[str, tuple[str, ...]]
    rules: dict[str, tuple[str, ...]]

    @cached_property
    def templates(self) -> dict[str, tuple[Template, ...]]:
        return {name: tuple(map(read_template, texts)) for name, texts in self.rules.items()}

    @cached_property
    def _pairs(self) -> Bigrams:
        return Bigrams(self.words, self.templates)

    @cached_property
    def _by_first(self) -> dict[str, dict[str, list[str]]]:
        """The words of each kind that begin with each character."""
        found: dict[str, dict[str, list[str]]] = {kind: defaultdict(list) for kind in self.words}
        for kind, words in self.words.items():
            for word in words:
                found[kind][word[:1]].append(word)
        return found

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
        free = list(words)
        for word in taken:
            free.remove(word)
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
        """Collect n questions in mirror pairs: each story once as it is, once with the names exchanged.

        n           an even number of questions
        max_chars   longest prompt plus answer, in characters: a window the model can see whole
        returns     n questions; a model that ignores order gets half of them right
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
        return [p for p, end, _ in self._parse_item(Rule(START_RULE), text, 0, {}) if end == len(text)]

    def log_prob(self, text: str) -> float:
        """The exact log-probability of one story, in nats.

        text      a story without the line end
        Raises ValueError if the grammar cannot write it.
        """
        found = self.derivations(text)
        if not found:
            raise BadInput(f"not a story of this grammar: {text!r}")
        return math.log(sum(map(math.exp, found)))

    def _parse(self, items: Template, text: str, start: int, bound: Bindings) -> Iterator[tuple[float, int]]:
        """Every way to read these items from `start` on: its log-probability, and where it ends."""
        if not items:
            yield 0.0, start
            return
        for p, end, known in self._parse_item(items[0], text, start, bound):
            for q, stop in self._parse(items[1:], text, end, known):
                yield p + q, stop

    def _parse_item(
        self, item: Item, text: str, start: int, bound: Bindings
    ) -> Iterator[tuple[float, int, Bindings]]:
        """Every way to read one item from `start` on, and the words that are bound after it."""
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
            options = self._options(item, bound) if words else ()  # a long list, and most often in vain
            for word in words:
                if word in options:
                    known = {**bound, (item.kind, item.var): word}
                    yield -math.log(len(options)), start + len(word), known

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
        first: Counter[str] = Counter()
        for (a, _), n in pairs.items():
            first[a] += n
        total = sum(first.values())
        return -sum(n * math.log(n / first[a]) for (a, _), n in pairs.items()) / total

    def bigrams(self) -> Pairs:
        """Expected number of times each character follows another, per story, line ends included."""
        story = Rule(START_RULE)
        pairs = self._pairs.within(story).copy()
        for a, p in self._pairs.edge(story, -1).items():
            pairs[a, END] += p
        for b, p in self._pairs.edge(story, 0).items():
            pairs[END, b] += p
        return pairs

    def alphabet(self) -> list[str]:
        """Every character a story can hold, and the line end, sorted."""
        return sorted({char for pair in self.bigrams() for char in pair})


def _names(bound: Bindings) -> Bindings:
    """The people of a story, who are known in all of it; every other word stays in its template."""
    return {slot: word for slot, word in bound.items() if slot[0] == "name"}
