"""The table against its formula in plain Python, and a shift against a rotation matrix."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.encodings.sinusoidal import Sinusoidal, frequencies, sinusoid
from babygpt.positions import Positions

WIDTHS = st.integers(1, 40).map(lambda pairs: 2 * pairs)
THETAS = st.floats(1.5, 1e6)


def closed_form(m: int, width: int, theta: float) -> list[float]:
    """Compute section 3.5 of the paper, one number at a time."""
    return [(math.cos if c % 2 else math.sin)(m / theta ** (2 * (c // 2) / width)) for c in range(width)]


@given(m=st.integers(0, 100_000), width=WIDTHS, theta=THETAS)
def test_table_equals_closed_form(m: int, width: int, theta: float) -> None:
    for got, base in (
        (sinusoid(torch.tensor(m), width, theta), theta),
        (sinusoid(torch.tensor(m), width), 1e4),
    ):
        assert got.tolist() == pytest.approx(closed_form(m, width, base), abs=1e-6)


@given(width=WIDTHS, theta=THETAS)
def test_frequencies_fall_from_one_in_equal_ratios(width: int, theta: float) -> None:
    got = frequencies(width, theta).tolist()
    assert got == pytest.approx([theta ** (-2 * i / width) for i in range(width // 2)], rel=1e-12)
    assert got[0] == 1.0


@given(m=st.integers(0, 2000), shift=st.integers(-2000, 2000), theta=THETAS)
def test_a_shift_is_a_rotation(m: int, shift: int, theta: float) -> None:
    """Multiply the (sin, cos) pair at m by a matrix that depends on s alone: it becomes the pair at m + s."""
    m = max(m, -shift)
    here, there = (sinusoid(torch.tensor(p), 8, theta).numpy().reshape(4, 2) for p in (m, m + shift))
    for i in range(4):
        a = shift * theta ** (-2 * i / 8)
        matrix = np.array([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]])
        assert np.abs(matrix @ here[i] - there[i]).max() < 1e-6


def test_embed_adds_the_row_of_each_position() -> None:
    x = torch.randn(2, 4, 6)
    added = Sinusoidal(6, theta=50.0).embed(x, Positions.arange(4, start=9)) - x
    for t in range(4):
        assert added[1, t].tolist() == pytest.approx(closed_form(9 + t, 6, 50.0), abs=1e-6)
    for dtype in (torch.bfloat16, torch.float32, torch.float64):
        assert Sinusoidal(6).embed(torch.zeros(1, 2, 6, dtype=dtype), Positions.arange(2)).dtype == dtype
