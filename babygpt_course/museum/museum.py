"""The museum of bugs: models whose loss falls, and which promise tells what is wrong with them."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import combinations
from random import Random

import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.invariants import Promise
from babygpt.objectives import NextToken
from babygpt.tables import MARKS, Source, Table, source
from babygpt.training import train
from babygpt_course.museum.evidence import PROMISES
from babygpt_course.museum.exhibits import EXHIBITS, SHAPE, Exhibit, Make, asleep, measured, row
from babygpt_course.museum.specimens import Reader


def fits(exhibit: Exhibit, answers: Mapping[str, bool]) -> bool:
    """Whether an exhibit keeps and breaks what these answers say."""
    return all(measured(exhibit, promise).holds == kept for promise, kept in answers.items())


def fewest(exhibit: Exhibit) -> dict[str, bool]:
    """The fewest promises whose answers fit this exhibit and no other: promise -> whether it is kept.

    One who knows the answer finds it; one who does not may need more.
    """
    own, rows = row(exhibit), [row(other) for other in EXHIBITS if other is not exhibit]
    for size in range(1, len(own) + 1):
        for names in combinations(own, size):
            if not any(all(other[name] == own[name] for name in names) for other in rows):
                return {name: own[name] for name in names}
    raise RuntimeError(f"{exhibit.name} has the row of another exhibit")


def mark(kept: bool) -> str:
    return MARKS["holds" if kept else "fails"]


def require_known(what: str, name: object, known: list[str]) -> str:
    """A name as it is written here, whatever its capitals. Raises BadInput with all that there are."""
    wanted = " ".join(name.lower().split()) if isinstance(name, str) else ""
    if wanted not in known:
        near = get_close_matches(wanted[:100], known, 1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise BadInput(f"there is no {what} {reprlib.repr(name)}; {meant}there is {', '.join(known)}")
    return wanted


def counted(number: int, what: str) -> str:
    """A number with a noun, as in "2 promises"."""
    return f"{number} {what}{'s' * (number != 1)}"


@dataclass(frozen=True)
class Verdict:
    """What became of a name given to a case.

    right  True or False, or None if the answers so far fit several exhibits, and no name is taken
    why    in a sentence
    """

    right: bool | None
    why: str

    def __repr__(self) -> str:
        first = {True: f"{mark(True)} Right", False: f"{mark(False)} Wrong", None: "Not taken"}[self.right]
        return f"{first}: {self.why}"


@dataclass
class Case:
    """A model without a label. `ask` what it promises, `name` what is wrong with it.

    number    under which it hangs
    exhibit   what it is; a player does not look
    museum    where it hangs, and is trained
    answers   promise -> what was measured, for each that was asked
    wrong     how many names were given that the answers exclude
    hints     how often `hint` was asked
    solved    whether it was named
    revealed  whether it was given up
    """

    number: int
    exhibit: Exhibit = field(repr=False)
    museum: Museum = field(repr=False)
    answers: dict[str, Promise] = field(default_factory=dict, repr=False)
    wrong: int = field(default=0, repr=False)
    hints: int = field(default=0, repr=False)
    solved: bool = field(default=False, repr=False)
    revealed: bool = field(default=False, repr=False)

    def __repr__(self) -> str:
        asked = ", ".join(f"{name} {mark(promise.holds)}" for name, promise in self.answers.items())
        label = self.exhibit.name if self.open else "no label"
        return f"case {self.number}, {label}; asked: {asked or 'nothing'}"

    @property
    def open(self) -> bool:
        """Whether one may look under the glass."""
        return self.solved or self.revealed

    @property
    def curves(self) -> dict[str, list[float]]:
        """The loss of each step of training, in nats per character, of this model and of its healthy twin."""
        ours, healthy = (self.museum.losses(make) for make in (self.exhibit.make, self.exhibit.healthy))
        return {f"case {self.number}": ours, "its healthy twin": healthy}

    def model(self) -> Reader:
        """The model as it is before its training, the same at each call."""
        return self.museum.fresh(self.exhibit.make)

    def ask(self, *names: str) -> Table:
        """Measure one promise or several. What is asked after the case is open is not counted.

        names    some of the museum's promises, such as "shift"
        returns  ✓ or ✗ for each, with the number that decides
        Raises BadInput, before anything is measured, for a promise that there is not.
        """
        known = [require_known("promise", name, list(PROMISES)) for name in names]
        if not known:
            raise BadInput(f"ask for one of {', '.join(PROMISES)}")
        found = {name: measured(self.exhibit, name) for name in known}
        if not self.open:
            self.answers |= found
        rows = [
            (mark(p.holds), name, p.statement, f"{p.value:.2g}", f"{p.limit:.2g}")
            for name, p in found.items()
        ]
        return Table(("", "asked", "the promise", "measured", "allowed"), rows, stable=3)

    def kept(self) -> dict[str, bool]:
        """What was asked so far: promise -> whether it is kept."""
        return {name: promise.holds for name, promise in self.answers.items()}

    def hint(self) -> Table:
        """All exhibits that fit what was asked so far: name, and what it does. The score counts hints."""
        self.hints += not self.open
        left = [(e.name, e.does) for e in EXHIBITS if fits(e, self.kept())]
        return Table(("still fits", "what it does"), left, stable=2)

    def name(self, guess: str) -> Verdict:
        """Say what is wrong with the model.

        guess    one of the museum's names
        returns  right or wrong with the reason; no name is taken while the answers fit several exhibits
        Raises BadInput for a name that there is not.
        """
        wanted = require_known("exhibit", guess, [exhibit.name for exhibit in EXHIBITS])
        if self.revealed:
            return Verdict(None, f"it was revealed: {self.exhibit.name}")
        exhibit = next(e for e in EXHIBITS if e.name == wanted)
        for promise, kept in self.kept().items():
            if measured(exhibit, promise).holds != kept:
                self.wrong += not self.solved
                verbs = ("keeps", "breaks") if kept else ("breaks", "keeps")
                return Verdict(False, f"this model {verbs[0]} {promise!r}, and {wanted!r} {verbs[1]} it")
        rivals = sum(fits(other, self.kept()) for other in EXHIBITS)
        if rivals > 1:
            asked = f"what you asked fits {rivals} exhibits" if self.answers else "you asked nothing yet"
            return Verdict(None, f"{asked}, and a guess is no proof; ask on")
        self.solved = True
        return Verdict(True, self._score())

    def _score(self) -> str:
        best, n = fewest(self.exhibit), len(self.answers)
        which = ", ".join(f"{name} {mark(kept)}" for name, kept in best.items())
        enough = "the fewest there can be" if n == len(best) else f"{len(best)} would have done, as {which}"
        spent = [counted(n, "promise") + " asked"]
        spent += [counted(self.wrong, "wrong name")] * bool(self.wrong)
        spent += [counted(self.hints, "hint")] * bool(self.hints)
        return f"{self.exhibit.name}, with {' and '.join(spent)}; {enough}"

    def reveal(self) -> str:
        """Give up: what it is."""
        self.revealed = not self.solved
        return self.exhibit.name

    def plaque(self) -> Plaque:
        """What stands under the glass. Raises BadInput before the case is solved or revealed."""
        self._require_open("plaque")
        return Plaque(self.exhibit.plaque())

    def source(self) -> Source:
        """The code that is wrong. Raises BadInput before the case is solved or revealed."""
        self._require_open("source")
        return source(self.exhibit.thing)

    def _require_open(self, what: str) -> None:
        if not self.open:
            raise BadInput(f"the {what} of case {self.number} is covered: name() it first, or reveal() it")


@dataclass(frozen=True)
class Plaque:
    """A text in Markdown, shown as such in a notebook."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return self.text


class Museum:
    """All exhibits in an order that tells nothing.

    corpus  on which they are trained, each when its curve is first looked at
    seed    of the order, and of every training
    steps   of a training
    """

    def __init__(self, corpus: Corpus, seed: int = 11097, steps: int = 100) -> None:
        order = list(EXHIBITS)
        Random(seed).shuffle(order)
        self.cases = [Case(number, exhibit, self) for number, exhibit in enumerate(order, 1)]
        self.corpus, self.seed = corpus, seed
        self.objective = NextToken(corpus, SHAPE.block_size)
        self.plan = TrainConfig(steps=steps, batch_size=8)
        self.trained: dict[Make, list[float]] = {}

    def __repr__(self) -> str:
        solved, revealed = (sum(getattr(case, how) for case in self.cases) for how in ("solved", "revealed"))
        return f"a museum of {len(self.cases)} cases, {solved} of them solved, {revealed} given up"

    def case(self, number: int) -> Case:
        """One of the cases, counted from 1. Raises BadInput for a number under which nothing hangs."""
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(self.cases):
            raise BadInput(f"case ({number!r}) must be a whole number from 1 to {len(self.cases)}")
        return self.cases[number - 1]

    def promises(self) -> Table:
        """All that can be asked: its name, what it says, and what is measured."""
        rows = [
            (name, measured(EXHIBITS[0], name).statement, (measure.__doc__ or "").strip())
            for name, measure in PROMISES.items()
        ]
        return Table(("ask for", "the promise", "what is measured"), rows, stable=3)

    def catalogue(self) -> Table:
        """All that may hang here: its name, and what it does."""
        return Table(("name", "what it does"), [(e.name, e.does) for e in EXHIBITS], stable=2)

    def key(self) -> Table:
        """Which exhibit keeps which promise, and how few of them tell it from all others: the answers."""
        rows = [(e.name, *(mark(kept) for kept in row(e).values()), str(len(fewest(e)))) for e in EXHIBITS]
        return Table(("exhibit", *PROMISES, "fewest"), rows, stable=len(PROMISES) + 2)

    def sleepers(self) -> int:
        """How many bugs leave training as it is: on its windows, their logits are a healthy model's."""
        return sum(asleep(exhibit) for exhibit in EXHIBITS if exhibit.make is not exhibit.healthy)

    def fresh(self, make: Make) -> Reader:
        """A model of this corpus before its training; every one begins alike."""
        shape = SHAPE.__dict__ | {"vocab_size": self.corpus.tokenizer.vocab_size + 1}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return make(ModelConfig(**shape))

    def losses(self, make: Make) -> list[float]:
        """The loss of each step of training a model, in nats per character."""
        if make not in self.trained:
            steps = train(self.fresh(make), self.objective, self.plan)
            self.trained[make] = [step.loss for step in steps]
        return self.trained[make]
