"""The four hooks through which an encoding meets a model. An encoding without any of them is NoPE."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from babygpt.config import require_kind
from babygpt.errors import BadInput
from babygpt.positions import Positions

LARGEST_WHOLE = 2**53  # above it a float does not hold every whole number, and int64 soon ends


def norm(x: Tensor) -> Tensor:
    """Normalise the last axis to a root mean square of 1: RMSNorm without parameters."""
    return torch.rms_norm(x, (x.shape[-1],))


def distances(queries: Positions, keys: Positions) -> Tensor:
    """Return how far each key lies behind each query, in tokens: (Tq, Tk) or (B, Tq, Tk), negative ahead."""
    return queries.time[..., :, None] - keys.time[..., None, :]


def by_distance(queries: Positions, keys: Positions, function: Callable[[Tensor], Tensor]) -> Tensor:
    """Return a function of the distance of each key behind each query: (H or 1, Tq, Tk), or B before it.

    In texts without gaps it is computed once for each of the Tq + Tk - 1 distances, and not for each pair.

    function  maps (B|, m, n) distances to (B|, H or 1, m, n)
    """
    if not (queries.in_a_row and keys.in_a_row):
        return function(distances(queries, keys))
    # The query before the last has the distances that the last one has to keys one position further on.
    reached = keys.time[0] + torch.arange(len(queries) + len(keys) - 1, device=keys.device)
    longest = function((queries.time[-1] - reached)[None])[..., 0, :]  # (H|1, Tq + Tk - 1)
    return longest.unfold(-1, len(keys), 1).flip(-2)


@dataclass(frozen=True)
class Number:
    """One row of an encoding's table of numbers: a number that `steer` may set, and the values it may have.

    least    the smallest value
    above    a value that it must exceed
    integer  whether it counts something, and so must be whole
    """

    least: float = -math.inf
    above: float = -math.inf
    integer: bool = False

    def valid(self, name: str, value: Any) -> float:
        """Return a value as a float, or as an int where it counts. Raises BadInput if it may not be set."""
        require_kind(name, value, float)
        number = float(value)
        if not math.isfinite(number):
            raise BadInput(f"{name} ({value}) must be a finite number")
        if self.integer and not number.is_integer():
            raise BadInput(f"{name} ({value}) must be a whole number")
        if self.integer and abs(number) > LARGEST_WHOLE:
            raise BadInput(f"{name} ({value}) must be at most 2^53")
        if number < self.least:
            raise BadInput(f"{name} ({value}) must be at least {self.least:g}")
        if number <= self.above:
            raise BadInput(f"{name} ({value}) must be above {self.above:g}")
        return int(number) if self.integer else number


THETA = Number(above=0)


def frequencies(width: int, theta: float = 10_000.0) -> Tensor:
    """Return the angular frequency of each pair of channels, theta^(-2i/width).

    width     channels, even
    theta     base; the slowest pair is about theta times slower than the fastest
    returns   (width / 2,)  radians per token, from 1 downwards
    Raises BadInput if width is odd or below 2, or theta is not above 0.
    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.5.
    """
    if width < 2 or width % 2:
        raise BadInput(f"width ({width}) must be even: sines and cosines, and rotations, come in pairs")
    if not (isinstance(theta, float) and 0 < theta < math.inf):
        THETA.valid("theta", theta)  # takes other kinds of numbers, and says what is wrong
    return theta ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)


def high_precision(position: Tensor) -> Tensor:
    """Return positions in float64, so that an angle is still exact at the millionth token.

    float32 holds 24 bits. An angle of 10^6 radians uses 20 of them before the binary point, so its cosine
    would be wrong by up to 0.03. MPS has no float64: there that error remains.
    """
    return position.float() if position.device.type == "mps" else position.double()


class Encoding(nn.Module):
    """No position encoding (NoPE), and the base of every other encoding.

    A subclass overrides the hooks that it needs: `embed`, `transform_qk`, `score_bias`, `content_bias`. One
    encoding serves all layers. `PerLayer` holds one for each.

    max_positions  the number of positions that it knows, or None if it takes any
    numbers        its table of numbers: name -> the values that `steer` accepts. Each is an attribute: a
                   number, or a parameter or buffer, all of whose entries get one value
    for_branches   whether it is made for several texts in one sequence
    for_masks      whether the model of a class from outside fills in masked tokens, and so looks both ways
    cacheable      whether keys stay as they are when the text grows, so that a cache may hold them
    separable      whether `score_bias` is a term of the query plus a term of the key, where the key is no
                   later than the query. The softmax cancels the query's. A subclass with another bias has to
                   say it again
    sees_earlier   whether `embed` reads tokens other than the one it adds to. It then gets all tokens up to
                   the new ones, also when a cache holds the earlier ones

    Source: NoPE after Kazemnejad et al. 2023, arXiv:2305.19466.
    """

    max_positions: int | None = None
    numbers: ClassVar[Mapping[str, Number]] = {}
    for_branches: bool = False
    for_masks: bool = False
    cacheable: bool = True
    separable: bool = False
    sees_earlier: bool = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "score_bias" in vars(cls) and "separable" not in vars(cls):
            cls.separable = False  # what holds for the bias of a base need not hold for this one

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        """Add to the token embeddings: (B, T, C) -> (B, T, C)."""
        return x

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        """Change queries and keys before their dot product: (B, H, T, D) each, both at `positions`."""
        return q, k

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor | None:
        """Return a term to add to the scores: None, or (H or 1, Tq, Tk), after B where positions have a B."""
        return None

    def content_bias(self, q: Tensor, k: Tensor, queries: Positions, keys: Positions) -> Tensor | None:
        """Return a term to add to the scores that depends on what queries and keys hold.

        q, k           (B, H, Tq, E), (B, H, Tk, E)  as `transform_qk` left them, keys of a cache included
        queries, keys  their positions
        returns        None; (B, H or 1, Tq, Tk); or (B, H or 1, 1, Tk), a term of each key alone
        """
        return None

    def of_layer(self, layer: int) -> Encoding:
        """Return the encoding of layer number `layer`, counted from 0: this one, in every layer."""
        return self

    # ---------------------------------------------------------------- numbers that a slider sets

    def steerable(self) -> list[str]:
        """Return the names of the numbers that `steer` may set, in alphabetical order."""
        return sorted(self.numbers)

    def require_number(self, name: str) -> None:
        """Raise BadInput unless `name` is one of the encoding's numbers, such as theta."""
        if name not in self.steerable():
            has = ", ".join(self.steerable()) or "none"
            raise BadInput(f"{type(self).__name__} has no number called {name!r} to steer; it has {has}")

    def require_steerable(self, name: str, value: float, branches: int = 2) -> None:
        """Raise BadInput unless `steer` may set a number to `value`. Change nothing.

        branches  number of texts that a sequence may hold
        """
        self.require_number(name)
        self.numbers[name].valid(name, value)

    def steer(self, name: str, value: float) -> None:
        """Set one of the encoding's numbers between two steps of training.

        Raises BadInput, before anything is changed, for an unknown name or a value out of range.
        """
        self.require_steerable(name, value)
        current = getattr(self, name)
        if isinstance(current, Tensor):
            with torch.no_grad():
                current.fill_(float(value))  # the optimizer holds this very tensor, so it is changed in place
        else:
            setattr(self, name, self.numbers[name].valid(name, value))
