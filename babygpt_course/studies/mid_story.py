"""Exact reader of windows that begin in the middle of a story.

Such a window has missed the beginning of a story. Even a reader who knows the grammar by heart must guess
where in which story it stands, and which words were used before. This reader keeps every possibility with its
probability; each character removes those that it contradicts.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import count
from typing import NamedTuple

import numpy as np

from babygpt.data.grammar import START_RULE, Grammar
from babygpt.data.stories import END, Rule, Slot, Template
from babygpt.errors import BadInput

WordId = tuple[str, object]  # kind of a word, and what tells the variables of that kind apart
Bound = Mapping[tuple[str, str], WordId]  # (kind, var) of a template -> the number of its word
# (rule, its names) -> how often it is called, and the frame that calls it
Callers = dict[tuple, list[tuple[float, "OpenTemplate | None"]]]
REMEMBERED = 3  # characters: the hypotheses after one to three are kept, as many windows begin alike


class OpenTemplate(NamedTuple):
    """A template that is being read, at one of its items, and the frames that may have called it.

    parents  each with its probability; more than one only if the window began in this template or below it
    """

    template: Template
    at: int
    bound: Bound
    parents: tuple[tuple[float, OpenTemplate], ...]
    depth: int


class Hypothesis(NamedTuple):
    """One way to read the window so far.

    weight   its probability, without the unknown word that is being read
    frame    where it stands, or None at the end of a story
    read     characters read of the item there
    words    number -> word, as far as the window has shown it
    partial  number of the window's first word, if the window began inside it
    among    the words that this one can be
    inside   whether it is still being read
    """

    weight: float
    frame: OpenTemplate | None
    read: str = ""
    words: Mapping[WordId | None, str] = {}
    partial: WordId | None = None
    among: frozenset[str] = frozenset()
    inside: bool = False

    @property
    def item(self) -> str | Slot:
        """The text at which it stands, or the slot if the window has not shown that word."""
        item = self.frame.template[self.frame.at] if self.frame else END
        assert not isinstance(item, Rule)  # a rule is entered before anything of it is read
        return item if isinstance(item, str) or not self.frame else self.words.get(self.number(item), item)

    def number(self, slot: Slot) -> WordId | None:
        """Return the number of a slot's word; None if no template has bound it."""
        return self.frame.bound.get((slot.kind, slot.var)) if self.frame else None


def names_in(bound: Bound) -> dict[tuple[str, str], WordId]:
    """Return the bindings that a rule inherits: names only."""
    return {slot: number for slot, number in bound.items() if slot[0] == "name"}


class MidStory:
    """Reader that computes the loss of each character of a window that begins anywhere in a grammar's text.

    Words that the window has missed are not enumerated: those that it has not shown are equally likely, and
    variables that are known together show different words. Only the window's first word, if just its end was
    seen, has candidates of its own.
    """

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.words = {kind: frozenset(words) for kind, words in grammar.words.items()}
        self.longer: dict[tuple[str, str], set[str]] = defaultdict(set)  # kind, beginning -> words that go on
        self.ends: dict[tuple[str, str], set[str]] = defaultdict(set)  # kind, end -> words
        self.middle: Counter[tuple[str, str]] = Counter()  # kind, inner part -> places in words
        for kind, words in grammar.words.items():
            for word in words:
                for i in range(1, len(word)):
                    self.longer[kind, word[:i]].add(word)
                    self.ends[kind, word[i:]].add(word)
                    self.middle.update((kind, word[i:to]) for to in range(i + 1, len(word)))
        self._numbers = count()  # one for each word that is bound after the window's beginning
        self._remembered: dict[str, tuple[float, list[Hypothesis]]] = {}
        self._first = [*self._starts()]

    def losses(self, window: str) -> np.ndarray:
        """Return -log p of each character after the first, given the window before it and nothing else.

        window   (T,)  characters of running text: stories, each with a line end after it
        returns  (T - 1,)  nats
        Raises BadInput for a window that no text of this grammar contains.
        """
        losses, hypotheses = [], self._first
        for i in range(len(window)):
            p, hypotheses = self._read(hypotheses, window[: i + 1])
            losses.append(-math.log(p))
        return np.array(losses[1:])

    def _read(self, before: list[Hypothesis], text: str) -> tuple[float, list[Hypothesis]]:
        """Return the probability of a text's last character, and the hypotheses after it."""
        if text in self._remembered:
            return self._remembered[text]
        after = [
            (hypothesis, self._chance(hypothesis))
            for old in before
            for hypothesis in self._after(old, text[-1])
        ]
        p = math.fsum(chance for _, chance in after)
        if p <= 0:
            raise BadInput(f"no text of this grammar holds {text!r}")
        possible = [
            hypothesis._replace(weight=hypothesis.weight / p) for hypothesis, chance in after if chance > 0
        ]
        if len(text) <= REMEMBERED:
            self._remembered[text] = p, possible
        return p, possible

    # ---- where a window may begin --------------------------------------------------------------

    def _starts(self) -> Iterator[Hypothesis]:
        """Yield every position of every story, weighted by how often it occurs in a long text.

        A template that many others call is entered once for all that know the same names.
        """
        share, depth = 1 / self.grammar.expected_length(), 0
        callers: Callers = {(START_RULE, ()): [(share, None)]}
        yield Hypothesis(share, None)
        while callers:
            later: Callers = defaultdict(list)
            for (rule, names), calls in callers.items():
                templates, total = self.grammar.templates[rule], sum(share for share, _ in calls)
                parents = tuple((share / total, frame) for share, frame in calls if frame is not None)
                for template in templates:
                    frame = OpenTemplate(template, 0, dict(names), parents, depth)
                    weight = total / len(templates)
                    positions, rule_calls = self._starts_in(frame, weight)
                    yield from positions
                    for called, caller in rule_calls:
                        later[called].append((weight, caller))
            callers, depth = later, depth + 1

    def _starts_in(
        self, frame: OpenTemplate, weight: float
    ) -> tuple[list[Hypothesis], list[tuple[tuple, OpenTemplate]]]:
        """Return the positions in a template at which a window may begin, and the rules that it calls.

        frame    the template at its first item
        weight   of each position
        returns  a hypothesis for each position; and for each call, the rule with the names that it inherits,
                 and the frame that calls it
        """
        positions, calls = list[Hypothesis](), list[tuple[tuple, OpenTemplate]]()
        for i, item in enumerate(frame.template):
            frame = frame._replace(at=i)
            if isinstance(item, Rule):
                inherited = tuple(sorted(names_in(frame.bound).items()))
                calls.append(((item.name, inherited), frame))
            elif isinstance(item, str):
                positions += [Hypothesis(weight, frame, item[:n_read]) for n_read in range(len(item))]
            else:
                positions.append(Hypothesis(weight, frame))
                # A name is one person in the whole story; another word belongs to its template alone.
                variable = item.var if item.kind == "name" else (item.var, frame.depth)
                frame = frame._replace(bound={(item.kind, item.var): (item.kind, variable), **frame.bound})
                number = frame.bound[item.kind, item.var]
                positions.append(Hypothesis(weight, frame, partial=number, inside=True))
        return positions, calls

    # ---- one character more --------------------------------------------------------------------

    def _after(self, old: Hypothesis, char: str) -> Iterator[Hypothesis]:
        """Yield the ways to read one more character."""
        item, read = old.item, old.read + char
        if isinstance(item, Slot):
            yield from self._after_unknown(old, item, read)
        elif read == item:
            yield from self._next(old)
        elif item.startswith(read):
            yield old._replace(read=read)

    def _after_unknown(self, old: Hypothesis, slot: Slot, read: str) -> Iterator[Hypothesis]:
        """Yield the ways to go on in a word that the window has not shown yet, or to end it here."""
        frame, kind = old.frame, slot.kind
        assert frame is not None
        if (kind, read) in (self.middle if old.inside else self.longer):
            yield old._replace(read=read)
        if old.inside and (kind, read) in self.ends:
            among = frozenset(self.ends[kind, read])
            weight = old.weight * len(among) / len(self.words[kind])
            yield from self._next(old._replace(weight=weight, among=among, inside=False))
        if not old.inside and read in self.words[kind]:
            number = old.number(slot) or (kind, next(self._numbers))
            yield from self._next(
                old._replace(
                    weight=old.weight * self._chance_of(old, slot, {read}),
                    frame=frame._replace(bound={**frame.bound, (kind, slot.var): number}),
                    words={**old.words, number: read},
                )
            )

    def _next(self, old: Hypothesis) -> Iterator[Hypothesis]:
        """Go on to the item after the one that was read, out of templates that end and into rules."""
        frame = old.frame
        if frame is None:
            yield from self._enter(Hypothesis(old.weight, None), START_RULE)
        elif frame.at + 1 < len(frame.template):
            yield from self._arrive(old._replace(frame=frame._replace(at=frame.at + 1), read=""))
        elif not frame.parents:
            yield Hypothesis(old.weight, None)
        else:
            for share, parent in frame.parents:
                for hypothesis in self._without_partial(old, parent):
                    yield from self._next(hypothesis._replace(frame=parent, weight=hypothesis.weight * share))

    def _arrive(self, hypothesis: Hypothesis) -> Iterator[Hypothesis]:
        """Yield a hypothesis at its item, or at the beginnings of all templates if that is a rule."""
        item = hypothesis.frame.template[hypothesis.frame.at] if hypothesis.frame else END
        yield from self._enter(hypothesis, item.name) if isinstance(item, Rule) else [hypothesis]

    def _enter(self, old: Hypothesis, rule: str) -> Iterator[Hypothesis]:
        """Yield a hypothesis at the beginning of each template of a rule."""
        caller, templates = old.frame, self.grammar.templates[rule]
        bound: Bound = {} if caller is None else names_in(caller.bound)
        parents, depth = ((), 0) if caller is None else (((1.0, caller),), caller.depth + 1)
        for template in templates:
            frame = OpenTemplate(template, 0, bound, parents, depth)
            yield from self._arrive(old._replace(frame=frame, weight=old.weight / len(templates)))

    def _without_partial(self, old: Hypothesis, parent: OpenTemplate) -> Iterator[Hypothesis]:
        """Yield a hypothesis for each candidate of the first word, if the caller does not know that word.

        The caller's names that the window has missed differ from it, while new names need not. The rule for
        new words would not see that difference; with one candidate each, `words` holds it.
        """
        first, bound = old.partial, parent.bound.values()
        missed = any(number[0] == "name" and number not in old.words for number in bound)
        if missed and first and first[0] == "name" and first not in bound and first not in old.words:
            among = old.among.difference(word for n, word in old.words.items() if n and n[0] == "name")
            for word in among:
                yield old._replace(weight=old.weight / len(among), words={**old.words, first: word})
        else:
            yield old

    # ---- words that the window has not shown ---------------------------------------------------

    def _chance(self, hypothesis: Hypothesis) -> float:
        """Return a hypothesis's probability; inside an unknown word, that of all words that go on so."""
        item, read = hypothesis.item, hypothesis.read
        if not read or isinstance(item, str):
            return hypothesis.weight
        if hypothesis.inside:
            return hypothesis.weight * self.middle[item.kind, read] / len(self.words[item.kind])
        return hypothesis.weight * self._chance_of(hypothesis, item, self.longer[item.kind, read])

    def _chance_of(self, hypothesis: Hypothesis, slot: Slot, words: set[str]) -> float:
        """Return the probability that a slot, whose word the window has not shown, shows one of these words.

        Words that are bound together differ. Each of the n words not shown yet is therefore equally likely
        for a variable that was missed; only the first word takes one of its e candidates, each with 1/e.
        """
        assert hypothesis.frame is not None
        kind, size = slot.kind, len(self.words[slot.kind])
        here = [number for slot, number in hypothesis.frame.bound.items() if slot[0] == kind]
        words_here = {hypothesis.words[number] for number in here if number in hypothesis.words}
        shown = (
            {w for n, w in hypothesis.words.items() if n and n[0] == kind} if kind == "name" else words_here
        )
        partial = hypothesis.partial in here and hypothesis.partial not in hypothesis.words
        among = hypothesis.among - shown if partial else frozenset()
        likely, n, number = words & among, size - len(shown) - partial, hypothesis.number(slot)
        if partial and number == hypothesis.partial:
            return len(likely) / len(among)
        others = len(words - shown - among) + len(likely) * (1 - 1 / max(1, len(among)))
        if number is not None:
            return others / n
        missed = sum(number not in hypothesis.words for number in here) - partial
        # A new word differs from all that are bound here; a name shown elsewhere in the story may come back.
        again = len((words & shown) - words_here)
        return (again + others * (1 - missed / max(1, n))) / (size - len(here))
