"""What a reader of a window holds possible: where in which story it stands, and what was told before."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from babygpt.data.stories import Slot, Template
from babygpt_course.studies.window_floor.pools import Pool

Bound = Mapping[
    tuple[str, str], Hashable
]  # (kind, var) -> what stands for the word, shown or not: its number
PoolKey = tuple[str, int]  # kind, and depth of the template that knows the words
NUMBERS = count()  # no two words of a story share one


class Spelling:
    """The words of one kind, by how they begin and by how they end."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = frozenset(words)
        self.longer: dict[str, list[str]] = defaultdict(list)  # beginning -> words that go on after it
        self.ends: dict[str, list[str]] = defaultdict(list)  # end -> words with something before it
        self.goes_on: Counter[str] = Counter()  # part that is no beginning -> places where it goes on
        for word in words:
            for at in range(1, len(word)):
                self.longer[word[:at]].append(word)
                self.ends[word[at:]].append(word)
                self.goes_on.update(word[at:to] for to in range(at + 1, len(word)))


class Frame(NamedTuple):
    """A template that is being read, at one of its items, and the frames that may have called it.

    parents  each with its chance; more than one only where the window began in this template or within it
    """

    template: Template
    at: int
    bound: Bound
    parents: tuple[tuple[float, Frame], ...]
    depth: int


class Guess(NamedTuple):
    """One way to read the window so far; its probability is the weight times the ways to fill its pools.

    frame    where it stands, or None at the end of a story
    read     what was read of the item there
    words    number of a word -> the word, where the window has shown it
    pools    of missed words
    partial  number of the window's first word, if the window began inside it
    inside   whether that word is still being read
    """

    weight: float
    frame: Frame | None
    read: str = ""
    words: Mapping[Hashable, str] = {}
    pools: Mapping[PoolKey, Pool] = {}
    partial: Hashable = None
    inside: bool = False

    def text(self) -> str | None:
        """The item where it stands, if its characters are known: a literal, or a word shown before."""
        if self.frame is None:
            return ""
        item = self.frame.template[self.frame.at]
        if isinstance(item, str):
            return item
        assert isinstance(item, Slot)  # a rule is entered before anything of it is read
        return self.words.get(self.frame.bound.get((item.kind, item.var)))

    def ways(self) -> float:
        """Its probability, if it is not inside an unknown word."""
        return self.weight * math.prod([pool.ways() for pool in self.pools.values()])


def pool_key(kind: str, depth: int) -> PoolKey:
    """Which pool a word belongs to: names are known in all of a story, other words in their template."""
    return kind, 0 if kind == "name" else depth


def names_in(bound: Bound) -> dict[tuple[str, str], Hashable]:
    """What a rule is told of the words bound so far."""
    return {slot: number for slot, number in bound.items() if slot[0] == "name"}


def with_pools(guess: Guess, sizes: Mapping[str, int]) -> Guess:
    """The guess with pools of the words that its template knows and the window has not shown."""
    frame, pools, weight = guess.frame, dict(guess.pools), guess.weight
    assert frame is not None
    missed = [(kind, n) for (kind, _), n in frame.bound.items() if n not in guess.words]
    counts = Counter(pool_key(kind, frame.depth) for kind, _ in missed)
    for key in counts.keys() - pools.keys():
        pools[key] = Pool(sizes[key[0]], hidden=counts[key])
        weight /= pools[key].ways()
    return guess._replace(weight=weight, pools=pools)


def begun_inside(guess: Guess, slot: Slot, sizes: Mapping[str, int]) -> Guess:
    """The guess that the window began inside the word of a slot, after its first character."""
    frame, guess = guess.frame, with_pools(guess, sizes)
    assert frame is not None
    key = pool_key(slot.kind, frame.depth)
    pools = {**guess.pools, key: guess.pools[key]._replace(hidden=guess.pools[key].hidden - 1)}
    return guess._replace(pools=pools, partial=frame.bound[slot.kind, slot.var], inside=True)


def end_shown(guess: Guess, slot: Slot, words: Sequence[str]) -> Guess:
    """The guess after the window's first word, begun inside: it was one of these."""
    assert guess.frame is not None
    key = pool_key(slot.kind, guess.frame.depth)
    pool = guess.pools[key]._replace(ends=frozenset(words), left=len(words), lead=len(words))
    return guess._replace(pools={**guess.pools, key: pool}, inside=False)


def word_shown(guess: Guess, slot: Slot, word: str, n_words: int) -> Guess | None:
    """The guess after a word that the window had not shown before, or None if it cannot stand here.

    n_words  words of its kind
    """
    assert guess.frame is not None
    number, key = guess.frame.bound.get((slot.kind, slot.var)), pool_key(slot.kind, guess.frame.depth)
    pool = guess.pools.get(key)
    if number is None:
        return _new_word(guess, slot, word, n_words)
    if pool is None or word in pool.used:
        return None
    if number == guess.partial:
        if pool.ends is None or word not in pool.ends:
            return None
        pool = pool.complete(word)
    else:
        pool = pool.show(word, avoided=True)._replace(hidden=pool.hidden - 1)
    return guess._replace(words={**guess.words, number: word}, pools={**guess.pools, key: pool})


def _new_word(guess: Guess, slot: Slot, word: str, n_words: int) -> Guess | None:
    """The same of a word that no template has bound: it differs from those that are known where it stands."""
    frame = guess.frame
    assert frame is not None
    here = [number for (kind, _), number in frame.bound.items() if kind == slot.kind]
    if any(guess.words.get(number) == word for number in here):
        return None
    number, key = next(NUMBERS), pool_key(slot.kind, frame.depth)
    pools = guess.pools
    if key in pools:
        pools = {**pools, key: pools[key].show(word, avoided=guess.partial in here)}
    return guess._replace(
        weight=guess.weight / (n_words - len(here)),
        frame=frame._replace(bound={**frame.bound, (slot.kind, slot.var): number}),
        words={**guess.words, number: word},
        pools=pools,
    )


def without_template(guess: Guess, frame: Frame) -> Guess:
    """The guess after a template has ended: the words that it knew alone will never be shown."""
    weight, pools = guess.weight, dict(guess.pools)
    for key in [key for key in pools if key[1] == frame.depth and (key[0] != "name" or not frame.parents)]:
        weight *= pools.pop(key).ways()
    known = frame.parents[0][1].bound if frame.parents else {}  # all parents know the same names
    for slot, number in frame.bound.items():
        missed = number not in guess.words and number != guess.partial
        if missed and slot[0] == "name" and slot not in known and ("name", 0) in pools:
            ways, pools["name", 0] = pools["name", 0].forget()
            weight *= ways
    return guess._replace(weight=weight, pools=pools)


def probability(guess: Guess, spelling: Mapping[str, Spelling]) -> float:
    """Of a guess; where it stands inside an unknown word, of all words that go on like this."""
    if not guess.read or guess.text() is not None:
        return guess.ways()
    assert guess.frame is not None
    slot = guess.frame.template[guess.frame.at]
    assert isinstance(slot, Slot)
    known = spelling[slot.kind]
    key = pool_key(slot.kind, guess.frame.depth)
    if key not in guess.pools:  # nothing of this kind was missed
        here = [guess.words.get(n, "") for (kind, _), n in guess.frame.bound.items() if kind == slot.kind]
        told = sum(word.startswith(guess.read) and word != guess.read for word in here)
        return guess.ways() * (len(known.longer[guess.read]) - told) / (len(known.words) - len(here))
    if not guess.inside:
        return _of_words(guess, slot, known)
    pool, pools = guess.pools[key], {**guess.pools}
    pools[key] = pool._replace(size=pool.size - 1)  # the word itself is none of the missed ones
    return guess._replace(pools=pools).ways() * known.goes_on[guess.read]


def _of_words(guess: Guess, slot: Slot, known: Spelling) -> float:
    """The same where words of this kind were missed; words that are alike are counted, not tried."""
    assert guess.frame is not None
    longer, read = known.longer[guess.read], guess.read
    pool = guess.pools[pool_key(slot.kind, guess.frame.depth)]
    alone = pool.used.union(guess.words.values())
    tried = [word for word in alone if word in known.words and word.startswith(read) and word != read]
    among = (pool.ends or frozenset()) - alone
    likely = [word for word in among if word.startswith(read) and word != read]
    others = len(longer) - len(tried) - len(likely)
    other = next((word for word in longer if word not in alone and word not in among), "")
    total = 0.0
    for word, times in [*((word, 1) for word in tried), *((word, len(likely)) for word in likely[:1])]:
        whole = word_shown(guess, slot, word, len(known.words))
        total += times * whole.ways() if whole is not None else 0.0
    whole = word_shown(guess, slot, other, len(known.words)) if others else None
    return total + (others * whole.ways() if whole is not None else 0.0)
