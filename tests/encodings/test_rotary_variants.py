"""Variants of RoPE: frequencies against those of the transformers library, scores against closed forms."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.encodings import (
    DynamicNTK,
    Interpolated,
    NTKAware,
    PartialRotary,
    PerLayer,
    Rotary,
    YaRN,
)
from babygpt.encodings.rotary import angles_at, rotate, rotate_pairs
from babygpt.encodings.rotary_variants import yarn_slowed, yarn_temperature
from babygpt.errors import BadInput
from babygpt.positions import Positions

D = 16
DIMS = st.integers(2, 64).map(lambda pairs: 2 * pairs)
FACTORS = st.floats(1.0, 64.0)
THETAS = st.sampled_from([50.0, 500.0, 10_000.0, 1e6])
WINDOWS = st.sampled_from([64, 100, 512, 4096])
SHARES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.99, 1.0])
STRETCHED: dict[str, Callable[[int, float, float], Rotary]] = {
    "interpolation": lambda D, s, theta: Interpolated(D, s, theta),
    "ntk": lambda D, s, theta: NTKAware(D, s, theta),
    "yarn": lambda D, s, theta: YaRN(D, round(256 * s), s, theta),
}


def published(
    kind: str, D: int, theta: float, window: int = 64, length: int | None = None, **rope: float
) -> tuple[torch.Tensor, float]:
    """Return frequencies, and the factor of queries and keys, as transformers computes them for a Llama."""
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    rope = {"rope_type": kind, "rope_theta": theta, "original_max_position_embeddings": window, **rope}
    if kind == "dynamic" and length is None:  # A factor of 1 stretches its base by length / window.
        length, rope["factor"] = round(window * rope["factor"]), 1.0
    config = LlamaConfig(
        hidden_size=D, num_attention_heads=1, head_dim=D, max_position_embeddings=window, rope_parameters=rope
    )
    frequency, scale = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len=length)
    return frequency, float(scale)


def assert_frequencies(encoding: Rotary, expected: torch.Tensor) -> None:
    torch.testing.assert_close(encoding.frequencies().float(), expected, rtol=1e-5, atol=0)


def random_heads(T: int, D: int = D) -> torch.Tensor:
    return torch.randn(1, 1, T, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@given(D=DIMS, factor=st.integers(1, 64), theta=THETAS, window=WINDOWS, share=SHARES)
def test_frequencies_are_the_published_ones(D: int, factor: int, theta: float, window: int, share: float):
    """Compare partial RoPE with the proportional kind, of Gemma 4."""
    partial, _ = published("proportional", D, theta, partial_rotary_factor=share)
    assert_frequencies(PartialRotary(D, share, theta), partial)
    assert_frequencies(
        Interpolated(D, factor, theta), published("linear", D, theta, window, factor=factor)[0]
    )
    assert_frequencies(NTKAware(D, factor, theta), published("dynamic", D, theta, window, factor=factor)[0])


@given(D=DIMS, factor=st.integers(1, 8), theta=THETAS, window=WINDOWS, length=st.integers(1, 20_000))
def test_dynamic_ntk_is_the_published_one(
    D: int, factor: int, theta: float, window: int, length: int
) -> None:
    """Compare with transformers, and with the formula that its documentation gives."""
    encoding = DynamicNTK(D, window * factor, factor, theta)
    base = theta * max(1, factor * length / window - (factor - 1)) ** (D / (D - 2))
    expected = base ** -(torch.arange(0, D, 2, dtype=torch.float64) / D)
    torch.testing.assert_close(encoding.frequencies(length), expected)
    library, _ = published("dynamic", D, theta, window, length, factor=float(factor))
    torch.testing.assert_close(encoding.frequencies(length).float(), library, rtol=1e-5, atol=0)


def test_dynamic_ntk_turns_by_the_length_of_the_text_and_refuses_a_part_of_a_long_one() -> None:
    encoding, q = DynamicNTK(D, 64, 4.0), random_heads(20)
    assert encoding.window == 16
    for times in (Positions.arange(20), Positions(torch.arange(20))):
        turned, _ = encoding.transform_qk(q, q, times)
        torch.testing.assert_close(turned, rotate_pairs(q, angles_at(times.time, encoding.frequencies(20))))
    short, _ = encoding.transform_qk(q[:, :, :16], q[:, :, :16], Positions.arange(16))
    torch.testing.assert_close(short, rotate(q[:, :, :16], torch.arange(16)))
    with pytest.raises(BadInput, match=r"positions 16 to 16 reach past the window in training \(16\)"):
        encoding.transform_qk(q[:, :, :1], q[:, :, :1], Positions.arange(1, start=16))
    assert not PerLayer([Rotary(D), encoding]).cacheable


@given(D=DIMS, factor=st.integers(1, 64), theta=THETAS, window=st.integers(7, 4096))
def test_yarn_is_the_published_one(D: int, factor: int, theta: float, window: int) -> None:
    expected, scale = published("yarn", D, theta, window, factor=factor)
    assert_frequencies(YaRN(D, window * factor, factor, theta), expected)
    assert yarn_temperature(factor) == pytest.approx(scale, abs=1e-12)


# ---------------------------------------------------------------- partial RoPE


@given(share=SHARES, distance=st.integers(0, 5000))
def test_pairs_that_do_not_turn_stay_as_they_are(share: float, distance: int) -> None:
    q, positions, turning = random_heads(2), Positions(torch.tensor([0, distance])), 2 * int(share * D / 2)
    partial, full = (e.transform_qk(q, q, positions)[0] for e in (PartialRotary(D, share), Rotary(D)))
    assert torch.equal(partial[..., turning:], q[..., turning:])
    assert torch.equal(partial[..., :turning], full[..., :turning])


# ---------------------------------------------------------------- xPos


def pair_scores(q: torch.Tensor, k: torch.Tensor, distance: int, scale_base: float) -> np.ndarray:
    """Return each pair's part of the score in closed form: Re(q k* e^(i omega d)) zeta^(d / scale_base)."""
    q_, k_ = (x.double().numpy()[0::2] + 1j * x.double().numpy()[1::2] for x in (q, k))
    i = np.arange(len(q_))
    omega, zeta = 10_000.0 ** (-i / len(q_)), (i / len(q_) + 0.4) / 1.4
    return (q_ * k_.conj() * np.exp(1j * omega * distance)).real * zeta ** (distance / scale_base)


# ---------------------------------------------------------------- beyond the window


@given(D=DIMS, factor=FACTORS, theta=THETAS)
def test_interpolation_reads_position_m_as_m_over_factor(D: int, factor: float, theta: float) -> None:
    q, far = random_heads(3, D), torch.tensor([0.0, 7.0, 4095.0], dtype=torch.float64)
    got = Interpolated(D, factor, theta).transform_qk(q, q, Positions(far))
    expected = Rotary(D, theta).transform_qk(q, q, Positions(far / factor))
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-10)


def test_yarn_slows_pairs_as_computed_by_hand() -> None:
    """Take eight pairs and base 10 000: the first turns 10 times, the third once, the fourth never."""
    turns = Rotary(16).frequencies() * 64 / (2 * math.pi)
    assert [round(float(x), 2) for x in turns[:4]] == [10.19, 3.22, 1.02, 0.32]
    assert yarn_slowed(16, 64).tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1, 1, 1, 1, 1])


@given(window=st.integers(1, 4096), factor=FACTORS)
def test_yarn_finds_the_window_in_training_although_the_new_one_was_rounded(window: int, factor: float):
    assert YaRN(D, int(window * factor), factor).window == window


def test_yarn_sharpens_scores_by_the_square_of_its_temperature() -> None:
    q, k = random_heads(1), random_heads(2)[:, :, 1:]
    new_q, new_k = YaRN(D, 256, 4.0).transform_qk(q, k, Positions.arange(1))  # position 0 turns nothing
    assert float((new_q * new_k).sum()) == pytest.approx(float((q * k).sum()) * (1 + 0.1 * math.log(4)) ** 2)


def test_yarn_keeps_the_window_of_training_when_its_factor_is_steered() -> None:
    steered = YaRN(D, 256)
    steered.steer("factor", 4)
    assert torch.equal(steered.frequencies(), YaRN(D, 1024, 4.0).frequencies())
