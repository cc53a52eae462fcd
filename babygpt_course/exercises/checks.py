"""Parts of which checks are made: call an answer, compare what it returns, read a value that was given."""

import copy
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from babygpt_course.exercises.compare import (
    as_numbers,
    came_out,
    describe,
    difference,
    members,
    things,
    to_python,
    unfit_type,
)
from babygpt_course.exercises.guard import preserved_libraries


class Wrong(Exception):
    """Failed check: a sentence that names the mistake, with the input that shows it."""


class Unusable(Wrong):
    """Failed check after which no later check can use the answer either."""


def require(holds: object, sentence: str, error: type[Wrong] = Wrong) -> None:
    """Raise Wrong, or another error, with this sentence unless a condition holds."""
    if not holds:
        raise error(sentence)


def require_equal(
    got: Any, want: Any, what: str, mistakes: Mapping[str, Any] = {}, hint: str = "", atol: float = 1e-4
) -> None:
    """Raise Wrong if two values differ.

    what      describes the inputs in a sentence: "x of shape (1, 2)"
    mistakes  sentence that tells the learner -> the value that this mistake gives
    hint      ends the sentence, with its punctuation, for values that come from none of these
    atol      how far numbers may be apart
    """
    if text := difference(got, want, atol):
        sentences = [sentence for sentence, wrong in mistakes.items() if not difference(got, wrong, atol)]
        raise Wrong(f"for {what} {text}{'. ' * bool(sentences)}{'. Or: '.join(sentences[:2]) or hint}")


def is_unchanged(value: Any, original: Any) -> bool:
    """Return whether a value still equals its copy. Functions and objects count as unchanged."""
    if isinstance(value, nn.Module):
        value, original = dict(value.state_dict()), dict(original.state_dict())
    if type(value) is not type(original):
        return False
    if isinstance(value, Tensor):
        same_or_nan = value.shape == original.shape and ((value == original) | (value != value)).all()
        return bool(same_or_nan)
    if isinstance(value, dict):
        return list(value) == list(original) and all(is_unchanged(value[key], original[key]) for key in value)
    if isinstance(value, list | tuple):
        return len(value) == len(original) and all(map(is_unchanged, value, original))
    return value == original or value != value if isinstance(value, int | float | str) else True


def ask(attempt: Any, *arguments: Any, what: str) -> Any:
    """Call the learner's function on copies of some inputs, and return what it returned.

    what  describes the inputs in a sentence
    Raises Wrong if it raises, or writes into its inputs; Unusable if it is no function.
    """
    require(callable(attempt), f"this should be a function, and is {describe(attempt)}", Unusable)
    copies = copy.deepcopy(arguments)
    try:
        with preserved_libraries():
            got = attempt(*copies)
    except Exception as error:
        raise Wrong(f"for {what} it raised {type(error).__name__}: {describe(str(error))}") from error
    require(
        all(map(is_unchanged, copies, arguments)), f"for {what} it changed what it was given; work on a copy"
    )
    return got


def expect(
    attempt: Any, *arguments: Any, want: Any, what: str, mistakes: Mapping[str, Any] = {}, atol: float = 1e-4
) -> None:
    """Call the learner's function on copies of some inputs, and compare what it returns.

    mistakes  sentence that tells the learner -> a wrong value, or the function that returns it
    Raises Wrong if the answer differs from `want`; the other arguments are those of `require_equal`.
    """
    got = ask(attempt, *arguments, what=what)
    wrong = {text: f(*arguments) if callable(f) else f for text, f in mistakes.items()}
    require_equal(got, want, what, wrong, atol=atol)


def read_parts(got: Any, what: str, expected: str, number: int = 2) -> tuple[Any, ...]:
    """Return the `number` parts of a result, which `expected` names. Raises Wrong if it has others."""
    if (parts := things(got)) is None or len(parts) != number:
        raise Wrong(f"{f'for {what} ' * bool(what)}{came_out(got, f'should be {expected}')}")
    return tuple(parts)


def ask_parts(attempt: Any, *arguments: Any, what: str, expected: str, number: int = 2) -> tuple[Any, ...]:
    """Call an answer that should return `number` values, named in `expected`. Raises Wrong if it does not."""
    return read_parts(ask(attempt, *arguments, what=what), what, expected, number)


def ask_tensor(attempt: Any, *arguments: Any, what: str, shape: tuple[int, ...]) -> Tensor:
    """Call an answer that should return a tensor of this shape, and return it detached."""
    return require_shape(ask(attempt, *arguments, what=what), what, shape)


def read_tensors(got: Any, what: str, shapes: Mapping[str, tuple[int, ...]]) -> list[Tensor]:
    """Return the parts of a result as detached tensors. Raises Wrong unless they have these shapes."""
    expected = f"{len(shapes)} {'tensors' if any(shapes.values()) else 'numbers'}: {', '.join(shapes)}"
    parts = read_parts(got, what, expected, number=len(shapes))
    named = zip(parts, shapes.items(), strict=True)
    return [require_shape(part, f"{what} the {name}:".strip(), shape) for part, (name, shape) in named]


def ask_tensors(
    attempt: Any, *arguments: Any, what: str, shapes: Mapping[str, tuple[int, ...]]
) -> list[Tensor]:
    """Call an answer that should return tensors or numbers of these names and shapes, and detach them."""
    return read_tensors(ask(attempt, *arguments, what=what), what, shapes)


def require_shape(got: Any, what: str, shape: tuple[int, ...]) -> Tensor:
    """Return what an answer returned as a detached tensor. Raises Wrong unless it has this shape.

    what     describes the inputs in a sentence; empty if the caller puts it before the message
    returns  float64 for numbers of any other precision, so that a check may compute with all alike
    """
    before = f"for {what} " * bool(what)
    if (numbers := as_numbers(got)) is None:
        expected = f"should be a {f'tensor of shape {shape}' if shape else 'number'}"
        raise Wrong(f"{before}{came_out(got, expected)}")
    unfit = unfit_type(numbers)
    require(not unfit, f"{before}{unfit}")
    right = tuple(numbers.shape) == shape
    require(right, f"{before}came out: shape {tuple(numbers.shape)}; should be shape {shape}")
    return numbers.double() if numbers.is_floating_point() else numbers


def ask_bool(attempt: Any, *arguments: Any, what: str) -> bool:
    """Call an answer that should return a truth value. Raises Wrong if it returns something else."""
    value = to_python(ask(attempt, *arguments, what=what))
    require(isinstance(value, bool), f"for {what} {came_out(value, 'should be True or False')}")
    return bool(value)


def require_texts(value: Any, number: int | None = None) -> tuple[str, ...]:
    """Return an answer that is a list of texts, `number` of them if that is given. Raises Unusable if not."""
    rule = f"this should be {number or 'some'} texts in a tuple or list, and"
    parts = things(value)
    if parts is None or not all(isinstance(text, str) for text in parts):
        raise Unusable(f"{rule} is {describe(value)}")
    require(len(parts) == number if number else parts, f"{rule} there are {len(parts)}", Unusable)
    return tuple(parts)


def equal_texts(value: Any, most: int, shortest: int, longest: int) -> tuple[str, ...]:
    """Return an answer that is a list of equally long texts. Raises Unusable if it is none, or too long."""
    answers = require_texts(value if (parts := members(value)) is None else parts)
    lengths = sorted(set(map(len, answers)))
    right = len(lengths) == 1 and shortest <= lengths[0] <= longest
    rule = f"the texts should be equally long, {shortest} to {longest} characters"
    require(right, f"{rule}; lengths are {lengths}", Unusable)
    require(
        len(answers) <= most, f"there should be at most {most} texts, and there are {len(answers)}", Unusable
    )
    return answers
