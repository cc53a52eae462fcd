"""An exercise of notebook 10: an experiment that tells who forgets from who remembers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Generator

from babygpt.errors import BadInput
from babygpt_course.exercises.base import Check, Exercise, Wrong, ask
from babygpt_course.exercises.compare import shown, truth
from babygpt_course.exercises.draws import dice, integer

Reader = Callable[[str], str]
KEYS, DIGITS = "ABCDEFGH", "0123456789"
TOLD = re.compile(f"<([{KEYS}])([{DIGITS}])>")
SHORTEST = 12  # distance that is asked about: there is room for two notes in between
FIRST = 8  # characters at the beginning that some readers never forget
QUESTIONS = 200  # of the checker's own, to show how a reader answers


def forgets_stub(reader: Callable[[str], str], distance: int) -> bool:
    """Whether a reader has forgotten a digit that it was told `distance` characters ago."""
    text = "<C7>" + "." * (distance - 4) + "[C"
    return reader(text) != "7"


def forgets_answer(reader: Callable[[str], str], distance: int) -> bool:
    """Whether a reader has forgotten a digit that it was told `distance` characters ago."""
    right = 0
    for _ in range(100):
        key, earlier, later = random.sample("ABCDEFGH", 3)
        digit, one, other = random.sample("0123456789", 3)
        before = f"<{earlier}{one}>" + "." * random.randrange(100)
        between = f"<{later}{other}>".ljust(distance - 4, ".")
        right += reader(f"{before}<{key}{digit}>{between}[{key}") == digit
    return right < 60


class Note(NamedTuple):
    """A digit that a text tells.

    back   characters from it to the digit that is asked at the end
    first  characters of the text up to it, and with it
    """

    key: str
    digit: str
    back: int
    first: int


def notes(text: str) -> list[Note]:
    """What a text tells, in order."""
    return [Note(m[1], m[2], len(text) - m.start(2), m.end(2)) for m in TOLD.finditer(text)]


def key_asked(text: str) -> str:
    """The key that a text asks for at its end. Raises BadInput if it asks for none."""
    if not isinstance(text, str) or not re.search(rf"\[[{KEYS}]\Z", text):
        ending = shown(text[-12:]) if isinstance(text, str) else shown(text)
        raise BadInput(f"a reader's text should end in [ and a key from A to H, as in '[C', not in {ending}")
    return text[-1]


def recalls(keeps: Callable[[Note], bool], chance: random.Random, errs: float = 0.0) -> Reader:
    """A reader that gives the digit last told of the key, out of the notes that it keeps, or else guesses.

    errs  how often it guesses nevertheless
    """

    def reader(text: str) -> str:
        key = key_asked(text)
        kept = [note.digit for note in notes(text) if note.key == key and keeps(note)]
        return kept[-1] if kept and chance.random() >= errs else chance.choice(DIGITS)

    return reader


def gives(which: Callable[[list[Note]], str], chance: random.Random) -> Reader:
    """A reader that picks a digit whatever the key is, or guesses where nothing was told."""

    def reader(text: str) -> str:
        key_asked(text)
        told = notes(text)
        return which(told) if told else chance.choice(DIGITS)

    return reader


def rememberers(distance: int, chance: random.Random) -> dict[str, Reader]:
    """Readers that recall what was told so far back."""
    return {
        "one that keeps everything": recalls(lambda note: True, chance),
        f"one that reads {distance} characters back, no further": recalls(
            lambda note: note.back <= distance, chance
        ),
        f"one that keeps what was told {distance} characters back or more": recalls(
            lambda note: note.back >= distance, chance
        ),
        "one that guesses once in 20 questions": recalls(lambda note: True, chance, errs=0.05),
    }


def forgetters(distance: int, chance: random.Random) -> dict[str, Reader]:
    """Readers that do not, and make no secret of it."""
    return {
        "one that only guesses": recalls(lambda note: False, chance),
        f"one that reads {distance // 2} characters back": recalls(
            lambda note: note.back <= distance // 2, chance
        ),
        f"one that reads {distance - 1} characters back": recalls(lambda note: note.back < distance, chance),
        f"one that forgets only what is {distance - 2} to {distance + 2} characters back": recalls(
            lambda note: abs(note.back - distance) > 2, chance
        ),
    }


def pretenders(distance: int, chance: random.Random) -> dict[str, Reader]:
    """Readers that do not either, and are right on texts that are all alike."""

    def favourite(digit: str) -> Reader:
        return gives(lambda told: digit, chance)

    def only(key: str) -> Reader:
        return recalls(lambda note: note.key == key, chance)

    return {
        "one that gives the digit told last, whatever its key": gives(lambda told: told[-1].digit, chance),
        "one that gives the digit told first, whatever its key": gives(lambda told: told[0].digit, chance),
        f"one that keeps the first {FIRST} characters of a text, and the last {distance // 2}": recalls(
            lambda note: note.first <= FIRST or note.back <= distance // 2, chance
        ),
        **{f"one that always says {digit}": favourite(digit) for digit in DIGITS},
        **{f"one that knows the digit of {key} only": only(key) for key in KEYS},
    }


def question(distance: int, rng: random.Random, room: int = 60) -> tuple[str, str]:
    """A text that asks for a digit told so far back, with a note before and one in between; and the digit.

    room  characters before the first note are fewer
    """
    key, *others = rng.sample(KEYS, 3)
    digit = rng.choice(DIGITS)
    before, between = (f"<{other}{rng.choice(DIGITS)}>" for other in others)
    filler = "." * rng.randrange(room)
    return f"{filler}{before}<{key}{digit}>{between}{'.' * (distance - 8)}[{key}", digit


def evidence(reader: Reader, distance: int, rng: random.Random) -> str:
    """How often a reader is right on questions of the checker's own, and the shortest that it gets wrong."""
    asked = [question(distance, rng) for _ in range(QUESTIONS)]
    wrong = [(text, said) for text, digit in asked if (said := reader(text)) != digit]
    right = f"Of {QUESTIONS} questions of the checker's it answers {QUESTIONS - len(wrong)} rightly"
    if len(wrong) < QUESTIONS / 2:
        return right
    text, said = min(wrong, key=lambda one: len(one[0]))
    return f"{right}; asked {shown(text)} it says {said}"


def judge(
    attempt: Any, draw: Generator, readers: Callable[[int, random.Random], dict[str, Reader]], want: bool
) -> None:
    """Raise Wrong for the first reader that the learner's experiment takes for what it is not."""
    for distance in (SHORTEST, integer(draw, 20, 40), integer(draw, 60, 300)):
        for name, reader in readers(distance, dice(draw)).items():
            what = f"{name} (distance {distance})"
            found = ask(attempt, reader, distance, what=what)
            if (got := truth(found)) is None:
                raise Wrong(f"for {what} came out: {shown(found)}; should be True or False")
            if got is not want:
                verdict = "forgets" if got else "remembers"
                shows = evidence(reader, distance, dice(draw))
                raise Wrong(f"you find that this one {verdict}: {what}. {shows}")


def lets_remember(attempt: Any, draw: Generator) -> None:
    judge(attempt, draw, rememberers, False)


def catches_forgetters(attempt: Any, draw: Generator) -> None:
    judge(attempt, draw, forgetters, True)


def catches_pretenders(attempt: Any, draw: Generator) -> None:
    judge(attempt, draw, pretenders, True)


FORGETS = Exercise(
    name="Does it forget?",
    task=(
        "You are handed a reader as a black box: `reader(text)` takes a text that ends in `[` and a key, "
        'such as `"… [C"`, and returns the digit that it holds for the likeliest, a text of one '
        "character. In these texts a note such as `<C7>` tells the digit of a key; keys are A to H, they "
        "share the digits 0 to 9, and of two notes on one key the later counts. Everything else may be "
        "any text. Design the experiment: `forgets(reader, distance)` returns True if the reader has "
        "forgotten what was told `distance` characters ago, and False if it recalls it. Distances are "
        'counted from the digit told to the digit asked, as in `"<C7>" + "." * (distance - 4) + "[C"`, '
        f"and are at least {SHORTEST}. Readers are not perfect: if everything about the text that may vary "
        "is drawn at random, one that recalls is right nine times in ten or more, one that has forgotten "
        "three times in ten or less. And some are right on texts that are all alike, for a reason that is "
        "no memory. A hundred questions a reader are enough."
    ),
    level="core",
    minutes=15,
    checks=(
        Check("those that remember are let through", lets_remember),
        Check("those that forget are caught", catches_forgetters),
        Check("those that only seem to remember are caught", catches_pretenders),
    ),
    hints=(
        "Ask many questions and count. What differs between two of your texts? What never does?",
        "How would you answer without reading the key: with the digit told last, or first, or always 7? "
        "Write texts in which each of these is wrong.",
        "Draw the key and the digit, put a note on another key before and one in between, and now and then "
        "a long stretch before all that. Compare the share of right answers with one half.",
    ),
    stub=forgets_stub,
    answer=forgets_answer,
    seconds=20.0,
)
