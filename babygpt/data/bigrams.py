"""How often one character follows another in what a grammar writes: exactly, without writing anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from babygpt.data.stories import Item, Rule, Slot, Template
from babygpt.errors import BadInput

Pairs = Counter[tuple[str, str]]  # expected number of times one character follows another
Chars = Counter[str]  # a distribution over characters
T = TypeVar("T")


class Bigrams:
    """Expected pairs of neighbouring characters in every item of a grammar.

    words      kind -> the words of that kind
    templates  rule -> its templates
    """

    def __init__(
        self, words: Mapping[str, Sequence[str]], templates: Mapping[str, Sequence[Template]]
    ) -> None:
        self.words, self.templates = words, templates
        self.known: dict[Item, Pairs] = {}
        self.edges: dict[tuple[Item, int], Chars] = {}

    def within(self, item: Item) -> Pairs:
        """Expected pairs within an item; remembered, because the same rule stands in many templates."""
        if item not in self.known:
            if isinstance(item, Rule):
                found = _mixture([self._within(template) for template in self.templates[item.name]])
            else:
                found = _mixture([Counter(pairwise(word)) for word in self._words(item)])
            self.known[item] = found
        return self.known[item]

    def edge(self, item: Item, side: int) -> Chars:
        """The distribution of an item's first (side 0) or last (side -1) character; remembered too."""
        if (item, side) not in self.edges:
            if isinstance(item, Rule):
                found = _mixture([self.edge(template[side], side) for template in self.templates[item.name]])
            else:
                found = _mixture([Counter({word[side]: 1.0}) for word in self._words(item)])
            self.edges[item, side] = found
        return self.edges[item, side]

    def _within(self, template: Template) -> Pairs:
        total: Pairs = Counter()
        for item in template:
            total.update(self.within(item))
        for left, right in pairwise(template):
            total.update(self._joint(left, right))
        return total

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
        ends, starts = self.edge(left, -1), self.edge(right, 0)
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


def _mixture(parts: list[Counter[T]]) -> Counter[T]:
    """The mean of several counters."""
    total: Counter[T] = Counter()
    for part in parts:
        for key, n in part.items():
            total[key] += n / len(parts)  # type: ignore[assignment]  # counts may be means
    return total
