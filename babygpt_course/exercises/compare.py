"""Compare an answer with the reference, and put the difference in words."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

SHOWN = 6  # numbers of a tensor that are printed
NO_RETURN = "came out: None. Is a `return` missing?"


def describe(value: Any) -> str:
    """Return a value as text of at most one line; one whose own `repr` fails is named by its type."""
    try:
        if isinstance(value, Tensor | np.ndarray):
            tensor = torch.as_tensor(value).detach()
            numbers = tensor.flatten()[:SHOWN].tolist()
            listed = ", ".join(f"{x:.4g}" if isinstance(x, float) else str(x) for x in numbers)
            if tensor.dim() == 0:
                return listed
            if tensor.dim() == 1 and len(tensor) <= SHOWN:
                return f"[{listed}]"
            return f"{tuple(tensor.shape)} [{listed}{', …' if tensor.numel() > SHOWN else ''}]"
        text = f"{value:.4g}" if isinstance(value, float) else " ".join(repr(value).split())
    except Exception:
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
        return difference_of_numbers(got, want, atol)
    if not isinstance(got, tuple | list) or len(got) != len(want):
        return f"came out: {describe(got)}; should be {len(want)} things: {describe(want)}"
    parts = [difference(g, w, atol) for g, w in zip(got, want, strict=True)]
    found = (f"number {i + 1} of {len(want)} {text}" for i, text in enumerate(parts) if text)
    return next(found, "")


def difference_of_numbers(got: Any, want: Any, atol: float) -> str:
    """Return how a number or a tensor differs from the reference: shape, type, then the first entry."""
    wanted = torch.as_tensor(want).detach().cpu()
    try:
        numbers = torch.as_tensor(got).detach().cpu()
    except Exception:
        return f"came out: {describe(got)}; should be: {describe(wanted)}"
    if numbers.shape != wanted.shape:
        return f"came out: shape {tuple(numbers.shape)}; should be shape {tuple(wanted.shape)}"
    if numbers.is_complex() != wanted.is_complex() or numbers.dtype == torch.bool != wanted.dtype:
        return f"came out: numbers of type {numbers.dtype}; should be {wanted.dtype}"
    kind = torch.complex128 if wanted.is_complex() else torch.float64
    wrong = ~numbers.to(kind).isclose(wanted.to(kind), 1e-5, atol) | numbers.isnan()
    if not wrong.any():
        return ""
    if numbers.dim() and numbers.isnan().any():
        return f"came out: {int(numbers.isnan().sum())} numbers that are nan; should be: {describe(wanted)}"
    if numbers.dim() == 0 or (numbers.dim() == 1 and numbers.numel() <= SHOWN):
        return f"came out: {describe(numbers)}; should be: {describe(wanted)}"
    first = tuple(wrong.nonzero()[0].tolist())
    index = ", ".join(map(str, first))
    return f"at [{index}] came out: {describe(numbers[first])}; should be: {describe(wanted[first])}"


def truth(value: Any) -> bool | None:
    """Return a truth value, also one of NumPy or a tensor of one; None for anything else."""
    if isinstance(value, np.bool_) or (
        isinstance(value, Tensor) and value.dtype == torch.bool and value.dim() == 0
    ):
        return bool(value)
    return value if isinstance(value, bool) else None


def wrong_shape(got: Any, shape: tuple[int, ...]) -> str:
    """Return in what way `got` is no tensor of this shape; an empty text if it is one."""
    if got is None:
        return NO_RETURN
    try:
        found = tuple(torch.as_tensor(got).shape)
    except Exception:
        return f"came out: {describe(got)}; should be a tensor of shape {shape}"
    return "" if found == shape else f"came out: shape {found}; should be shape {shape}"


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
