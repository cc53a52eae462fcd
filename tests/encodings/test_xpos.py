"""xPos against complex numbers: each pair's part of a score turns with the distance, and fades with it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.encodings import Rotary, XPos
from babygpt.encodings.rotary_variants import fading
from babygpt.errors import BadInput
from babygpt.positions import Positions

DIMS = st.integers(1, 32).map(lambda pairs: 2 * pairs)
D = 16


def pair_scores(q: torch.Tensor, k: torch.Tensor, distance: int, scale_base: float) -> np.ndarray:
    """Each pair's part of the score in closed form: Re(q k* e^(i omega d)) zeta^(d / scale_base)."""
    q_, k_ = (x.double().numpy()[0::2] + 1j * x.double().numpy()[1::2] for x in (q, k))
    i = np.arange(len(q_))
    omega, zeta = 10_000.0 ** (-i / len(q_)), (i / len(q_) + 0.4) / 1.4
    return (q_ * k_.conj() * np.exp(1j * omega * distance)).real * zeta ** (distance / scale_base)


@given(
    D=DIMS, n=st.integers(0, 3000), distance=st.integers(0, 500), base=st.sampled_from([64.0, 100.0, 512.0])
)
def test_a_score_turns_and_fades_with_the_distance(D: int, n: int, distance: int, base: float) -> None:
    q, k = torch.randn(2, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    ends = Positions(torch.tensor([n + distance, n]))
    new_q, new_k = XPos(D, base).transform_qk(*(x.expand(1, 1, 2, D) for x in (q, k)), ends)
    got = (new_q[0, 0, 0] * new_k[0, 0, 1]).view(-1, 2).sum(dim=1)
    expected = pair_scores(q, k, distance, base)
    assert np.abs(got.numpy() - expected).max() < 1e-10 * max(1.0, float(np.abs(expected).max()))


def test_a_very_large_scale_base_is_rope() -> None:
    q = torch.randn(1, 1, 9, D, generator=torch.Generator().manual_seed(0))
    positions = Positions.arange(9)
    torch.testing.assert_close(
        XPos(D, 1e9).transform_qk(q, q, positions), Rotary(D).transform_qk(q, q, positions)
    )


def test_the_quickest_pair_fades_most() -> None:
    left = fading(D)
    assert float(left[0]) == pytest.approx(2 / 7)
    assert bool((left.diff() > 0).all())
    assert float(left[-1]) < 1


def test_positions_end_before_numbers_do() -> None:
    encoding = XPos(D, 32.0)
    last = encoding.max_positions - 1
    q = torch.ones(1, 1, 1, D)
    for x in encoding.transform_qk(q, q, Positions(torch.tensor([last]))):
        assert bool(x.isfinite().all())
    for positions in (Positions.arange(2, last), Positions(torch.tensor([last + 1]))):
        q = torch.ones(1, 1, len(positions), D)
        with pytest.raises(
            BadInput, match=rf"position {last + 1} is beyond xPos with scale_base 32: .* 0 to {last}"
        ):
            encoding.transform_qk(q, q, positions)


@pytest.mark.parametrize("scale_base", [0.0, -3.0, 0.5])
def test_a_scale_base_is_at_least_one_token(scale_base: float) -> None:
    with pytest.raises(BadInput, match=rf"scale_base \({scale_base}\) must be at least 1 token"):
        XPos(D, scale_base)
