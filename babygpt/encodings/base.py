"""The three hooks through which an encoding meets a model. An encoding without any of them is NoPE."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babygpt.config import finite_number
from babygpt.errors import BadInput
from babygpt.positions import Positions

# float32 overflows at 3e38. Numbers up to 1e30 leave room for the products that follow.
LARGEST = 1e30
SMALLEST = 1 / LARGEST  # the least value of a number by which something is divided
MOST_STEERED = 1e12  # a score may contain the square, and gradients of that score must stay finite too


def norm(x: Tensor) -> Tensor:
    """Normalise the last axis to a root mean square of 1: RMSNorm without parameters."""
    return F.rms_norm(x, (x.shape[-1],))


def require_bounded(name: str, value: Any, most: float = LARGEST) -> None:
    """Raise BadInput unless `value` is a number of at most `most` in size, so that products stay finite."""
    if abs(finite_number(name, value)) > most:
        raise BadInput(f"{name} ({value}) must be a finite number, at most {most:g} in size")


def distances(queries: Positions, keys: Positions) -> Tensor:
    """Return how far each key lies behind each query, in tokens: (Tq, Tk) or (B, Tq, Tk), negative ahead."""
    return queries.time[..., :, None] - keys.time[..., None, :]


class Encoding(nn.Module):
    """No position encoding (NoPE), and the base of every other encoding.

    A subclass overrides the hooks that it needs: `embed`, `transform_qk`, `score_bias`. One encoding serves
    all layers. `PerLayer` holds one for each.

    max_positions  the number of positions that it knows, or None if it takes any
    minimum        name of a number -> the smallest value that `steer` accepts for it
    integers       the whole numbers that `steer` may set; all other whole numbers are shapes
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
        """Change queries and keys before their dot product: (B, H, T, D) each, both at `positions`."""
        return q, k

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor | None:
        """Return a term to add to the scores: None, or (H or 1, Tq, Tk), after B where positions have a B."""
        return None

    def of_layer(self, layer: int) -> Encoding:
        """Return the encoding of layer number `layer`, counted from 0: this one, in every layer."""
        return self

    # ---------------------------------------------------------------- numbers that a slider sets

    def steerable(self) -> list[str]:
        """Return the names of the numbers that `steer` may set, in alphabetical order."""
        kinds = float | Tensor
        return [name for name in dir(self) if name in self.integers or isinstance(getattr(self, name), kinds)]

    def require_number(self, name: str) -> None:
        """Raise BadInput unless `name` is one of the encoding's numbers, such as theta."""
        if name not in self.steerable():
            has = ", ".join(self.steerable()) or "none"
            raise BadInput(f"{type(self).__name__} has no number called {name!r} to steer; it has {has}")

    def require_steerable(self, name: str, value: float, branches: int = 2) -> None:
        """Raise BadInput unless `steer` may set a number to `value`. Change nothing.

        branches  how many texts a sequence may hold
        """
        self.require_number(name)
        require_bounded(name, value, math.log(MOST_STEERED) if name.startswith("log_") else MOST_STEERED)
        minimum = self.minimum.get(name)
        if name in self.integers and not float(value).is_integer():
            raise BadInput(f"{name} ({value}) must be a whole number")
        if minimum is not None and value < minimum:
            above = "above 0, and " if minimum < 1 else ""
            raise BadInput(f"{name} ({value}) must be {above}at least {minimum:g}")

    def steer(self, name: str, value: float) -> None:
        """Set one of the encoding's numbers between two steps of training.

        name   an attribute that is a number, or a parameter or buffer: all its entries get the value
        value  finite, and whole where the number counts something
        Raises BadInput, before anything is changed, for an unknown name or a value out of range.
        """
        self.require_steerable(name, value)
        current = getattr(self, name)
        if isinstance(current, Tensor):
            with torch.no_grad():
                current.fill_(float(value))  # in place, because the optimizer holds this very tensor
        else:
            setattr(self, name, type(current)(value))
