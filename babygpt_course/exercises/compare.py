"""What a checker says of an answer that is not the wanted one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

SHOWN = 6  # numbers of a tensor that are printed


def shown(value: Any, most: int = SHOWN) -> str:
    """A value in at most a line: shapes for what is large, the first numbers, no endless text.

    Never raises: a value whose own text cannot be had is named by its type.
    """
    try:
        if isinstance(value, np.ndarray):
            value = torch.as_tensor(value)
        if isinstance(value, Tensor):
            return shown_tensor(value, most)
        if isinstance(value, float):
            return f"{value:.4g}"
        text = " ".join(repr(value).split())
    except Exception:
        return f"something of type {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "…"


def shown_tensor(value: Tensor, most: int = SHOWN) -> str:
    """A tensor in a line: its numbers if they are few, otherwise its shape and its first ones."""
    numbers = value.detach().flatten()[:most].tolist()
    listed = ", ".join(f"{x:.4g}" if isinstance(x, float) else str(x) for x in numbers)
    if value.dim() == 0:
        return listed
    if value.numel() <= most and value.dim() == 1:
        return f"[{listed}]"
    return f"{tuple(value.shape)} [{listed}{', …' if value.numel() > most else ''}]"


def difference(got: Any, want: Any, atol: float = 1e-4) -> str:
    """Say how an answer differs from the wanted one, or nothing.

    got      whatever the learner's code returned
    want     a tensor, a number, a truth value, a text, or a tuple or list of these
    atol     how far numbers may be apart
    returns  "" if they agree; otherwise what came out, and what should have
    """
    if got is None and want is not None:
        return "came out: None. Is a `return` missing?"
    if isinstance(want, bool | str):
        same = truth(got) is want if isinstance(want, bool) else type(got) is str and got == want
        return "" if same else f"came out: {shown(got)}; should be: {shown(want)}"
    if isinstance(want, tuple | list):
        return _difference_of_parts(got, want, atol)
    return _difference_of_numbers(got, want, atol)


def truth(value: Any) -> bool | None:
    """A truth value, also where it comes as NumPy's or as a tensor of one; None for anything else."""
    if isinstance(value, np.bool_) or (
        isinstance(value, Tensor) and value.dtype == torch.bool and value.dim() == 0
    ):
        return bool(value)
    return value if isinstance(value, bool) else None


def wrong_shape(got: Any, shape: tuple[int, ...]) -> str:
    """Say that something is no tensor of this shape, or nothing.

    got      whatever the learner's code returned
    returns  "" if it is one, whatever its numbers are; otherwise what came out, and what should have
    """
    if got is None:
        return "came out: None. Is a `return` missing?"
    try:
        have = tuple(torch.as_tensor(got).shape)
    except Exception:
        return f"came out: {shown(got)}; should be a tensor of shape {shape}"
    return "" if have == shape else f"came out: shape {have}; should be shape {shape}"


def _difference_of_parts(got: Any, want: tuple[Any, ...] | list[Any], atol: float) -> str:
    if not isinstance(got, tuple | list) or len(got) != len(want):
        return f"came out: {shown(got)}; should be {len(want)} things: {shown(want)}"
    found = [(i, difference(g, w, atol)) for i, (g, w) in enumerate(zip(got, want, strict=True))]
    return next((f"number {i + 1} of {len(want)} {text}" for i, text in found if text), "")


def _difference_of_numbers(got: Any, want: Any, atol: float) -> str:
    wanted = torch.as_tensor(want).detach()
    try:
        numbers = torch.as_tensor(got).detach().cpu()
    except Exception:
        return f"came out: {shown(got)}; should be: {shown(wanted)}"
    if numbers.shape != wanted.shape:
        return (
            f"came out: shape {tuple(numbers.shape)}; should be shape {tuple(wanted.shape)}"
            if wanted.dim() or numbers.dim()
            else f"came out: {shown(got)}"
        )
    if numbers.is_complex() != wanted.is_complex() or numbers.dtype == torch.bool != wanted.dtype:
        return f"came out: numbers of type {numbers.dtype}; should be {wanted.dtype}"
    kind = torch.complex128 if wanted.is_complex() else torch.float64
    apart = ~numbers.to(kind).isclose(wanted.cpu().to(kind), 1e-5, atol) | numbers.isnan()
    if not apart.any():
        return ""
    if numbers.dim() and numbers.isnan().any():
        return f"came out: {int(numbers.isnan().sum())} numbers that are nan; should be: {shown(wanted)}"
    if numbers.dim() == 0 or (numbers.dim() == 1 and numbers.numel() <= SHOWN):
        return f"came out: {shown(numbers)}; should be: {shown(wanted)}"
    first = tuple(apart.nonzero()[0].tolist())
    at = ", ".join(map(str, first))
    return f"at [{at}] came out: {shown(numbers[first])}; should be: {shown(wanted[first])}"
