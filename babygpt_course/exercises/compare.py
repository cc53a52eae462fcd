"""Comparison of an answer with the reference, with the difference in words."""

from collections.abc import Iterator, Sequence, Set
from numbers import Number
from typing import Any

import numpy as np
import torch
from torch import Tensor, isclose

SHOWN = 6  # numbers of a tensor that are printed


def is_half(value: Any) -> bool:
    """Return whether a value of PyTorch or NumPy has numbers of 16 bits or fewer, such as float16."""
    name = str(getattr(value, "dtype", ""))
    return "float16" in name or "float8" in name


def to_python(value: Any) -> Any:
    """Return a number or text of NumPy, or an array or tensor without axes, as Python's own value.

    Half precision stays as it is, so that it can be refused where it is compared.
    """
    if is_half(value):
        return value
    lone = isinstance(value, np.ndarray | Tensor) and value.ndim == 0
    return value.item() if lone or isinstance(value, np.generic) else value


def things(value: Any) -> list[Any] | None:
    """Return what a list, tuple, range, array or tensor holds, or None for anything else, such as a text."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray | Tensor):
        return None
    return None if getattr(value, "ndim", 1) == 0 else list(map(to_python, value))


def members(value: Any) -> list[Any] | None:
    """Return what `things` returns, and the members of a set in any order, where order does not matter."""
    return things(list(value) if isinstance(value, Set) else value)


def whole(value: Any) -> int | None:
    """Return a whole number of any type as an int; None for anything else, and for a truth value."""
    number = as_numbers(value)
    if number is None or number.dim() or number.dtype == torch.bool or number.is_complex():
        return None
    return int(number) if float(number).is_integer() else None


def as_numbers(value: Any) -> Tensor | None:
    """Return a number, or an array or list of numbers, as a detached tensor; None for anything else."""
    if isinstance(value, list | tuple) and not all(isinstance(part, int | float) for part in value):
        rows = [row for part in value if (row := as_numbers(part)) is not None]  # it may be a list of tensors
        right = len(rows) == len(value) and len({row.shape for row in rows}) == 1
        return torch.stack(rows) if right else None
    try:
        precise = torch.float64 if isinstance(value, float) else None  # float32 ends at 3e38
        return torch.as_tensor(value, dtype=precise).detach().cpu()
    except (TypeError, ValueError, RuntimeError):  # no number, too large a one, or one that PyTorch lacks
        exotic = isinstance(value, Number) and not isinstance(value, int | float | complex)
        return torch.as_tensor(float(value)) if exotic else None


def describe(value: Any, digits: int = 4) -> str:
    """Return a value as text of at most one line; one whose own `repr` fails is named by its type."""
    tensor = as_numbers(value) if isinstance(value, Tensor | np.ndarray) else None
    if tensor is not None:
        numbers = tensor.flatten()[:SHOWN].tolist()
        listed = ", ".join(f"{x:.{digits}g}" if isinstance(x, float) else str(x) for x in numbers)
        if tensor.dim() == 0:
            return listed
        shape = "" if tensor.dim() == 1 and len(tensor) <= SHOWN else f"{tuple(tensor.shape)} "
        return f"{shape}[{listed}{', …' * (tensor.numel() > SHOWN)}]"
    try:
        text = f"{value:.{digits}g}" if isinstance(value, float) else " ".join(repr(value).split())
    except Exception:  # a learner's own class may raise anything
        return f"something of type {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "…"


def format_beyond(value: float, limit: float, unit: str = "") -> str:
    """Return a number (unit "%": a share) that misses a limit, in decimals enough to tell them apart."""
    scale, least = (100, 0) if unit else (1, 2)
    texts = [f"{scale * value:.{decimals}f}" for decimals in range(least, 17)]
    return next((text for text in texts if float(text) != scale * limit), texts[-1]) + unit


def count(number: int, noun: str) -> str:
    """Return a number with its noun: "1 layer", "2 layers"."""
    return f"{number} {noun}{'s' * (number != 1)}"


def unfit_type(numbers: Tensor, want: Tensor | None = None) -> str:
    """Return why numbers of this type cannot be an answer; an empty text if they can.

    want  the reference; if it holds whole numbers with axes, such as ids, indices and positions, integers of
          any width are allowed and no others, because only integers can index
    """
    dtype = numbers.dtype
    wants_numbers = want is not None and want.dtype != torch.bool
    wants_indices = want is not None and wants_numbers and want.dim() and not want.dtype.is_floating_point
    rules = {
        "float32 or float64": numbers.is_complex() or is_half(numbers),
        "numbers": wants_numbers and dtype == torch.bool,
        "whole numbers, such as int64": wants_indices and dtype.is_floating_point and numbers.numel(),
    }
    right = next((kind for kind, broken in rules.items() if broken), "")
    return f"came out: numbers of type {dtype}; should be {right}" if right else ""


def came_out(got: Any, expected: str) -> str:
    """Return what came out and what should, in words."""
    if got is None:
        return "came out: None. Is a `return` missing?"
    if isinstance(got, Iterator):
        return f"came out: an iterator ({type(got).__name__}), which can be read once only; make a list of it"
    return f"came out: {describe(got)}; {expected}"


def apart(got: Any, want: Any) -> str:
    """Return two values in words, with as many digits as tell them apart, or else with their types."""
    texts = [(describe(got, digits), describe(want, digits)) for digits in (4, 6, 9, 17)]
    types = [f"{text} ({type(value).__name__})" for text, value in zip(texts[0], (got, want), strict=True)]
    shown, reference = next((two for two in texts if two[0] != two[1]), types)
    return (
        came_out(got, "")
        if got is None or isinstance(got, Iterator)
        else f"came out: {shown}; should be: {reference}"
    )


def difference(got: Any, want: Any, atol: float = 1e-4) -> str:
    """Return how an answer differs from the reference; an empty text if they agree.

    got   whatever the learner's code returned
    want  a tensor, a number, a truth value, a text, or a tuple or list of these
    atol  by how much numbers may differ
    """
    if isinstance(want, bool | str):
        agree = type(want) is type(to_python(got)) and to_python(got) == want
        return "" if agree else apart(got, want)
    if not isinstance(want, tuple | list):
        return difference_of_numbers(got, torch.as_tensor(want).detach().cpu(), atol)
    if (parts := things(got)) is None or len(parts) != len(want):
        return came_out(got, f"should be {len(want)} things: {describe(want)}")
    differences = [difference(g, w, atol) for g, w in zip(parts, want, strict=True)]
    return next((f"number {i + 1} of {len(want)} {text}" for i, text in enumerate(differences) if text), "")


def difference_of_numbers(got: Any, want: Tensor, atol: float) -> str:
    """Return how a number or a tensor differs from the reference: shape, type, then the first entry."""
    numbers = as_numbers(got)
    if numbers is None:
        return apart(got, want)
    if isinstance(got, list | tuple) and not len(got) and 0 in want.shape[:1]:
        return ""  # a list of no rows cannot say how long they are
    if numbers.shape != want.shape:
        return f"came out: shape {tuple(numbers.shape)}; should be shape {tuple(want.shape)}"
    if unfit := unfit_type(numbers, want):
        return unfit
    numbers, want = numbers.double(), want.double()
    wrong = ~isclose(numbers, want, 1e-5, atol) | numbers.isnan()
    if not wrong.any():
        return ""
    if numbers.dim() == 0 or (numbers.dim() == 1 and numbers.numel() <= SHOWN):
        return apart(numbers, want)
    first = tuple(wrong.nonzero()[0].tolist())
    index = ", ".join(map(str, first))
    return f"at [{index}] {apart(numbers[first], want[first])}"
