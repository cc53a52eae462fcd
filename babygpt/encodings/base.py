"""The three hooks by which an encoding meets a model; where none is overridden, the model has NoPE."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babygpt.errors import BadInput
from babygpt.positions import Positions


def norm(x: Tensor) -> Tensor:
    """RMSNorm without parameters, over the last axis; the model's body and some encodings use it."""
    return F.rms_norm(x, (x.shape[-1],))


LARGEST = 1e30  # float32 ends at 3e38, and such a number is still to be multiplied
SMALLEST = 1 / LARGEST  # of a number that must be above 0, because something is divided by it


MOST_STEERED = 1e12  # its square may meet a score, and what is learned from that is still finite


def require_finite(name: str, value: Any, most: float = LARGEST) -> None:
    """Raise a ValueError unless a number is finite, and not so large that a product with it would not be."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise BadInput(f"{name} ({reprlib.repr(value)}) must be a number")
    try:
        number = float(value)
    except OverflowError:  # a whole number may have any number of digits
        number = math.inf
    if not abs(number) <= most:  # refuses nan too
        raise BadInput(f"{name} ({number}) must be a finite number, at most {most:g} in size")


class Encoding(nn.Module):
    """No position encoding (NoPE), and the base of every other encoding.

    A subclass overrides the hooks that it needs: `embed`, `transform_qk`, `score_bias`. One encoding serves
    all layers; `PerLayer` holds one for each.

    max_positions  the number of positions that it knows, or None if it takes any
    minimum        name of a number -> the smallest value that it may be steered to
    integers       those of its whole numbers that may be steered; the others are shapes
    for_branches   whether it is made for several texts in one sequence

    Source: NoPE after Kazemnejad et al. 2023, arXiv:2305.19466.
    """

    max_positions: int | None = None
    minimum: ClassVar[Mapping[str, float]] = {}
    integers: ClassVar[tuple[str, ...]] = ()
    for_branches: bool = False

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        """Add to the token embeddings: (B, T, C) -> (B, T, C)."""
        return x

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        """Change queries and keys before they meet: (B, H, T, D) each, both at `positions`."""
        return q, k

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor | None:
        """Add to the scores: None, or (H or 1, Tq, Tk), with B before it where positions have a B."""
        return None

    def of_layer(self, layer: int) -> Encoding:
        """The encoding that layer number `layer` meets, counted from 0: this one, in every layer."""
        return self

    def require_layers(self, n: int) -> None:
        """Raise a ValueError unless this is an encoding for a model of n layers."""

    def steerable(self) -> list[str]:
        """The names of the numbers that `steer` may set, in order."""
        kinds = float | Tensor
        return [name for name in dir(self) if name in self.integers or isinstance(getattr(self, name), kinds)]

    def require_number(self, name: str) -> None:
        """Raise a ValueError unless `name` is one of the encoding's numbers, such as theta."""
        if name not in self.steerable():
            has = ", ".join(self.steerable()) or "none"
            raise BadInput(f"{type(self).__name__} has no number called {name!r} to steer; it has {has}")

    def require_steerable(self, name: str, value: float, branches: int = 2) -> None:
        """Raise a ValueError unless one of the encoding's numbers may be set to `value`; change nothing.

        branches  texts that a sequence may hold
        """
        self.require_number(name)
        require_finite(name, value, math.log(MOST_STEERED) if name.startswith("log_") else MOST_STEERED)
        minimum = self.minimum.get(name)
        if name in self.integers and not float(value).is_integer():
            raise BadInput(f"{name} ({value}) must be a whole number")
        if minimum is not None and value < minimum:
            above = "above 0, and " if minimum < 1 else ""
            raise BadInput(f"{name} ({value}) must be {above}at least {minimum:g}")

    def steer(self, name: str, value: float) -> None:
        """Set one of the encoding's numbers between two steps of training.

        name   an attribute that is a number, or a parameter or buffer (all of it gets the value)
        value  finite; whole where the number counts something
        Raises ValueError, before anything is changed, if there is no such number or it may not be that.
        """
        self.require_steerable(name, value)
        have = getattr(self, name)
        if isinstance(have, Tensor):
            with torch.no_grad():
                have.fill_(float(value))
        else:
            setattr(self, name, type(have)(value))
