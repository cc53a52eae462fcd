"""Parts of which checks are made: call an answer, compare what it returns, read a value that was given."""

import copy
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from babygpt_course.exercises.compare import NO_RETURN, describe, difference, truth, unchanged, wrong_shape


class Wrong(Exception):
    """Raised by a check: a sentence that says what is wrong, with the input that shows it."""


class Unusable(Wrong):
    """Raised by a check if no later check can use the answer either."""


def require_equal(
    got: Any,
    want: Any,
    what: str,
    mistakes: Mapping[str, Any] | None = None,
    hint: str = "",
    atol: float = 1e-4,
) -> None:
    """Raise Wrong if two values differ.

    what      describes the inputs in a sentence: "x of shape (1, 2)"
    mistakes  sentence that tells the learner -> the value of somebody who makes this mistake
    hint      ends the sentence, with its punctuation, for values that come from none of these
    atol      how far numbers may be apart
    """
    text = difference(got, want, atol)
    if not text:
        return
    for sentence, wrong in (mistakes or {}).items():
        both_nan = describe(got) == describe(wrong) == "nan"  # both may be the mean of no numbers
        if both_nan or not difference(got, wrong, atol):
            hint = f". {sentence}"
            break
    raise Wrong(f"for {what} {text}{hint}")


def ask(attempt: Callable[..., Any], *given: Any, what: str) -> Any:
    """Call the learner's function on copies of some inputs, and return what it returned.

    what  describes the inputs in a sentence
    Raises Wrong if it raises, or writes into its inputs; Unusable if it is no function.
    """
    if not callable(attempt):
        raise Unusable(f"this should be a function, and is {describe(attempt)}")
    copies = copy.deepcopy(given)
    try:
        got = attempt(*copies)
    except Exception as error:
        raise Wrong(f"for {what} it raised {type(error).__name__}: {describe(str(error))}") from error
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
) -> None:
    """Call the learner's function on copies of some inputs, and compare what it returns.

    mistakes  sentence that tells the learner -> a wrong value, or the function that returns it
    Raises Wrong if the answer differs from `want`; the other arguments are those of `require_equal`.
    """
    got = ask(attempt, *given, what=what)
    wrong = {text: f(*given) if callable(f) else f for text, f in (mistakes or {}).items()}
    require_equal(got, want, what, wrong, atol=atol)


def ask_parts(attempt: Any, *given: Any, what: str, wanted: str, number: int = 2) -> tuple[Any, ...]:
    """Call an answer that should return so many things. Raises Wrong if it does not; `wanted` names them."""
    got = ask(attempt, *given, what=what)
    if not isinstance(got, tuple | list) or len(got) != number:
        came = NO_RETURN if got is None else f"came out: {describe(got)}"
        raise Wrong(f"for {what} {came}; should be {wanted}")
    return tuple(got)


def ask_tensor(attempt: Any, *given: Any, what: str, shape: tuple[int, ...]) -> Tensor:
    """Call an answer that should return a tensor of this shape, and return it detached."""
    return require_shape(ask(attempt, *given, what=what), what, shape)


def ask_tensors(attempt: Any, *given: Any, what: str, shapes: Mapping[str, tuple[int, ...]]) -> list[Tensor]:
    """Call an answer that should return tensors of these names and shapes, in order, and detach them."""
    wanted = f"{len(shapes)} tensors: {', '.join(shapes)}"
    parts = ask_parts(attempt, *given, what=what, wanted=wanted, number=len(shapes))
    named = zip(parts, shapes.items(), strict=True)
    return [require_shape(part, f"{what} the {name}:", shape) for part, (name, shape) in named]


def require_shape(got: Any, what: str, shape: tuple[int, ...]) -> Tensor:
    """Return what an answer returned as a detached tensor. Raises Wrong unless it has this shape."""
    if text := wrong_shape(got, shape):
        raise Wrong(f"for {what} {text}")
    return torch.as_tensor(got).detach()


def ask_bool(attempt: Any, *given: Any, what: str) -> bool:
    """Call an answer that should return a truth value. Raises Wrong if it returns something else."""
    got = ask(attempt, *given, what=what)
    value = truth(got)
    if value is None:
        raise Wrong(f"for {what} came out: {describe(got)}; should be True or False")
    return value


def whole_number(value: Any, least: int, most: int) -> int:
    """Return an answer that is a whole number. Raises Unusable if it is none, or out of bounds."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise Unusable(f"this should be a whole number, and is {describe(value)}")
    if not least <= int(value) <= most:
        raise Unusable(f"this should lie between {least} and {most}, and is {int(value)}")
    return int(value)


def texts(value: Any, number: int | None = None) -> tuple[str, ...]:
    """Return an answer that is a list of texts, so many if `number` is given. Raises Unusable if not."""
    wanted = f"{number or 'some'} texts in a tuple or list"
    if not isinstance(value, tuple | list) or not all(type(text) is str for text in value):
        raise Unusable(f"this should be {wanted}, and is {describe(value)}")
    if len(value) != number if number else not value:
        raise Unusable(f"this should be {wanted}, and there are {len(value)}")
    return tuple(value)
