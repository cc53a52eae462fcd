"""Guesses: asked for before the outcome, shown beside it, counted at the end.

Only widgets show a guess, and their state is not saved: a notebook stores no guess. Where a person runs the
cells, GUESS_FILE keeps it for the next kernel; a run without a front end neither reads nor writes that file.
A guess made after the outcome was shown is shown too, but not counted.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets

from babygpt.errors import BadInput
from babygpt.files import write_atomically
from babygpt.tables import MARKS, Table
from babygpt_live.explorer import format_number
from babygpt_live.view import Output, current_cell

NO_GUESS = "No guess was made before this was shown."
KEPT = "Your guess is kept, and not in the notebook."
GUESS_FILE = Path(".guesses.json")  # The kernel runs in the notebook's folder, so the guesses lie beside it.
# Guesses of this kernel by question, in the order in which they were first asked.
GUESSES: dict[str, Guess] = {}
SAID: set[str] = set()  # Reasons why guesses cannot be kept are shown once.


THOUSANDS = re.compile(r"^[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9,])")
NUMBER = re.compile(r"[+-]?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?")
OF = re.compile(r"%|of[0-9]+")  # units that are no words


def parse_number(text: str) -> float | None:
    """Read a number as people type it, with or without its unit; the book's `readNumber` reads the same.

    text     such as 1,200 or 1 200, 0.5 or 0,5 or 0,125, −3, 1e-3, 3% or 12 tokens
    returns  the number, or None for another text
    """
    plain = "".join(text.split()).replace("−", "-")
    plain = THOUSANDS.sub(lambda match: match[0].replace(",", ""), plain)
    if (match := NUMBER.match(plain)) is None:
        return None
    number, unit = float(match[0].replace(",", ".")), plain[match.end() :]
    is_unit = not unit or OF.fullmatch(unit) or (len(unit) > 1 and unit.isalpha())
    return number if is_unit and math.isfinite(number) else None


class Keys(anywidget.AnyWidget):
    """Script that makes the choices beside it one group for the keyboard."""

    _esm = Path(__file__).with_name("guess.js")


class Guess(Output):
    """Question with a learner's guess, and later the outcome.

    question   one sentence
    options    the possible answers; none for a number
    low, high  ends of a number
    unit       written behind a number
    near       distance from the outcome up to which a number counts as right
    asked      the possible answers, in words
    value      the present guess, or None
    counted    the guess when the outcome was first shown, or None
    shown      whether the outcome was shown, by this kernel or by one before
    outcome    None until `compare`
    key        of the question, the same on every machine
    """

    def __init__(
        self, question: str, options: tuple[str, ...], low: float, high: float, unit: str, near: float
    ) -> None:
        self.question, self.options = question, options
        self.low, self.high, self.unit, self.near = low, high, unit, near
        self.value: Any = None
        self.counted: Any = None
        self.outcome: Any = None
        self.shown, self.at_a_page = False, current_cell() is not None
        self.key = sha256(repr((question, options, low, high, unit)).encode()).hexdigest()[:8]
        look = {"description": "Your guess", "tooltip": question}  # a name for those who do not see the words
        if options:
            self.asked = " / ".join(options)
            self.field = ipywidgets.RadioButtons(
                options=options, value=None, layout={"width": "auto"}, **look
            )
        else:  # a line of text: a box for numbers is never empty, and its first number would pass for a guess
            self.asked = f"{self.in_words(low)} to {self.in_words(high)}"
            self.field = ipywidgets.Text(placeholder=self.asked, continuous_update=False, **look)
        self.message, self.result = ipywidgets.HTML(), ipywidgets.HTML()
        words = ipywidgets.HTML(f"<b>Predict.</b> {escape(question)}")
        self.box = ipywidgets.VBox([words, self.field, self.message, Keys()])
        self.box.add_class("babygpt-guess")  # Tests and your own style sheet find it by this class.
        self.field.observe(self._changed, names="value")
        super().__init__(self.box, f"Predict. {question}\n[{self.asked}]")
        self._with_file(self._restore)

    def compare(self, outcome: Any) -> Output:
        """Show the guess beside the outcome; later guesses are not counted.

        outcome  one of the choices, or a number
        Raises BadInput for anything else.
        """
        if self.options and outcome not in self.options:
            raise BadInput(f"{outcome!r} is not among the choices {list(self.options)}")
        answer = outcome if self.options else float(outcome)
        if not self.shown:
            self.shown, self.counted = True, self.value
        self.outcome = answer
        self._keep(self.value)
        words = f"It came out: {self.in_words(answer)}. {NO_GUESS if self.counted is None else KEPT}"
        return Output(self.result, words)

    def in_time(self) -> Any:
        """Return the guess that counts, or None."""
        return self.counted if self.shown else self.value

    def in_words(self, answer: Any) -> str:
        """Write a guess or an outcome, or a dash for None."""
        if answer is None or self.options:
            return answer or "–"
        gap, sign = "" if self.unit in ("", "%") else " ", "−" if answer < 0 else ""
        return f"{sign}{format_number(abs(answer))}{gap}{self.unit}"

    def verdict(self) -> str:
        """Return guess and outcome in a sentence or two."""
        came = f"It came out: {self.in_words(self.outcome)}."
        if self.value is None:
            return f"{came} {NO_GUESS}"
        guessed = self.value if self.counted is None else self.counted
        verdict = f"You guessed: {self.in_words(guessed)}. {came} {self.mark(guessed)}"
        if not self.options:
            away = abs(guessed - self.outcome)
            gap = f"{format_number(away)} points" if self.unit == "%" else self.in_words(away)
            verdict += f" ({gap} away)"
        return verdict + (" Guessed after the outcome was shown." if self.counted is None else "")

    def mark(self, guess: Any) -> str:
        """Return ✓ or ✗ for a guess, or nothing where guess or outcome is missing."""
        if guess is None or self.outcome is None:
            return ""
        right = guess == self.outcome
        if not self.options:
            right = abs(guess - self.outcome) <= self.near * (1 + 1e-9)
        return MARKS["holds" if right else "fails"]

    def _keep(self, guess: Any) -> None:
        self.value = guess
        self.message.value = "" if guess is None else "Kept."
        if self.outcome is not None:
            self.result.value = f"<p>{escape(self.verdict())}</p>"
        self._with_file(self._store)

    def _with_file(self, act: Callable[[], None]) -> None:
        """Read or write the file where a person runs the cells; say once if that fails."""
        try:
            if self.at_a_page:
                act()
        except OSError as error:
            self.at_a_page = False
            if str(error) not in SAID:
                self.message.value = escape(f"Kept until the kernel stops: {error}")
            SAID.add(str(error))

    def _restore(self) -> None:
        """Take the guess from the file, if it fits the question."""
        stored = self._read_file().get(self.key, {})
        guess, self.shown = stored.get("guess"), bool(stored.get("shown"))
        number = isinstance(guess, int | float) and self.low <= guess <= self.high
        if guess in self.options if self.options else number:
            self.counted = guess if self.shown else None
            self.field.value = guess if self.options else f"{guess:.12g}"

    def _store(self) -> None:
        """Write the guess that counts into the file, and whether the outcome was shown."""
        guess, guesses = self.in_time(), self._read_file()
        now, before = {"question": self.question, "guess": guess, "shown": self.shown}, guesses.get(self.key)
        if now != before and (guess is not None or self.shown or self.key in guesses):
            guesses[self.key] = now
            write_atomically(GUESS_FILE, json.dumps(guesses, indent=1).encode())

    def _read_file(self) -> dict[str, dict[str, Any]]:
        """Return what the file holds, by key; set a damaged file aside."""
        if not os.path.exists(GUESS_FILE):
            return {}
        with suppress(ValueError, AttributeError, RecursionError):
            guesses = json.loads(GUESS_FILE.read_bytes())
            if all(isinstance(entry, dict) for entry in guesses.values()):
                return guesses
        aside = GUESS_FILE.replace(GUESS_FILE.with_suffix(".damaged.json"))
        self.message.value = f"{GUESS_FILE} was damaged and is now {aside}; new guesses are kept."
        return {}

    def _changed(self, change: Any) -> None:
        typed = change["new"]
        if self.options or not typed.strip():
            return self._keep(typed or None)
        number = parse_number(typed)
        if number is not None and self.low <= number <= self.high:
            return self._keep(number)
        self._keep(None)
        self.message.value = escape(f"This should be a number from {self.asked}, not {typed!r}.")


class Tally(Output):
    """All guesses of this kernel, beside their outcomes.

    asked, made, right, late  numbers of guesses: all, made in time, right among these, made too late
    """

    def __init__(self, guesses: Sequence[Guess]) -> None:
        answered = [guess for guess in guesses if guess.outcome is not None]
        guesses_in_time = [guess for guess in answered if guess.counted is not None]
        self.asked, self.made = len(guesses), len(guesses_in_time)
        self.right = sum(guess.mark(guess.counted) == "✓" for guess in guesses_in_time)
        self.late = sum(guess.counted is None and guess.value is not None for guess in answered)
        rows = []
        for guess in guesses:
            answer = guess.value if guess.outcome is None else guess.counted
            words = guess.in_words(answer), guess.in_words(guess.outcome)
            rows.append((guess.question, *words, guess.mark(answer)))
        self.table = Table(("question", "guess", "outcome", ""), rows, 1)
        page = f"{self.table._repr_html_()}<p><b>{escape(self.sentence())}</b></p>"
        text = f"{self.asked} guesses were asked for. {KEPT if guesses_in_time else 'No guess was made.'}"
        super().__init__(ipywidgets.HTML(page), text)

    def sentence(self) -> str:
        """Return how many guesses were made in time, and how many of them were right."""
        late = f" {self.late} came after the outcome, and do not count." if self.late else ""
        if not self.made:
            return "No guess was made before its outcome was shown." + late
        return f"{self.right} of {self.made} guesses were right; {self.asked} were asked for.{late}"


def predict(
    question: str,
    choices: Sequence[str] = (),
    *,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    near: float | None = None,
) -> Guess:
    """Ask for a guess, and keep it: when the cell runs again, the guess is still there.

    question  one sentence; a notebook asks it once
    choices   the possible answers; or else
    low, high ends of a number, in `unit`
    near      distance up to which a number counts as right; by default a tenth of the way from end to end
    returns   the guess: shown as the last line of a cell, and compared with `.compare(outcome)`
    Raises BadInput for an empty question, or unless it has either choices or both ends.
    """
    if not isinstance(question, str) or not question.strip():
        raise BadInput(f"a question should be a sentence, and is {question!r}")
    if choices and low is high is None:
        options = (choices,) if isinstance(choices, str) else tuple(choices)
        texts = all(isinstance(option, str) and option.strip() for option in options)
        if not texts or len(set(options)) < max(2, len(options)):
            raise BadInput(f"choices should be two or more different texts, and are {list(options)}")
        terms: tuple[Any, ...] = (options, 0.0, 0.0, "", 0.0)
    elif not choices and low is not None and high is not None:
        near = 0.1 * (high - low) if near is None else near
        if not (-math.inf < low < high < math.inf and 0 <= near < math.inf):
            raise BadInput(f"{question!r} should have low < high and near >= 0, not {low=}, {high=}, {near=}")
        terms = ((), low, high, unit, near)
    else:
        raise BadInput(f"{question!r} should have choices, or else low and high")
    have = GUESSES.get(question)
    if have is None or (have.options, have.low, have.high, have.unit, have.near) != terms:
        GUESSES[question] = Guess(question, *terms)
    return GUESSES[question]


def tally() -> Tally:
    """Return all guesses that this kernel has asked for, beside their outcomes."""
    return Tally(list(GUESSES.values()))


def forget_guesses() -> None:
    """Delete all guesses, in this kernel and in the file, and that their outcomes were shown."""
    GUESS_FILE.unlink(missing_ok=True)
    for guess in GUESSES.values():
        guess.shown, guess.outcome, guess.counted = False, None, None
        guess.field.value, guess.result.value = None if guess.options else "", ""


# ---------------------------------------------------------------- a class

RANGES = 10  # ranges that the numbers of a question are counted in
LONGEST = 40  # blocks of the longest bar
SENT = re.compile(r"\b([0-9a-f]{8})\s*=\s*(\S+)")  # the key of a question, and a guess


def export_guesses(name: str) -> str:
    """Return the guesses of this kernel that came in time, as one line that a student can send.

    name  of the student, who counts once however often a line of this name is sent
    Raises BadInput if it is empty, or would be taken for a guess or for two lines.
    """
    if not isinstance(name, str) or not name.strip() or "=" in name or len(name.splitlines()) > 1:
        raise BadInput(f"the name ({name!r}) must be one line of text without =, such as 'Ada'")
    answers = {guess: guess.in_time() for guess in GUESSES.values() if guess.in_time() is not None}
    codes = {g: g.options.index(answer) if g.options else f"{answer:.12g}" for g, answer in answers.items()}
    return " ".join([f"{name.strip()}:", *(f"{guess.key}={code}" for guess, code in codes.items())])


def class_view(lines: str | Sequence[str]) -> Table:
    """Count what a class guessed: a bar for each answer of each question, and a mark at the outcome if known.

    Each name counts once, with its last line. A line without a name counts as a student of its own.

    lines    those of `export_guesses`, a list or one text; a question counts if this kernel has asked it
    returns  a table; its last rows have the numbers of students, and of lines that hold no guess at these
             questions
    """
    sent_lines = (lines if isinstance(lines, str) else "\n".join(lines)).splitlines()
    groups = {name: groups_of(line) for name, line in last_lines(sent_lines).items()}
    rows = []
    for guess in GUESSES.values():
        counts = Counter(student[guess.key] for student in groups.values() if guess.key in student)
        outcome = guess.options.index(guess.outcome) if guess.options and guess.outcome else guess.outcome
        came = None if outcome is None else group_of(guess, outcome, beyond=True)
        scale = min(1, LONGEST / max(counts.values(), default=1))
        for i, name in enumerate(group_names(guess)):
            bar, mark = "█" * math.ceil(scale * counts[i]), " ← came out" if i == came else ""
            rows.append(("" if i else guess.question, name, str(counts[i]), bar + mark))
    rows.append(("all students", "", str(sum(map(bool, groups.values()))), ""))
    unread = sum(1 for line in sent_lines if line.strip() and not groups_of(line))
    rows.append(("lines without a guess at these questions", "", str(unread), ""))
    return Table(("question", "guess", "students", ""), rows, 5)


def last_lines(sent: Sequence[str]) -> dict[str, str]:
    """Return the last line of each name; a line without a name goes by its number."""
    lines: dict[str, str] = {}
    for number, line in enumerate(sent):
        if first := SENT.search(line):
            name = " ".join(line[: first.start()].strip(" :\t").casefold().split())
            lines[name or f"={number}"] = line
    return lines


def groups_of(line: str) -> dict[str, int]:
    """Return the groups of a line's guesses: key of a question of this kernel -> group."""
    guesses = {guess.key: guess for guess in GUESSES.values()}
    codes = {key: code for key, code in SENT.findall(line) if key in guesses}
    groups = {key: group_of(guesses[key], parse_number(code.rstrip(",;"))) for key, code in codes.items()}
    return {key: group for key, group in groups.items() if group is not None}


def group_names(guess: Guess) -> list[str]:
    """Return the answers that are counted together: the choices, or ranges of a number."""
    bounds = [guess.in_words(guess.low + i * (guess.high - guess.low) / RANGES) for i in range(RANGES + 1)]
    return [*guess.options] or [f"{a} to {b}" for a, b in pairwise(bounds)]


def group_of(guess: Guess, number: float | None, beyond: bool = False) -> int | None:
    """Return the group of a choice's number, or of a number; None if it is no answer.

    beyond  whether a number outside its ends belongs to the nearest range
    """
    if number is None or (guess.options and number not in range(len(guess.options))):
        return None
    if guess.options:
        return int(number)
    if not (beyond or guess.low <= number <= guess.high):
        return None
    return max(0, min(RANGES - 1, int(RANGES * (number - guess.low) / (guess.high - guess.low))))
