"""Compare an answer with the reference, and put the difference in words."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

SHOWN = 6  # numbers of a tensor that are printed
NO_RETURN = "came out: None. Is a `return` missing?"


def as_numbers(value: Any) -> Tensor | None:
    """Return a number, or an array or list of numbers, as a detached tensor; None for anything else."""
    try:
        return torch.as_tensor(value).detach().cpu()
    except (TypeError, ValueError, RuntimeError):  # no number, too large a one, rows of different lengths
        return None


def describe(value: Any) -> str:
    """Return a value as text of at most one line; one whose own `repr` fails is named by its type."""
    tensor = as_numbers(value) if isinstance(value, Tensor | np.ndarray) else None
    if tensor is not None:
        numbers = tensor.flatten()[:SHOWN].tolist()
        listed = ", ".join(f"{x:.4g}" if isinstance(x, float) else str(x) for x in numbers)
        if tensor.dim() == 0:
            return listed
        short = tensor.dim() == 1 and len(tensor) <= SHOWN
        return (
            f"[{listed}]" if short else f"{tuple(tensor.shape)} [{listed}{', …' * (tensor.numel() > SHOWN)}]"
        )
    try:
        text = f"{value:.4g}" if isinstance(value, float) else " ".join(repr(value).split())
    except Exception:  # a learner's own class may raise anything
        return f"something of type {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "…"


def difference(got: Any, want: Any, atol: float = 1e-4) -> str:
    """Return how an answer differs from the reference; an empty text if they agree.

    got   whatever the learner's code returned
    want  a tensor, a number, a truth value, a text, or a tuple or list of these
    atol  by how much numbers may differ
    """
    if got is None and want is not None:
        return NO_RETURN
    if isinstance(want, bool | str):
        agree = truth(got) is want if isinstance(want, bool) else type(got) is str and got == want
        return "" if agree else f"came out: {describe(got)}; should be: {describe(want)}"
    if not isinstance(want, tuple | list):
        return difference_of_numbers(got, torch.as_tensor(want).detach().cpu(), atol)
    if not isinstance(got, tuple | list) or len(got) != len(want):
        return f"came out: {describe(got)}; should be {len(want)} things: {describe(want)}"
    parts = [difference(g, w, atol) for g, w in zip(got, want, strict=True)]
    return next((f"number {i + 1} of {len(want)} {text}" for i, text in enumerate(parts) if text), "")


def difference_of_numbers(got: Any, want: Tensor, atol: float) -> str:
    """Return how a number or a tensor differs from the reference: shape, type, then the first entry."""
    numbers = as_numbers(got)
    if numbers is None:
        return f"came out: {describe(got)}; should be: {describe(want)}"
    if numbers.shape != want.shape:
        return f"came out: shape {tuple(numbers.shape)}; should be shape {tuple(want.shape)}"
    if numbers.is_complex() != want.is_complex() or numbers.dtype == torch.bool != want.dtype:
        return f"came out: numbers of type {numbers.dtype}; should be {want.dtype}"
    kind = torch.complex128 if want.is_complex() else torch.float64
    wrong = ~numbers.to(kind).isclose(want.to(kind), 1e-5, atol) | numbers.isnan()
    if not wrong.any():
        return ""
    if numbers.dim() and numbers.isnan().any():
        return f"came out: {int(numbers.isnan().sum())} numbers that are nan; should be: {describe(want)}"
    if numbers.dim() == 0 or (numbers.dim() == 1 and numbers.numel() <= SHOWN):
        return f"came out: {describe(numbers)}; should be: {describe(want)}"
    first = tuple(wrong.nonzero()[0].tolist())
    index = ", ".join(map(str, first))
    return f"at [{index}] came out: {describe(numbers[first])}; should be: {describe(want[first])}"


def truth(value: Any) -> bool | None:
    """Return a truth value, also one of NumPy or a tensor of one; None for anything else."""
    one = isinstance(value, Tensor) and value.dtype == torch.bool and value.dim() == 0
    return bool(value) if one or isinstance(value, bool | np.bool_) else None


def unchanged(one: Any, other: Any) -> bool:
    """Whether a tensor, a module, or a list or dict of these still holds what its copy holds."""
    if isinstance(one, torch.nn.Module):
        one, other = dict(one.state_dict()), dict(other.state_dict())
    if isinstance(one, Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(unchanged(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(unchanged, one, other))
    return True
