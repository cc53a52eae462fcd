"""What gates multiply a key by, as an array."""

from __future__ import annotations

from functools import singledispatch

import torch
from torch import Tensor

from babygpt.encodings.base import Encoding
from babygpt.encodings.polar import LearnedPhase, Polar, PoPE, Quadrature, Waves
from babygpt.errors import BadInput
from babygpt.positions import Positions


@singledispatch
def gates_of(encoding: Encoding, positions: Positions) -> Tensor:
    """What multiplies the keys, before any norm.

    positions (T,), with `masked` (1, T): alpha multiplies the rows that are MASK
    returns  (H or 1, T, D), or (H or 1, T, 2 D) with the sines after the cosines
    Raises ValueError for an encoding that has no gates.
    """
    raise BadInput(f"{type(encoding).__name__} has no gates; v7, v7-polar and its repairs, and v7-pope have")


@gates_of.register
def _(encoding: Polar, positions: Positions) -> Tensor:
    return (encoding.gate(positions) * encoding.state(positions))[0]


@gates_of.register
def _(encoding: Quadrature, positions: Positions) -> Tensor:
    return (spread(encoding, encoding.wave(positions)[None]) * encoding.state(positions))[0]


@gates_of.register
def _(encoding: LearnedPhase, positions: Positions) -> Tensor:
    ahead = encoding.wave(positions) + encoding.delta[:, None]  # (H, T, D)
    return spread(encoding, ahead) * encoding.state(positions)[0]


@gates_of.register
def _(encoding: PoPE, positions: Positions) -> Tensor:
    return spread(encoding, encoding.wave(positions) + encoding.delta[:, None])


def spread(encoding: Waves, wave: Tensor) -> Tensor:
    """Cosines, and sines after them: (..., T, D) -> (..., T, 2 D)."""
    return encoding.spread(torch.ones_like(wave), wave)


def phases_of(encoding: Encoding) -> Tensor | None:
    """The phases that an encoding learns, radians: (H or 1, D), or None if it learns none."""
    for name in ("delta", "phi"):
        phase: Tensor | None = getattr(encoding, name, None)
        if phase is not None:
            return phase.view(-1, phase.shape[-1])
    return None
