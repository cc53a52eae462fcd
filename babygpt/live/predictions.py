"""A guess that is kept: asked for before the outcome, shown beside it, counted at the end.

A guess lives in the kernel. No output tells what it was, except for widgets, whose state is not saved; so
nothing of it is stored in a notebook. A guess made when the outcome could be seen is shown and not counted.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets

from babygpt.errors import BadInput
from babygpt.live.answers import Number, OneOf
from babygpt.live.view import NO_WIDGET, current_cell, show
from babygpt.tables import MARKS, Table

NO_GUESS = "No guess was made before this was shown."
KEPT = "Your guess is kept in the kernel, not in the notebook."
# The words stand for a widget that is gone, and are hidden while it is there.
# (A page that is opened again has the widget's class on the output itself, one that runs has it inside.)
WORDS_LAST = (
    ".jp-OutputArea-child:has(> .jp-OutputArea-output.jupyter-widgets *,"
    " > .jp-OutputArea-output .jupyter-widgets)"
    " + .jp-OutputArea-child:has(.babygpt-words) { display: none; }"
)
LOCK = threading.RLock()  # of GUESSES and of what each guess holds; callbacks may come on any thread
GUESSES: dict[str, Guess] = {}  # of this kernel, by question, in the order in which they were asked for


class Keys(anywidget.AnyWidget):
    """Nothing to be seen: with it the arrow keys go from choice to choice, and not from cell to cell."""

    _esm = Path(__file__).parent / "keys.js"


class Guess:
    """A question with what somebody guessed, and later what came out.

    question  one sentence
    kind      what can be guessed
    value     the guess as it stands now; None if there is none
    counted   the guess as it stood when the outcome was first shown
    outcome   None until `compare`
    """

    def __init__(self, question: str, kind: OneOf | Number) -> None:
        self.question, self.kind = question, kind
        self.value: Any = None
        self.counted: Any = None
        self.outcome: Any = None
        self.field = kind.widget()
        self.field.tooltip = question  # a name for those who do not see the words above it
        self.message, self.result = ipywidgets.HTML(), ipywidgets.HTML()
        words = ipywidgets.HTML(f"<b>Predict.</b> {escape(question)}")
        self.box = ipywidgets.VBox([words, self.field, self.message, Keys()])
        self.box.add_class("babygpt-guess")  # for tests, and for your own style
        self.field.observe(self._changed, names="value")

    def make(self, value: Any) -> None:
        """Guess without the widget: one of the choices, or a number. Raises BadInput for anything else."""
        with LOCK:
            read = self.kind.read(value)
            self.field.value = read if isinstance(self.kind, OneOf) else "" if read is None else str(value)
            self._keep(read)

    def compare(self, outcome: Any) -> Comparison:
        """Show the guess beside what came out; a guess made from now on is not counted.

        outcome  one of the choices, or a number
        Raises BadInput for anything else.
        """
        found = self.kind.outcome(outcome)
        with LOCK:
            if self.outcome is None:
                self.counted = self.value
            self.outcome = found
            self.result.value = f"<p>{escape(self.verdict())}</p>"
        return Comparison(self)

    def verdict(self) -> str:
        """Return what was guessed beside what came out, in a sentence or two."""
        came = f"It came out: {self.kind.words(self.outcome)}."
        if self.value is None:
            return f"{came} {NO_GUESS}"
        guessed = self.value if self.counted is None else self.counted
        said = f"You guessed: {self.kind.words(guessed)}. {came} {self.mark(guessed)}"
        if isinstance(self.kind, Number):
            said += f" ({self.kind.words(abs(guessed - self.outcome))} away)"
        return said + (" Guessed after the outcome was shown." if self.counted is None else "")

    def mark(self, guess: Any) -> str:
        """Return ✓ or ✗ for a guess."""
        return MARKS["holds" if self.kind.right(guess, self.outcome) else "fails"]

    def _keep(self, value: Any) -> None:
        self.value = value
        self.message.value = "" if value is None else "Kept."
        if self.outcome is not None:
            self.result.value = f"<p>{escape(self.verdict())}</p>"

    def _changed(self, change: Any) -> None:
        """After the widget was moved, on whichever thread."""
        with LOCK:
            try:
                self._keep(self.kind.read(change["new"]))
            except BadInput as error:
                self._keep(None)
                self.message.value = f"This should be {escape(str(error))}."

    def __repr__(self) -> str:
        return f"Predict. {self.question}\n[{self.kind.asked()}]"

    def _ipython_display_(self) -> None:
        publish(self.box, repr(self))


class Comparison:
    """What a guess and its outcome look like beside each other."""

    def __init__(self, guess: Guess) -> None:
        self.guess = guess

    def __repr__(self) -> str:
        """Return the outcome, and never the guess: this is what a saved notebook keeps."""
        came = f"It came out: {self.guess.kind.words(self.guess.outcome)}."
        return f"{came} {NO_GUESS if self.guess.counted is None else KEPT}"

    def _ipython_display_(self) -> None:
        publish(self.guess.result, repr(self))


class Tally:
    """All guesses of this kernel, as they stood when it was made."""

    def __init__(self, guesses: Sequence[Guess]) -> None:
        self.asked = len(guesses)
        shown = [guess for guess in guesses if guess.outcome is not None]
        made = [guess for guess in shown if guess.counted is not None]
        self.made, self.right = len(made), sum(guess.mark(guess.counted) == "✓" for guess in made)
        self.late = sum(guess.counted is None and guess.value is not None for guess in shown)
        self.table = Table(("question", "guess", "outcome", ""), [row(guess) for guess in guesses], 1)

    def sentence(self) -> str:
        """Return how many guesses were made in time, and how many of them were right."""
        if not self.made:
            return "No guess was made before its outcome was shown." + self._late()
        return f"{self.right} of {self.made} guesses were right; {self.asked} were asked for.{self._late()}"

    def _late(self) -> str:
        return f" {self.late} came after the outcome, and do not count." if self.late else ""

    def __repr__(self) -> str:
        """Return how many were asked for, and never the guesses: this is what a saved notebook keeps."""
        number = f"{self.asked} guesses were asked for."
        return f"{number} {KEPT if self.made else 'No guess was made.'}"

    def _ipython_display_(self) -> None:
        page = f"{self.table._repr_html_()}<p><b>{escape(self.sentence())}</b></p>"
        publish(ipywidgets.HTML(page), repr(self))


def row(guess: Guess) -> tuple[str, str, str, str]:
    """Return question, counted guess, outcome, and ✓ or ✗, as texts; a dash for what is missing."""
    words = guess.kind.words
    stands = guess.value if guess.outcome is None else guess.counted
    guessed = "–" if stands is None else words(stands)
    came = "–" if guess.outcome is None else words(guess.outcome)
    both = guess.counted is not None and guess.outcome is not None
    return guess.question, guessed, came, guess.mark(guess.counted) if both else ""


def publish(widget: Any, words: str) -> None:
    """Show a widget, and words for readers without a kernel; see `View`, which does so with a picture."""
    if current_cell() is None:
        show({**widget._repr_mimebundle_(), "text/plain": words})
        return
    # The widget's own text holds its value, which may be the guess, and the page would save it.
    show({**widget._repr_mimebundle_(), "text/plain": ""})
    lines = escape(words).replace("\n", "<br>")
    style = f"<style>{NO_WIDGET} {WORDS_LAST}</style>"
    page = f'{style}<p class="babygpt-still babygpt-words">{lines}</p>'
    show({"text/html": page, "text/plain": words})


def predict(
    question: str,
    choices: Sequence[str] = (),
    *,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    near: float | None = None,
) -> Guess:
    """Ask for a guess, and keep it: asked again, in a cell that is run again, it still stands.

    question  one sentence; a notebook asks it once
    choices   what can be chosen; or else
    low, high the ends of a number, in `unit`
    near      how far off a number counts as right; by default a tenth of the way from end to end
    returns   the guess: shown as the last line of a cell, and compared with `.compare(outcome)`
    Raises BadInput for an empty question, or if it has not either choices or both ends.
    """
    if not isinstance(question, str) or not question.strip():
        raise BadInput(f"a question should be a sentence, and is {question!r}")
    kind: OneOf | Number
    if choices and low is None and high is None:
        kind = OneOf((choices,) if isinstance(choices, str) else tuple(choices))
    elif not choices and low is not None and high is not None:
        kind = Number(low, high, unit, 0.1 * (high - low) if near is None else near)
    else:
        raise BadInput(f"{question!r} should have choices, or else low and high")
    with LOCK:
        if question not in GUESSES or GUESSES[question].kind != kind:
            GUESSES[question] = Guess(question, kind)
        return GUESSES[question]


def tally() -> Tally:
    """All guesses that this kernel has asked for, beside their outcomes, and how many were right."""
    with LOCK:
        return Tally(list(GUESSES.values()))
