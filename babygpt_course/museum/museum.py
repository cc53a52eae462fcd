"""Museum of bugs: models whose loss falls, and promises that tell what is wrong with them."""

import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from random import Random

import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.invariants import Promise
from babygpt.objectives import NextToken
from babygpt.tables import MARKS, MarkdownText, Source, Table, format_limit, source
from babygpt.training import train
from babygpt_course.museum.exhibits import EXHIBITS, SHAPE, Exhibit, Make, Specimen
from babygpt_course.museum.promises import PROMISES, hidden_in_training, measured, row

SEEN = 3  # rows of a long table that are seen before the others are unfolded


def fits(exhibit: Exhibit, answers: Mapping[str, bool]) -> bool:
    """Return whether an exhibit keeps and breaks the promises as these answers say."""
    return all(measured(exhibit, promise).holds == holds for promise, holds in answers.items())


def fewest(exhibit: Exhibit) -> dict[str, bool]:
    """Return the fewest promises whose answers fit this exhibit and no other: promise -> whether it is kept.

    A player who does not know the answer may need more.
    """
    own, rows = row(exhibit), [row(exhibit_row) for exhibit_row in EXHIBITS if exhibit_row is not exhibit]
    for size in range(1, len(own) + 1):
        for names in combinations(own, size):
            if not any(all(exhibit_row[name] == own[name] for name in names) for exhibit_row in rows):
                return {name: own[name] for name in names}
    raise RuntimeError(f"{exhibit.name} has the row of another exhibit")


def format_answers(answers: Mapping[str, bool]) -> str:
    """Return answers as text: "growth ✗, sides ✓"."""
    return ", ".join(f"{name} {mark(holds)}" for name, holds in answers.items())


def mark(holds: bool) -> str:
    return MARKS["holds" if holds else "fails"]


def find_name(what: str, name: object, names: Iterable[str]) -> str:
    """Return a name as it is written here, whatever its capitals. Raises BadInput with all that there are."""
    known_names = list(names)
    plain_name = " ".join(name.lower().split()) if isinstance(name, str) else ""
    if plain_name not in known_names:
        raise BadInput(f"there is no {what} {reprlib.repr(name)}; there is {', '.join(known_names)}")
    return plain_name


@dataclass(frozen=True)
class Verdict:
    """Answer of the museum to a name given to a case.

    right  True or False, or None if the answers so far fit several exhibits, and no name is taken
    why    in a sentence
    """

    right: bool | None
    why: str

    def __repr__(self) -> str:
        first = {True: f"{mark(True)} Right", False: f"{mark(False)} Wrong", None: "Not taken"}[self.right]
        return f"{first}: {self.why}"


@dataclass
class MuseumCase:
    """A model without a label. `ask` what it promises, `name` what is wrong with it.

    exhibit           what it is; a player does not look
    answers           promise -> its measurement, for each that was asked
    wrong, hints      number of names given that the answers exclude, and of hints
    solved, revealed  whether it was named, or given up
    """

    number: int
    exhibit: Exhibit
    museum: "Museum"
    answers: dict[str, Promise] = field(default_factory=dict)
    wrong: int = 0
    hints: int = 0
    solved: bool = False
    revealed: bool = False

    def __repr__(self) -> str:
        label = self.exhibit.name if self.open else "no label"
        return f"case {self.number}, {label}; asked: {format_answers(self.kept()) or 'nothing'}"

    @property
    def open(self) -> bool:
        """Whether one may look under the glass."""
        return self.solved or self.revealed

    @property
    def curves(self) -> dict[str, list[float]]:
        """The loss of each step of training, in nats per character, of this model and of its healthy twin."""
        ours, healthy = (self.museum.losses(make) for make in (self.exhibit.make, self.exhibit.healthy))
        return {f"case {self.number}": ours, "its healthy twin": healthy}

    def model(self) -> Specimen:
        """Return the model as it is before its training, the same at each call."""
        return self.museum.fresh(self.exhibit.make)

    def kept(self) -> dict[str, bool]:
        """Return the answers so far: promise -> whether it is kept."""
        return {name: promise.holds for name, promise in self.answers.items()}

    def ask(self, *names: str) -> Table:
        """Measure one promise or several. Questions are not counted after the case is open.

        names    some of the museum's promises, such as "shift"
        returns  ✓ or ✗ for each, with the number that decides
        Raises BadInput, before anything is measured, for an unknown promise.
        """
        promise_names = [find_name("promise", name, PROMISES) for name in names]
        if not promise_names:
            raise BadInput(f"ask for one of {', '.join(PROMISES)}")
        promises = {name: measured(self.exhibit, name) for name in promise_names}
        if not self.open:
            self.answers |= promises
        rows = [
            (mark(p.holds), name, p.statement, p.measured, format_limit(p.limit))
            for name, p in promises.items()
        ]
        return Table(("", "asked", "the promise", "measured", "allowed"), rows, stable=5)

    def hint(self) -> Table:
        """Return all exhibits that fit the answers so far: name, and what it does. The score counts hints."""
        self.hints += not self.open
        rows = [(e.name, e.does) for e in EXHIBITS if fits(e, self.kept())]
        return Table(("still fits", "what it does"), rows, stable=2)

    def name(self, guess: str) -> Verdict:
        """Say what is wrong with the model.

        guess    one of the museum's names
        returns  right or wrong with the reason; no name is taken while the answers fit several exhibits
        Raises BadInput for an unknown name.
        """
        known_name = find_name("exhibit", guess, [exhibit.name for exhibit in EXHIBITS])
        if self.revealed:
            return Verdict(None, f"it was revealed: {self.exhibit.name}")
        exhibit = next(e for e in EXHIBITS if e.name == known_name)
        for promise, holds in self.kept().items():
            if not fits(exhibit, {promise: holds}):
                self.wrong += not self.solved
                verbs = ("keeps", "breaks") if holds else ("breaks", "keeps")
                return Verdict(False, f"this model {verbs[0]} {promise!r}, and {known_name!r} {verbs[1]} it")
        rivals = sum(fits(each, self.kept()) for each in EXHIBITS)
        if rivals > 1:
            answers_so_far = (
                f"what you asked fits {rivals} exhibits" if self.answers else "you asked nothing yet"
            )
            return Verdict(None, f"{answers_so_far}, and a guess is no proof; ask on")
        self.solved = True
        return Verdict(True, self._score())

    def _score(self) -> str:
        best, n = fewest(self.exhibit), len(self.answers)
        enough = f"{len(best)} would be enough: {format_answers(best)}"
        if n == len(best):
            enough = "the fewest there can be"
        spent = f"{n} promise{'s' * (n != 1)} asked"
        for number, what in ((self.wrong, "wrong name"), (self.hints, "hint")):
            spent += f" and {number} {what}{'s' * (number != 1)}" if number else ""
        return f"{self.exhibit.name}, with {spent}; {enough}"

    def reveal(self) -> str:
        """Give up, and return its name."""
        self.revealed = not self.solved
        return self.exhibit.name

    def plaque(self) -> MarkdownText:
        """Return the text under the glass. Raises BadInput before the case is solved or revealed."""
        self._require_open("plaque")
        return MarkdownText(self.exhibit.plaque())

    def source(self) -> Source:
        """Return the code that is wrong. Raises BadInput before the case is solved or revealed."""
        self._require_open("source")
        return source(self.exhibit.thing)

    def _require_open(self, what: str) -> None:
        if not self.open:
            raise BadInput(f"the {what} of case {self.number} is covered: name() it first, or reveal() it")


class Museum:
    """All exhibits in random order.

    corpus  on which they are trained, each when its curve is first looked at
    seed    of the order, and of every training
    steps   of a training
    """

    def __init__(self, corpus: Corpus, seed: int = 143881, steps: int = 100) -> None:
        order = list(EXHIBITS)
        Random(seed).shuffle(order)
        self.cases = [MuseumCase(number, exhibit, self) for number, exhibit in enumerate(order, 1)]
        self.corpus, self.seed = corpus, seed
        self.objective = NextToken(corpus, SHAPE.block_size)
        self.plan = TrainConfig(steps=steps, batch_size=8, seed=seed)
        self.trained: dict[Make, list[float]] = {}

    def __repr__(self) -> str:
        solved, revealed = (sum(getattr(case, how) for case in self.cases) for how in ("solved", "revealed"))
        return f"a museum of {len(self.cases)} cases, {solved} of them solved, {revealed} given up"

    def case(self, number: int) -> MuseumCase:
        """Return one of the cases, counted from 1. Raises BadInput for another number."""
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(self.cases):
            raise BadInput(f"case ({number!r}) must be a whole number from 1 to {len(self.cases)}")
        return self.cases[number - 1]

    def promises(self) -> Table:
        """Return all promises: name, statement, and what is measured."""
        named = [(n, measured(EXHIBITS[0], n).statement, str(m.__doc__)) for n, m in PROMISES.items()]
        return Table(("ask for", "the promise", "the measurement"), named, stable=3, open=SEEN)

    def catalogue(self) -> Table:
        """Return all exhibits: name, and what it does."""
        return Table(("name", "what it does"), [(e.name, e.does) for e in EXHIBITS], stable=2, open=SEEN)

    def key(self) -> Table:
        """Return the answers: which exhibit keeps which promise, and how few tell it from all others."""
        rows = [(e.name, *map(mark, row(e).values()), str(len(fewest(e)))) for e in EXHIBITS]
        return Table(("exhibit", *PROMISES, "fewest"), rows, stable=len(PROMISES) + 2)

    def sleepers(self) -> int:
        """Count the bugs that leave training as it is: on its windows, their logits are a healthy model's."""
        return sum(hidden_in_training(exhibit) for exhibit in EXHIBITS if exhibit.part)

    def fresh(self, make: Make) -> Specimen:
        """Return a model of this corpus before its training, always from the same random numbers."""
        shape = SHAPE.__dict__ | {"vocab_size": self.corpus.tokenizer.vocab_size + 1}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return make(ModelConfig(**shape))

    def losses(self, make: Make) -> list[float]:
        """Return the loss of each step of training a model, in nats per character."""
        if make not in self.trained:
            steps = train(self.fresh(make), self.objective, self.plan)
            self.trained[make] = [step.loss for step in steps]
        return self.trained[make]
