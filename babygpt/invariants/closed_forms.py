"""What codes that are added should be, by their formulas."""

from __future__ import annotations

import math

import torch

from babygpt.encodings import Fourier, Sinusoidal
from babygpt.encodings.rotary import turn
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt.invariants.base import Verdict
from babygpt.positions import Positions


def table_equals_closed_form(encoding: Sinusoidal) -> Verdict:
    """What the sinusoidal encoding adds is sin(m theta^(-2i/C)) and cos(m theta^(-2i/C))."""
    added = encoding.embed(torch.zeros(1, 64, encoding.n_embd), Positions.arange(64))[0]
    worst = 0.0
    for m in range(64):
        for i in range(encoding.n_embd // 2):
            angle = m / math.pow(encoding.theta, 2 * i / encoding.n_embd)
            worst = max(worst, abs(float(added[m, 2 * i]) - math.sin(angle)))
            worst = max(worst, abs(float(added[m, 2 * i + 1]) - math.cos(angle)))
    return Verdict("the table equals its closed form", worst, 1e-6)


@torch.inference_mode()
def branch_code_equals_closed_form(encoding: Fourier, n: int = 8) -> Verdict:
    """Branch b adds sin and cos of b stride theta^(-2i/C); with a band, i starts again after band channels.

    n  branches that are looked at
    """
    codes, band = encoding.code(torch.arange(n)), encoding.band or encoding.n_embd
    worst = 0.0
    for b in range(n):
        for channel in range(encoding.n_embd):
            i, odd = divmod(channel % band, 2)
            angle = b * encoding.stride / math.pow(encoding.theta, 2 * i / band)
            worst = max(worst, abs(float(codes[b, channel]) - (math.cos if odd else math.sin)(angle)))
    return Verdict("the branch code equals its closed form", worst, 1e-6)


def shift_is_rotation(width: int = 64, shift: int = 7, theta: float = 10_000.0) -> Verdict:
    """The sinusoid at m + shift is the sinusoid at m, each pair turned by -shift times its frequency.

    (Turned backwards, because a pair holds (sin, cos) and not (cos, sin).)
    """
    here, there = (sinusoid(torch.arange(100) + s, width, theta) for s in (0, shift))
    turned = turn(here, -shift * frequencies(width, theta))
    return Verdict("a shift is a rotation", float((turned - there).abs().max()), 1e-5)
