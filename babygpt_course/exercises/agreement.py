"""The check of an exercise whose answer is compared with the solution on drawn inputs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from torch import Generator, Tensor

from babygpt_course.exercises.checks import Wrong, ask
from babygpt_course.exercises.compare import as_numbers, difference

Mistakes = Mapping[str, Callable[..., Any]]  # sentence that tells the learner -> a function with the mistake


class Case(NamedTuple):
    """Arguments of one call, and a sentence that describes them."""

    what: str
    given: tuple[Any, ...]


@dataclass(frozen=True)
class Agrees:
    """Check that an answer agrees with the solution on all cases; the smallest case shows a fault.

    cases     draws the inputs: generator -> cases, in any order, of all sizes and with all the edges that
              the task promises, such as long texts, large ids, holes, and nothing at all
    solution  the function that an answer must agree with
    mistakes  are run on the case that shows a fault, in order to tell which of them it was
    hint      returns the end of the sentence, with its punctuation, for a fault that none of these explains:
              what came out, what should, and the arguments -> text
    view      returns what must agree of a result: the result, and the arguments -> a value. It may raise
              Wrong for a result of another form
    atol      by how much numbers may differ
    """

    cases: Callable[[Generator], Iterable[Case]]
    solution: Callable[..., Any]
    mistakes: Mistakes = field(default_factory=dict)
    hint: Callable[..., str] = lambda *_: ""
    view: Callable[..., Any] = lambda result, *_: result
    atol: float = 1e-4

    def __call__(self, attempt: Any, draw: Generator) -> None:
        """Ask for all cases, the smallest first. Raises Wrong at the first that differs."""
        for what, arguments in sorted(self.cases(draw), key=lambda case: size(case.given)):
            result = ask(attempt, *arguments, what=what)
            try:
                got = self.view(result, *arguments)
            except Wrong as error:
                raise Wrong(f"for {what} {str(error).removeprefix('for ')}") from error
            want = self.view(self.solution(*arguments), *arguments)
            if text := difference(got, want, self.atol):
                raise Wrong(f"for {what} {text}{self.explanation(got, want, arguments)}")

    def explanation(self, got: Any, want: Any, arguments: tuple[Any, ...]) -> str:
        """Return the known mistakes that give just this wrong value, or the hint."""
        sentences = [
            sentence for sentence, wrong in self.mistakes.items() if self.gives(wrong, got, want, arguments)
        ]
        return f". {'. Or: '.join(sentences[:2])}" if sentences else self.hint(got, want, *arguments)

    def gives(self, mistake: Callable[..., Any], got: Any, want: Any, arguments: tuple[Any, ...]) -> bool:
        """Return whether a mistake gives this value for these arguments; it may not apply to them at all."""
        try:
            value = self.view(mistake(*arguments), *arguments)
        except (ValueError, IndexError, ArithmeticError, RuntimeError, Wrong):
            return False
        return not difference(got, value, self.atol) and bool(difference(value, want, self.atol))


def first_token(rows: Any, given: Tensor, *_: Any) -> Any:
    """Return what stands for the first token of each text, for `view`; all rows if they have another shape.

    rows, given  (..., T, n) both: a row for each token
    """
    numbers = as_numbers(rows)
    return rows if numbers is None or numbers.shape != given.shape else numbers[..., 0, :]


def size(value: Any) -> int:
    """Return how much there is to read in some arguments: numbers of tensors, letters of texts."""
    if isinstance(value, Tensor | np.ndarray):
        return int(np.prod(value.shape))
    if isinstance(value, dict):
        value = [*value.items()]
    if isinstance(value, tuple | list):
        return sum(map(size, value))
    return len(value) if isinstance(value, str) else 1
