"""RoPE against complex numbers: pair i is one number, and turning it is a product."""

import math

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from babygpt.config import ModelConfig
from babygpt.encodings.rotary import Rotary, Rotary2D, rotate
from babygpt.errors import BadInput
from babygpt.models.versions import build
from babygpt.positions import Positions

DIMS = st.integers(1, 32).map(lambda pairs: 2 * pairs)
THETAS = st.floats(1.5, 1e6)
POSITIONS = st.integers(0, 4000)


def as_complex(x: torch.Tensor) -> np.ndarray:
    """Return channels (2i, 2i+1) as the number x[2i] + j x[2i+1], in double precision."""
    x = x.double().numpy()
    return x[..., 0::2] + 1j * x[..., 1::2]


def turned(x: torch.Tensor, position: np.ndarray, theta: float = 10_000.0) -> np.ndarray:
    """Return x times exp(j m theta^(-2i/D)): (..., T, D) and (T,) to complex (..., T, D/2)."""
    D = x.shape[-1]
    speed = np.array([theta ** (-2 * i / D) for i in range(D // 2)])
    return as_complex(x) * np.exp(1j * np.asarray(position, dtype=float)[..., None] * speed)


def heads(D: int, T: int = 1, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, ...]:
    draw = torch.Generator().manual_seed(0)
    return tuple(torch.randn(2, 3, T, D, generator=draw, dtype=dtype) for _ in range(2))


@pytest.mark.parametrize(("dtype", "limit"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@given(D=DIMS, theta=THETAS, start=st.integers(0, 100_000))
@example(D=8, theta=1e4, start=10_000_001)  # a float32 angle would be off by half a radian
def test_rotation_is_a_complex_product(dtype: torch.dtype, limit: float, D: int, theta: float, start: int):
    x, _ = heads(D, 5, dtype)
    position = torch.arange(start, start + 5)
    got = rotate(x, position, theta)
    assert got.dtype == dtype
    assert np.abs(as_complex(got) - turned(x, position.numpy(), theta)).max() < limit


def test_neighbours_make_a_pair_and_turn_anticlockwise() -> None:
    """Expect the interleaved layout: channel 0 turns towards channel 1, channel 2 towards 3."""
    x = torch.eye(4, dtype=torch.float64)[[0, 2]].view(1, 1, 2, 4)
    first, second = rotate(x, torch.tensor([1, 1]), theta=100.0)[0, 0].tolist()
    assert first == pytest.approx([math.cos(1), math.sin(1), 0, 0])
    assert second == pytest.approx([0, 0, math.cos(0.1), math.sin(0.1)])


def test_module_rotates_queries_and_keys_by_equal_angles() -> None:
    q, k = heads(8, 5)
    positions = Positions.arange(5, start=2)
    new_q, new_k = Rotary(8, theta=30.0).transform_qk(q, k, positions)
    for old, new in ((q, new_q), (k, new_k)):
        assert np.abs(as_complex(new) - turned(old, np.arange(2, 7), 30.0)).max() < 1e-10


def test_channels_need_not_be_contiguous_in_memory() -> None:
    """Slice and transpose: complex numbers need both channels of a pair side by side in memory."""
    whole = torch.randn(2, 9, 3, 18, generator=torch.Generator().manual_seed(0))
    for x in (whole[..., 1:9], whole[..., ::2][..., :8], whole.transpose(1, 3)[:, :8, :, :8]):
        position = torch.arange(x.shape[-2])
        assert torch.equal(rotate(x, position), rotate(x.clone().contiguous(), position))


# ---------------------------------------------------------------- two coordinates


@given(
    pairs=st.integers(2, 12),
    share=st.sampled_from([0, 0.25, 0.3, 0.5, 0.7, 1]),
    stride=st.floats(0.1, 50),
    theta=THETAS,
)
def test_2d_turns_some_pairs_by_branch_others_by_time(pairs: int, share: float, stride: float, theta: float):
    q, k = heads(2 * pairs, 4)
    time, branch = torch.tensor([3, 4, 9, 9]), torch.tensor([0, 2, 1, 5])
    new_q, _ = Rotary2D(2 * pairs, share, theta, stride).transform_qk(q, k, Positions(time, branch))
    n = math.floor(share * pairs + 0.5)  # pairs for the branch, and the first ones
    by_branch = turned(q[..., : 2 * n], branch.numpy() * stride, theta)
    by_time = turned(q[..., 2 * n :], time.numpy(), theta)
    expected = np.concatenate([by_branch, by_time], axis=-1)
    assert np.abs(as_complex(new_q) - expected).max() < 1e-9


def test_2d_rounds_half_a_pair_up() -> None:
    """Round up: rounding to even would give two pairs to the branch, out of three and out of five."""
    for head_dim, width in [(4, 2), (6, 4), (8, 4), (10, 6), (14, 8), (16, 8), (24, 12), (32, 16)]:
        assert Rotary2D(head_dim).branch_width == width


def test_2d_refuses_a_share_that_leaves_no_pair() -> None:
    """Refuse such a share: all branches, or all times, would have equal keys without an error."""
    for head_dim, share, what in (
        (2, 0.5, "time"),
        (2, 0.4, "the branch"),
        (8, 0.1, "the branch"),
        (8, 0.9, "time"),
    ):
        with pytest.raises(BadInput, match=rf"branch_share \({share}\) of {head_dim // 2} .* for {what}"):
            Rotary2D(head_dim, share)
    with pytest.raises(BadInput, match="leaves none"):
        build("v6-rope2d", ModelConfig(11, 16, 1, 8, 16))
