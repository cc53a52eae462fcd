"""Codes of branches: the Fourier code against its formula, value by value, and the controls beside it."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.encodings import Fourier, LearnedBranches, RandomBranches, Rotary, Rotary2D
from babygpt.encodings.fourier import fourier
from babygpt.errors import BadInput
from babygpt.positions import Positions

D, C = 8, 16
THETAS = st.floats(1.5, 1e6)
STRIDES = st.integers(1, 512)
CODES = {"fourier": Fourier, "learned": LearnedBranches, "random": RandomBranches}


def in_floats(position: int, channel: int, theta: float, band: int) -> float:
    """Compute the note's formula. After `band` channels its frequencies begin again."""
    i = channel % band // 2
    angle = position * theta ** (-2 * i / band)
    return math.cos(angle) if channel % 2 else math.sin(angle)


@given(
    positions=st.lists(st.integers(0, 100_000), min_size=1, max_size=4),
    theta=THETAS,
    band=st.sampled_from([None, 2, 4, 6, 12, 24]),
)
def test_codes_equal_the_notes_formula(positions: list[int], theta: float, band: int | None) -> None:
    got = fourier(torch.tensor(positions), 24, theta, band)
    assert got.dtype == torch.float32
    assert torch.equal(fourier(torch.tensor([[positions]]), 24, theta, band), got[None, None])
    for row, position in zip(got.tolist(), positions, strict=True):
        expected = [in_floats(position, channel, theta, band or 24) for channel in range(24)]
        assert row == pytest.approx(expected, abs=1e-6)
        assert sum(x * x for x in row) == pytest.approx(12)  # all codes have one length


@given(stride=STRIDES, theta=THETAS)
def test_branch_b_has_position_b_times_stride(stride: int, theta: float) -> None:
    codes = Fourier(D, C, theta, stride=stride).code(torch.arange(8))
    for b in range(8):
        expected = [in_floats(b * stride, channel, theta, C) for channel in range(C)]
        assert codes[b].tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", CODES)
def test_every_code_adds_its_branchs_vector_and_encodes_time_by_rope(name: str) -> None:
    encoding, x = CODES[name](D, C), torch.randn(2, 4, C)
    branch, time = torch.tensor([[0, 1, 1, 2], [7, 0, 0, 3]]), torch.tensor([0, 0, 4, 9])
    positions = Positions(time, branch)
    assert torch.allclose(encoding.embed(x, positions), x + encoding.code(branch), atol=1e-6)
    q, k = torch.randn(2, 2, 2, 4, D)
    expected = Rotary(D).transform_qk(q, k, Positions(time))
    for got, turned in zip(encoding.transform_qk(q, k, positions), expected, strict=True):
        assert torch.equal(got, turned)
    assert torch.pdist(encoding.code(torch.arange(8)).detach()).min() > 0.01


# ---------------------------------------------------------------- tables


@given(stride=STRIDES, theta=THETAS, band=st.sampled_from([None, 4]))
def test_a_learnable_code_begins_as_the_fixed_one(stride: int, theta: float, band: int | None) -> None:
    encodings = [Fourier(D, C, theta, 8 * stride, stride, learnable, band) for learnable in (False, True)]
    fixed, learned = (encoding.code(torch.arange(8)) for encoding in encodings)
    assert torch.equal(fixed, learned)


def test_only_a_learnable_code_is_trained_and_only_in_rows_that_were_read() -> None:
    assert not list(Fourier(D, C).parameters())
    encoding = Fourier(D, C, max_positions=64, stride=16, learnable=True)
    assert tuple(encoding.table.shape) == (64, C)
    encoding.code(torch.tensor([0, 2])).sum().backward()
    assert encoding.table.grad.any(dim=1).nonzero()[:, 0].tolist() == [0, 32]


def test_random_codes_are_as_long_as_fourier_codes_on_average() -> None:
    table = RandomBranches(D, 64, max_branches=2000).table
    assert table.square().sum(dim=1).mean().item() == pytest.approx(32.0, rel=0.02)


def test_learned_codes_begin_different_and_hardly_longer_than_nothing() -> None:
    """A code of a sine has a mean square of 1/2, and an embedding 1."""
    table = LearnedBranches(D, 64, max_branches=2000).table
    assert 0 < table.square().mean().item() < 0.001


# ---------------------------------------------------------------- beside 2-D RoPE


def similarities(band: int, theta: float, stride: int, own_band: int | None, pair: list[int]) -> list[float]:
    """Return the cosine of two branches' Fourier codes, and of a vector that 2-D RoPE turned by each."""
    branch, ones = torch.tensor(pair), torch.ones(1, 1, 2, band, dtype=torch.float64)
    codes = Fourier(band, C, theta, stride=stride, band=own_band).code(branch).double()
    turned = Rotary2D(band, 1.0, theta, stride).transform_qk(ones, ones, Positions(torch.zeros(2), branch))
    return [torch.cosine_similarity(*two, dim=0).item() for two in (codes, turned[1][0, 0])]


@given(
    band=st.sampled_from([2, 4, 8]),
    stride=STRIDES,
    theta=THETAS,
    pair=st.lists(st.integers(0, 7), min_size=2, max_size=2),
)
def test_with_one_band_fourier_codes_are_as_similar_as_turned_vectors(
    band: int, stride: int, theta: float, pair: list[int]
) -> None:
    code, turn = similarities(band, theta, stride, band, pair)
    assert code == pytest.approx(turn, abs=1e-6)
    code, turn = similarities(8, 1e4, 128, None, [0, 1])  # the test can fail: other bands differ
    assert abs(code - turn) > 0.01


# ---------------------------------------------------------------- bad arguments


@pytest.mark.parametrize("version", ["v6", "v6-learned", "v6-random", "v6-rope2d"])
def test_a_model_of_branches_needs_the_branch_of_each_token(awake, text, version: str) -> None:
    with pytest.raises(ValueError, match=r"positions\.branch"):
        awake(version)(text(1, 4))


@pytest.mark.parametrize("learnable", [False, True])
def test_fourier_refuses_a_branch_beyond_the_table(learnable: bool) -> None:
    encoding = Fourier(D, C, max_positions=301, stride=100, learnable=learnable)
    encoding.code(torch.arange(4))  # the last of them reads the last row
    for branch in (4, 7, -1):
        message = rf"position {100 * branch} .* 0 to 300 \(branch {branch} at stride 100\)"
        with pytest.raises(BadInput, match=message):
            encoding.code(torch.tensor([0, branch]))
    encoding.steer("stride", 150)
    with pytest.raises(BadInput, match="position 450 "):
        encoding.code(torch.tensor([0, 3]))


@pytest.mark.parametrize("make", [LearnedBranches, RandomBranches])
def test_tables_refuse_a_branch_without_a_row(make) -> None:
    for branch in (3, -1):
        with pytest.raises(BadInput, match=f"position {branch} is not in the table: it has 0 to 2"):
            make(D, C, max_branches=3).code(torch.tensor([0, branch]))
