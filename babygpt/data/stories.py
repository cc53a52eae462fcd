"""Stories, their templates and the questions that they ask."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

END = "\n"  # stands after every story
HOLE = re.compile(r"\{(\w+)(?:\.(\w+))?(?:!(\w+))?\}|\[(\w+)\]")


@dataclass(frozen=True)
class Slot:
    """A hole for one word: its kind, its variable, and the rival variable if it answers a question."""

    kind: str
    var: str
    rival: str | None = None


@dataclass(frozen=True)
class Rule:
    """A hole for any template of the rule of that name."""

    name: str


Item = str | Slot | Rule
Template = tuple[Item, ...]


def read_template(text: str) -> Template:
    """Split a template's text into literals, slots and rules.

    text      such as "{name.a} met {name.b}[gap]who met? {name.a!b}."
    returns   its items from left to right
    """
    items: list[Item] = []
    end = 0
    for hole in HOLE.finditer(text):
        if hole.start() > end:
            items.append(text[end : hole.start()])
        kind, var, rival, rule = hole.groups()
        items.append(Rule(rule) if rule else Slot(kind, var or "", rival))
        end = hole.end()
    if end < len(text):
        items.append(text[end:])
    return tuple(items)


@dataclass(frozen=True)
class Question:
    """A story up to the position of a name, with the right name and a wrong one.

    In a mirror pair the two names are exchanged everywhere in the story. Both stories have the same
    characters, and only their order tells which name is right.
    """

    prompt: str
    answer: str
    rival: str
    end: str  # the character after the answer, so that no answer is the beginning of another
    mention: int | None = None  # position of the answer's name in the prompt, if a story gave it

    @property
    def length(self) -> int:
        """The length of the window that is needed: the prompt and the longer of the two answers."""
        return len(self.prompt) + max(len(self.answer), len(self.rival)) + len(self.end)

    @property
    def distance(self) -> int:
        """The characters between the answer's first mention and the position where it is asked for."""
        first = self.prompt.index(self.answer) if self.mention is None else self.mention
        return len(self.prompt) - first


Questions = Sequence[Question]


@dataclass(frozen=True)
class Story:
    """One derivation: the text, its log-probability in nats, and every literal and word in it."""

    log_prob: float
    pieces: tuple[tuple[Item, str], ...] = field(repr=False)

    @property
    def text(self) -> str:
        return "".join(piece for _, piece in self.pieces)

    def swap(self, name: str, rival: str) -> Story:
        """Return the story with two names exchanged. It is exactly as probable."""
        exchange = {name: rival, rival: name}
        pieces = tuple(
            (item, exchange.get(piece, piece) if isinstance(item, Slot) else piece)
            for item, piece in self.pieces
        )
        return Story(self.log_prob, pieces)

    def question(self) -> Question | None:
        """Return the first question that the story asks, or None if it asks none."""
        names = {i.var: piece for i, piece in self.pieces if isinstance(i, Slot) and i.kind == "name"}
        prompt = END  # running text has a line end before every story
        mentions: dict[str, int] = {}
        for (item, piece), (_, after) in pairwise(self.pieces):
            if isinstance(item, Slot) and item.rival:
                return Question(prompt, piece, names[item.rival], after[0], mentions.get(piece))
            if isinstance(item, Slot):
                mentions.setdefault(piece, len(prompt))
            prompt += piece
        return None
