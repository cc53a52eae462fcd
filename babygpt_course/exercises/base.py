"""What an exercise is: a task, checks that look at an answer, hints one by one, and a solution."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from numbers import Integral
from typing import Any

import torch
from torch import Generator

from babygpt.plots import answer_figure
from babygpt.tables import MARKS, Source, Table, source
from babygpt_course.exercises.compare import difference, shown
from babygpt_course.exercises.guard import OutOfTime, within
from babygpt_course.exercises.pasting import needed_imports
from babygpt_course.exercises.picture import Drawn, Picture, apart, numbers

SECONDS = 10.0  # for a check, unless it trains; a busy machine needs more than an idle one


class Wrong(Exception):
    """Raised by a check: what is wrong with the answer, in a sentence, with the input that shows it."""


class Unusable(Wrong):
    """Raised by a check for an answer that none of the other checks can make anything of."""


class Words(str):
    """A text that a notebook shows as Markdown, without the quotes of a string."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Check:
    """One thing that is asked of an answer.

    asked  in a few words
    look   is given the answer and a seeded random generator, and raises `Wrong` if the thing is not so
    """

    asked: str
    look: Callable[[Any, Generator], None]


@dataclass(frozen=True)
class Report:
    """What a checker found: one row for each thing asked.

    rows     (✓ or ✗, what was asked, what is wrong)
    printed  how the answer's own output begins
    """

    rows: Sequence[tuple[str, str, str]]
    printed: str = ""

    @property
    def solved(self) -> bool:
        return all(mark == MARKS["holds"] for mark, *_ in self.rows)

    @property
    def failed(self) -> list[str]:
        """What was asked and is not so."""
        return [asked for mark, asked, _ in self.rows if mark != MARKS["holds"]]

    def _verdict(self) -> str:
        return "Solved." if self.solved else f"Not yet: {len(self.failed)} of {len(self.rows)} to go."

    def __repr__(self) -> str:
        lines = ["  ".join(part for part in row if part) for row in self.rows]
        printed = [f"Your code printed: {self.printed}"] if self.printed else []
        return "\n".join([*lines, *printed, self._verdict()])

    def _repr_html_(self) -> str:
        table = Table(("", "asked", "what is wrong"), self.rows, 3)._repr_html_()
        printed = f"<p>Your code printed: <code>{escape(self.printed)}</code></p>" if self.printed else ""
        return f"{table}{printed}<p><b>{self._verdict()}</b></p>"


@dataclass
class Exercise:
    """A task with a checker.

    name      a few words
    task      what to do, in Markdown
    level     "warm-up", "core" or "stretch"
    minutes   that it takes
    checks    what is asked, the most basic first; they see the answer one after the other
    hints     from the vaguest to the plainest
    stub      what the learner begins with, as it stands in the notebook: a function, a class or a value
    answer    the solution, likewise; the source of a function or class is shown
    seconds   that a check may take; more than a few for one that trains
    picture   what of an answer can be drawn, where that says more than words
    """

    name: str
    task: str
    level: str
    minutes: int
    checks: Sequence[Check]
    hints: Sequence[str]
    stub: Any
    answer: Any
    seconds: float = SECONDS
    picture: Picture | None = None
    given: int = field(default=0, repr=False)  # hints already given

    def __repr__(self) -> str:
        return f"{self.name} ({self.level}, about {self.minutes} minutes)"

    def _repr_markdown_(self) -> str:
        return f"**{self.name}** · {self.level} · about {self.minutes} minutes\n\n{self.task}"

    def check(self, attempt: Any) -> Report:
        """Look at an answer, whatever it is and does.

        attempt  a function, a class or a value, as the task says
        returns  ✓ or ✗ for each thing asked, and for ✗ what is wrong
        """
        rows: list[tuple[str, str, str]] = []
        printed = ""
        for number, check in enumerate(self.checks):
            draw = Generator().manual_seed(number)
            with torch.random.fork_rng(devices=[]):
                _, error, output = within(self.seconds, partial(check.look, attempt, draw))
            rows.append((MARKS["fails" if error else "holds"], check.asked, sentence(error, self.seconds)))
            printed = printed or " / ".join(output.split("\n")[:3]).strip(" /")
            if isinstance(error, Unusable | OutOfTime):
                rows += [
                    (MARKS["fails"], later.asked, "not looked at") for later in self.checks[number + 1 :]
                ]
                break
        return Report(rows, printed)

    def draw(self, attempt: Any) -> Drawn | Words:
        """Yours, the wanted one, and the difference; in words why not, where there is nothing to draw."""
        if self.picture is None:
            return Words("This exercise has no picture: `check` says it in words.")
        make = partial(self.picture.matrix, attempt)
        yours, error, _ = within(self.seconds, partial(numbers, make))
        wanted = numbers(partial(self.picture.matrix, self.answer))
        if error is None and yours.shape != wanted.shape:
            error = Wrong(f"it is {tuple(yours.shape)}, and should be {tuple(wanted.shape)}")
        if error is not None:
            return Words(f"There is nothing to draw yet: {sentence(error, self.seconds)}")
        differ, labels = apart(yours, wanted), (self.picture.x, self.picture.y)
        return Drawn(answer_figure(yours.numpy(), wanted.numpy(), differ, *labels), differ)

    def hint(self) -> Words:
        """One more hint each time; after the last one, all is said."""
        if self.given == len(self.hints):
            return Words("There are no more hints. `solution()` shows one way to do it.")
        self.given += 1
        return Words(f"{self.given} of {len(self.hints)}: {self.hints[self.given - 1]}")

    def solution(self) -> Source | Any:
        """One way to do it: its source, with what it imports, as a notebook's cell; or the value."""
        if not callable(self.answer):
            return self.answer
        shown_source = source(self.answer)
        text = shown_source.text.replace("_answer(", "(")
        imports = needed_imports(text, self.answer.__module__)
        shown_source.text = "\n".join([*imports, *(["", ""] if imports else []), text])
        return shown_source


def sentence(error: BaseException | None, seconds: float) -> str:
    """What a check raised, as the report says it; nothing for nothing."""
    if error is None:
        return ""
    if isinstance(error, OutOfTime):
        return f"did not come to an end within {seconds:g} seconds"
    if isinstance(error, Wrong):
        return str(error)
    return f"your code raised {type(error).__name__}: {shown(str(error))}"


def ask(attempt: Callable[..., Any], *given: Any, what: str) -> Any:
    """Call the learner's function on copies of some inputs.

    given    the inputs
    what     they are, for the sentence: "x of shape (1, 2)"
    returns  what it returned
    Raises Wrong if it raises, or writes into what it was given; Unusable if it is no function.
    """
    if not callable(attempt):
        raise Unusable(f"this should be a function, and is {shown(attempt)}")
    copies = copy.deepcopy(given)
    try:
        got = attempt(*copies)
    except Exception as error:
        raise Wrong(f"for {what} it raised {type(error).__name__}: {shown(str(error))}") from error
    if not all(unchanged(a, b) for a, b in zip(copies, given, strict=True)):
        raise Wrong(f"for {what} it changed what it was given; work on a copy")
    return got


def expect(
    attempt: Callable[..., Any],
    *given: Any,
    want: Any,
    what: str,
    mistakes: Mapping[str, Any] | None = None,
    atol: float = 1e-4,
) -> Any:
    """Call the learner's function on copies of some inputs, and compare what it returns.

    given     the inputs
    want      what it should return
    what      the inputs are, for the sentence
    mistakes  what to tell the learner -> what somebody gets who makes that well-known mistake
    returns   what it returned
    Raises Wrong if that is something else.
    """
    got = ask(attempt, *given, what=what)
    if text := difference(got, want, atol):
        told = (said for said, wrong in (mistakes or {}).items() if not difference(got, wrong, atol))
        raise Wrong(f"for {what} {text}" + next((f". {said}" for said in told), ""))
    return got


def whole_number(value: Any, least: int, most: int) -> int:
    """A whole number that a learner gave as an answer. Raises Unusable if it is none, or out of bounds."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise Unusable(f"this should be a whole number, and is {shown(value)}")
    number = int(value)
    if not least <= number <= most:
        raise Unusable(f"this should lie between {least} and {most}, and is {number}")
    return number


def texts(value: Any, number: int | None = None) -> tuple[str, ...]:
    """Texts that a learner gave as an answer.

    number  of texts that there should be, if that is fixed
    Raises Unusable if they are none.
    """
    wanted = f"{number or 'some'} texts in a tuple or list"
    if not isinstance(value, tuple | list) or not all(type(text) is str for text in value):
        raise Unusable(f"this should be {wanted}, and is {shown(value)}")
    if len(value) != number if number else not value:
        raise Unusable(f"this should be {wanted}, and there are {len(value)}")
    return tuple(value)


def unchanged(one: Any, other: Any) -> bool:
    """Whether a tensor, a module, or a list or dict of these still holds what its copy holds."""
    if isinstance(one, torch.nn.Module):
        return unchanged(dict(one.state_dict()), dict(other.state_dict()))
    if isinstance(one, torch.Tensor):
        return one.shape == other.shape and bool((one == other).all())
    if isinstance(one, dict):
        return list(one) == list(other) and all(unchanged(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(unchanged, one, other))
    return True
