"""Compare values of an answer with the wanted ones, and name well-known mistakes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from torch import Generator

from babygpt_course.exercises.compare import describe, difference
from babygpt_course.exercises.exercise import Test, Wrong, ask


class Expected(NamedTuple):
    """A value of an answer beside the wanted one.

    what      begins the sentence: "for n = 3 the mean"
    mistakes  hint -> the value of somebody who makes this mistake
    hint      ends the sentence, with its punctuation, for values that come from none of these
    atol      how far numbers may be apart
    """

    got: Any
    want: Any
    what: str
    mistakes: Mapping[str, Any] = {}
    hint: str = ""
    atol: float = 1e-4

    def require(self) -> None:
        """Raise Wrong, with a hint where there is one, if the two differ."""
        got, want, what, mistakes, hint, atol = self
        if text := difference(got, want, atol):
            for words, wrong in mistakes.items():
                nan = describe(got) == describe(wrong) == "nan"  # both may be the mean of no numbers
                if nan or not difference(got, wrong, atol):
                    hint = f". {words}"
                    break
            raise Wrong(f"{what} {text}{hint}")


def aspect(cases: Callable[[Any, Generator], Iterable[Mapping[str, Expected]]], name: str) -> Test:
    """Return a check that looks at one value, by its name, in each case that is drawn for an answer."""

    def look(attempt: Any, draw: Generator) -> None:
        for case in cases(attempt, draw):
            case[name].require()

    return look


def usable(parse: Callable[[Any], Any]) -> Test:
    """Return a check that an answer is of the wanted kind: `parse` raises Unusable if it is not."""

    def look(attempt: Any, _: Generator) -> None:
        parse(attempt)

    return look


def ask_parts(attempt: Any, *given: Any, what: str, number: int, words: str) -> tuple[Any, ...]:
    """Call an answer that should return so many things. Raises Wrong if it does not; `words` name them."""
    got = ask(attempt, *given, what=what)
    if not isinstance(got, tuple | list) or len(got) != number:
        came = "None. Is a `return` missing?" if got is None else describe(got)
        raise Wrong(f"for {what} came out: {came}; should be {words}")
    return tuple(got)
