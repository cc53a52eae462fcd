"""Attack on the checks: of all wrong answers that an oracle tells, at most 2% may pass."""

import copy
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from babygpt_course.exercises import Exercise
from tests.course.exercises.mutate import mutants
from tests.course.exercises.oracles import JUDGES, is_right
from tests.course.exercises.test_all import EXERCISES, name

ATTACKED = [exercise for exercise in EXERCISES if exercise.name in JUDGES]
MOST = 0.02  # share of the wrong answers to an exercise that may pass


def numbers_changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return arguments or a result with all their tensors and floats changed."""
    if isinstance(value, tuple | list):
        return type(value)(numbers_changed(part, change) for part in value)
    return change(value) if isinstance(value, Tensor | float) else value


def halved(x: Any) -> Any:
    return x.half() if isinstance(x, Tensor) and x.dtype.is_floating_point else x


def rounded(x: Any) -> Any:
    return halved(x).float() if isinstance(x, Tensor) and x.dtype.is_floating_point else x


def in_a_byte(x: Any) -> Any:
    return x % 256 if isinstance(x, Tensor) and x.dtype == torch.int64 else x


def shapes(value: Any) -> Any:
    """Return what is alike in arguments of one shape, or of one length."""
    if isinstance(value, Tensor):
        return tuple(value.shape)
    return len(value) if isinstance(value, str | list | tuple | dict) else 0


def kept_by(key: Callable[[tuple[Any, ...]], Any], answer: Callable[..., Any]) -> Callable[..., Any]:
    """Return an answer that gives its first result of each key again."""
    results: dict[Any, Any] = {}

    def keeps(*inputs: Any) -> Any:
        if (label := key(inputs)) not in results:
            results[label] = answer(*inputs)
        return copy.deepcopy(results[label])

    return keeps


def spoils(answer: Callable[..., Any]) -> Callable[..., Any]:
    """Return an answer that writes into its arguments once it has its result."""

    def writes(*inputs: Any) -> Any:
        result = copy.deepcopy(answer(*inputs))
        for value in inputs:
            if isinstance(value, Tensor):
                value.zero_()
            elif isinstance(value, list | dict):
                value.clear()
        return result

    return writes


def small_only(answer: Callable[..., Any]) -> Callable[..., Any]:
    """Return an answer that gives zeros for anything longer than nine."""

    def gives_up(*inputs: Any) -> Any:
        lengths = [max(value.shape, default=0) for value in inputs if isinstance(value, Tensor)]
        lengths += [len(value) for value in inputs if isinstance(value, str | list)]
        result = answer(*inputs)
        return numbers_changed(result, lambda x: 0 * x) if max(lengths, default=0) > 9 else result

    return gives_up


Kind = Callable[[Callable[..., Any]], Callable[..., Any]]
KINDS: dict[str, Kind] = {
    "the first result for ever": lambda f: kept_by(lambda _: 0, f),
    "kept by shape": lambda f: kept_by(lambda inputs: tuple(map(shapes, inputs)), f),
    "half precision in": lambda f: lambda *inputs: f(*numbers_changed(inputs, rounded)),
    "half precision out": lambda f: lambda *inputs: numbers_changed(f(*inputs), halved),
    "rounded to half": lambda f: lambda *inputs: numbers_changed(f(*inputs), rounded),
    "complex": lambda f: lambda *inputs: numbers_changed(f(*inputs), lambda x: x + 1j),
    "ids in a byte": lambda f: lambda *inputs: f(*numbers_changed(inputs, in_a_byte)),
    "changed arguments": spoils,
    "small sizes only": small_only,
    "an echo": lambda f: lambda *inputs: inputs[0],
    "nothing negative": lambda f: lambda *inputs: numbers_changed(f(*inputs), abs),
}


def passes(exercise: Exercise, attempt: Any) -> bool:
    torch.manual_seed(0)  # some answers draw at random
    random.seed(0)
    return replace(exercise, seconds=10.0).check(attempt).solved


@pytest.mark.slow
@pytest.mark.parametrize("exercise", ATTACKED, ids=name)
def test_no_kind_of_wrong_answer_passes(exercise: Exercise):
    wrong = [kind for kind, spoil in KINDS.items() if not is_right(exercise.name, spoil(exercise.answer))]
    assert wrong
    assert [kind for kind in wrong if passes(exercise, KINDS[kind](exercise.answer))] == []


@pytest.mark.slow
@pytest.mark.parametrize("exercise", ATTACKED, ids=name)
def test_hardly_any_change_of_the_solution_passes(exercise: Exercise):
    assert is_right(exercise.name, exercise.answer)
    wrong = [
        (line, attempt) for line, attempt in mutants(exercise.answer) if not is_right(exercise.name, attempt)
    ]
    assert len(wrong) >= 10
    accepted = [line for line, attempt in wrong if passes(exercise, attempt)]
    assert len(accepted) <= MOST * len(wrong), accepted
