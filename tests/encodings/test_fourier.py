"""The Fourier code of a branch against its formula, value by value."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.encodings import Fourier, Rotary, Rotary2D
from babygpt.encodings.fourier import fourier
from babygpt.positions import Positions

D, C = 8, 16
THETAS = st.floats(1.5, 1e6)
STRIDES = st.integers(1, 512)


def in_floats(position: int, channel: int, theta: float, band: int) -> float:
    """The note's formula; past `band` channels its frequencies begin again."""
    i = channel % band // 2
    angle = position * theta ** (-2 * i / band)
    return math.cos(angle) if channel % 2 else math.sin(angle)


@given(
    positions=st.lists(st.integers(0, 100_000), min_size=1, max_size=4),
    theta=THETAS,
    band=st.sampled_from([None, 2, 4, 6, 12, 24]),
)
def test_codes_are_the_notes_formula(positions: list[int], theta: float, band: int | None) -> None:
    got = fourier(torch.tensor(positions), 24, theta, band)
    assert got.dtype == torch.float32
    for row, position in zip(got.tolist(), positions, strict=True):
        expected = [in_floats(position, channel, theta, band or 24) for channel in range(24)]
        assert row == pytest.approx(expected, abs=1e-6)


@given(stride=STRIDES, theta=THETAS)
def test_branch_b_stands_at_b_strides(stride: int, theta: float) -> None:
    codes = Fourier(D, C, theta, stride=stride).code(torch.arange(8))
    for b in range(8):
        expected = [in_floats(b * stride, channel, theta, C) for channel in range(C)]
        assert codes[b].tolist() == pytest.approx(expected, abs=1e-6)


@given(width=st.integers(1, 20).map(lambda pairs: 2 * pairs), position=st.integers(0, 10**6))
def test_every_code_is_equally_long(width: int, position: int) -> None:
    assert fourier(torch.tensor([position]), width).square().sum().item() == pytest.approx(width / 2)


def test_positions_of_any_shape() -> None:
    position = torch.arange(12).view(2, 2, 3)
    got = fourier(position, C, band=4)
    assert got.shape == (2, 2, 3, C)
    assert torch.equal(got.flatten(0, 2), fourier(position.flatten(), C, band=4))


def test_it_is_added_by_branch_and_time_is_ropes() -> None:
    encoding, positions = Fourier(D, C), Positions(torch.tensor([0, 0, 1, 5]), torch.tensor([0, 1, 0, 3]))
    x, (q, k) = torch.randn(2, 4, C), (torch.randn(2, 2, 4, D) for _ in range(2))
    added = encoding.embed(x, positions) - x
    for t, b in enumerate(positions.branch.tolist()):
        assert torch.allclose(added[:, t], encoding.code(torch.tensor(b)), atol=1e-6)
    for got, expected in zip(
        encoding.transform_qk(q, k, positions), Rotary(D).transform_qk(q, k, positions), strict=True
    ):
        assert torch.equal(got, expected)
    assert encoding.score_bias(positions, positions) is None


def test_each_row_of_a_batch_has_its_own_branches() -> None:
    encoding, x = Fourier(D, C), torch.randn(2, 3, C)
    branch = torch.tensor([[0, 1, 2], [5, 5, 0]])
    together = encoding.embed(x, Positions(torch.zeros(2, 3), branch))
    for b in range(2):
        assert torch.equal(together[b], encoding.embed(x[b : b + 1], Positions(torch.zeros(3), branch[b]))[0])


# ---------------------------------------------------------------- learnable


@given(stride=STRIDES, theta=THETAS, band=st.sampled_from([None, 4]))
def test_learnable_begins_as_fixed(stride: int, theta: float, band: int | None) -> None:
    made = [Fourier(D, C, theta, 8 * stride, stride, learnable, band) for learnable in (False, True)]
    fixed, learned = (encoding.code(torch.arange(8)) for encoding in made)
    assert torch.equal(fixed, learned)


def test_only_learnable_is_trained_and_only_where_it_was_read() -> None:
    assert not list(Fourier(D, C).parameters())
    encoding = Fourier(D, C, max_positions=64, stride=16, learnable=True)
    assert tuple(encoding.table.shape) == (64, C)
    encoding.code(torch.tensor([0, 2])).sum().backward()
    assert encoding.table.grad.any(dim=1).nonzero()[:, 0].tolist() == [0, 32]


# ---------------------------------------------------------------- beside 2-D RoPE


@given(
    band=st.sampled_from([2, 4, 8]),
    stride=STRIDES,
    theta=THETAS,
    pair=st.tuples(st.integers(0, 7), st.integers(0, 7)),
)
def test_with_its_band_a_code_is_as_similar_as_a_turned_vector(
    band: int, stride: int, theta: float, pair: tuple[int, int]
) -> None:
    """2-D RoPE with all its pairs for the branch, on the same frequencies and stride."""
    branch = torch.tensor(pair)
    codes = Fourier(band, C, theta, stride=stride, band=band).code(branch).double()
    ones = torch.ones(1, 1, 2, band, dtype=torch.float64)
    positions = Positions(torch.zeros(2), branch)
    turned = Rotary2D(band, 1.0, theta, stride).transform_qk(ones, ones, positions)[1][0, 0]
    code, turn = (torch.cosine_similarity(*two, dim=0).item() for two in (codes, turned))
    assert code == pytest.approx(turn, abs=1e-6)


def test_without_it_the_two_are_not_alike() -> None:
    codes = Fourier(8, C).code(torch.tensor([0, 1])).double()
    ones = torch.ones(1, 1, 2, 8, dtype=torch.float64)
    turned = Rotary2D(8, 1.0, stride=128).transform_qk(
        ones, ones, Positions(torch.zeros(2), torch.arange(2))
    )[1]
    code, turn = (torch.cosine_similarity(*two, dim=0).item() for two in (codes, turned[0, 0]))
    assert abs(code - turn) > 0.01


# ---------------------------------------------------------------- bad arguments


@pytest.mark.parametrize("learnable", [False, True])
@pytest.mark.parametrize(("branch", "position"), [(4, 400), (7, 700), (-1, -100)])
def test_a_branch_beyond_the_table_is_refused(learnable: bool, branch: int, position: int) -> None:
    encoding = Fourier(D, C, max_positions=400, stride=100, learnable=learnable)
    encoding.code(torch.arange(4))
    with pytest.raises(ValueError, match=f"position {position} is not in the table: it has 0 to 399"):
        encoding.code(torch.tensor([0, branch]))


def test_the_last_position_of_the_table_is_there() -> None:
    for learnable in (False, True):
        Fourier(D, C, max_positions=301, stride=100, learnable=learnable).code(torch.tensor(3))


@pytest.mark.parametrize("name", ["stride", "max_positions"])
@pytest.mark.parametrize("number", [0, -1, 1.5, math.nan, math.inf])
def test_a_stride_or_table_that_is_none_is_named(name: str, number: float) -> None:
    with pytest.raises(ValueError, match=rf"{name} \({number}\) must be a whole number of at least 1"):
        Fourier(D, C, **{name: number})


@pytest.mark.parametrize("band", [0, -2, 3, 1, 6, 32])
def test_a_band_that_does_not_fit_is_refused_at_once(band: int) -> None:
    """Odd ones, those that do not divide the width, those wider than it."""
    with pytest.raises(ValueError, match=rf"\({band}\).* must be even"):
        Fourier(D, C, max_positions=64, band=band)


def test_odd_sizes_and_absurd_theta_are_refused_at_once() -> None:
    for head_dim, width in ((7, C), (D, 15)):
        with pytest.raises(ValueError, match="must be even"):
            Fourier(head_dim, width)
    with pytest.raises(ValueError, match=r"theta \(-1"):
        Fourier(D, C, theta=-1)
