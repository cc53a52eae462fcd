"""RoPE stretched: frequencies against those that transformers computes, and what each method leaves alone."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from babygpt.encodings import Encoding, Interpolated, NTKAware, Rotary, YaRN
from babygpt.encodings.rotary_variants import ntk_theta, yarn_slowed, yarn_temperature
from babygpt.errors import BadInput
from babygpt.positions import Positions

DIMS = st.integers(2, 64).map(lambda pairs: 2 * pairs)
FACTORS = st.floats(1.0, 64.0)
THETAS = st.sampled_from([50.0, 500.0, 10_000.0, 1e6])
WINDOWS = st.sampled_from([64, 100, 512, 4096])
STRETCHED: dict[str, Callable[[int, float, float], Rotary]] = {
    "interpolation": lambda D, s, theta: Interpolated(D, s, theta),
    "ntk": lambda D, s, theta: NTKAware(D, s, theta),
    "yarn": lambda D, s, theta: YaRN(D, round(256 * s), s, theta),
}


def published(kind: str, D: int, factor: float, window: int, theta: float) -> tuple[torch.Tensor, float]:
    """Frequencies, and the factor of queries and keys, as transformers computes them for a Llama."""
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    rope = {
        "rope_type": kind,
        "rope_theta": theta,
        "factor": factor,
        "original_max_position_embeddings": window,
    }
    config = LlamaConfig(
        hidden_size=D, num_attention_heads=1, head_dim=D, max_position_embeddings=window, rope_parameters=rope
    )
    length = window if kind != "dynamic" else round(window * factor)
    if kind == "dynamic":
        config.rope_parameters["factor"] = 1.0  # then its base is stretched by length / window
    frequency, scale = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len=length)
    return frequency, float(scale)


@given(D=DIMS, factor=FACTORS, theta=THETAS, window=WINDOWS)
def test_interpolation_as_published(D: int, factor: float, theta: float, window: int) -> None:
    expected, _ = published("linear", D, factor, window, theta)
    torch.testing.assert_close(
        Interpolated(D, factor, theta).frequencies().float(), expected, rtol=1e-5, atol=0
    )


@given(D=DIMS, factor=st.integers(1, 64), theta=THETAS, window=WINDOWS)
def test_ntk_aware_as_published(D: int, factor: int, theta: float, window: int) -> None:
    expected, _ = published("dynamic", D, factor, window, theta)
    torch.testing.assert_close(NTKAware(D, factor, theta).frequencies().float(), expected, rtol=1e-5, atol=0)


@given(D=DIMS, factor=st.integers(1, 64), theta=THETAS, window=WINDOWS)
def test_yarn_as_published(D: int, factor: int, theta: float, window: int) -> None:
    low = D * math.log(window / (64 * math.pi)) / (2 * math.log(theta))
    assume(low >= 0 or window > 16)  # the pair that turns once exists
    expected, scale = published("yarn", D, factor, window, theta)
    encoding = YaRN(D, window * factor, factor, theta)
    torch.testing.assert_close(encoding.frequencies().float(), expected, rtol=1e-5, atol=0)
    assert yarn_temperature(factor) == pytest.approx(scale, abs=1e-12)


@pytest.mark.parametrize("method", STRETCHED)
@given(D=DIMS, theta=THETAS)
def test_a_factor_of_one_is_rope(method: str, D: int, theta: float) -> None:
    q = torch.randn(1, 1, 5, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    positions = Positions.arange(5, start=70)
    for got, plain in zip(
        STRETCHED[method](D, 1.0, theta).transform_qk(q, -q, positions),
        Rotary(D, theta).transform_qk(q, -q, positions),
        strict=True,
    ):
        torch.testing.assert_close(got, plain, rtol=0, atol=1e-10)


@given(D=DIMS, factor=FACTORS, theta=THETAS)
def test_interpolation_reads_position_m_as_m_over_factor(D: int, factor: float, theta: float) -> None:
    q = torch.randn(1, 1, 3, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    far = torch.tensor([0.0, 7.0, 4095.0], dtype=torch.float64)
    got = Interpolated(D, factor, theta).transform_qk(q, q, Positions(far))
    torch.testing.assert_close(
        got, Rotary(D, theta).transform_qk(q, q, Positions(far / factor)), rtol=0, atol=1e-10
    )


@given(D=DIMS, factor=FACTORS, theta=THETAS)
def test_ntk_leaves_the_quickest_pair_and_slows_the_slowest_by_the_factor(
    D: int, factor: float, theta: float
):
    share = Rotary(D, theta).frequencies() / NTKAware(D, factor, theta).frequencies()
    assert float(share[0]) == 1
    assert float(share[-1]) == pytest.approx(factor, rel=1e-10)
    assert bool((share.diff() >= -1e-12).all())  # the slower, the more


@given(D=DIMS, factor=FACTORS, theta=THETAS, window=WINDOWS)
def test_yarn_slows_what_never_turned_and_leaves_what_turned_often(
    D: int, factor: float, theta: float, window: int
) -> None:
    frequency = Rotary(D, theta).frequencies()
    turns = frequency * window / (2 * math.pi)
    slowed, step = yarn_slowed(D, window, theta), theta ** (2 / D)  # between neighbouring pairs' turns
    assert bool((slowed[turns < 1 / step] == 1).all())
    assert bool((slowed[turns > 32 * step] == 0).all())
    assert bool((slowed.diff() >= 0).all())


def test_yarn_in_our_window_by_hand() -> None:
    """Eight pairs, base 10 000, window 64: the first turns 10 times, the third once, the fourth never."""
    turns = Rotary(16).frequencies() * 64 / (2 * math.pi)
    assert [round(float(x), 2) for x in turns[:4]] == [10.19, 3.22, 1.02, 0.32]
    assert yarn_slowed(16, 64).tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1, 1, 1, 1, 1])


def test_yarn_sharpens_scores_by_the_square_of_its_temperature() -> None:
    q, k = torch.randn(2, 1, 1, 1, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    encoding, here = YaRN(16, 256, 4.0), Positions.arange(1)
    new_q, new_k = encoding.transform_qk(q, k, here)  # at position 0 nothing is turned
    assert float((new_q * new_k).sum()) == pytest.approx(float((q * k).sum()) * (1 + 0.1 * math.log(4)) ** 2)


@pytest.mark.parametrize("method", STRETCHED)
def test_a_factor_is_steered_like_a_new_encoding(method: str) -> None:
    steered, made = STRETCHED[method](16, 1.0, 10_000.0), STRETCHED[method](16, 4.0, 10_000.0)
    steered.steer("factor", 4)
    assert torch.equal(steered.frequencies(), made.frequencies())
    with pytest.raises(ValueError, match=r"factor \(0.5\) must be at least 1"):
        steered.steer("factor", 0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Interpolated(16, 0.5),
            r"factor \(0.5\) must be at least 1: 4 is for texts four times as long",
        ),
        (lambda: NTKAware(16, math.inf), r"factor \(inf\) must be a finite number"),
        (lambda: NTKAware(2, 4.0), r"head_dim \(2\) must be at least 4"),
        (lambda: YaRN(16, 0), r"block_size \(0\) must be at least 1"),
        (lambda: YaRN(16, 64, theta=0.5), r"theta \(0.5\) must be at least 1.001"),
        (lambda: ntk_theta(1e4, 16, math.nan), r"factor \(nan\) must be a finite number"),
    ],
)
def test_what_is_refused(make: Callable[[], Encoding | float], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make()
