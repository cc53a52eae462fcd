"""Gates are those of the formulas, channel by channel, and phases those that are learned."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.encodings import (
    ALiBi,
    Encoding,
    ExactPhase,
    GatesLast,
    KeysOnly,
    LearnedPhase,
    Polar,
    PoPE,
    Quadrature,
    RandomPhase,
    Rotary,
)
from babygpt.metrics.inspection import gates_of, phases_of
from babygpt.positions import Positions

H, T, D = 3, 9, 8
MASKED = np.arange(T) % 3 == 1
alphas, thetas = st.floats(-2, 2), st.floats(10, 1e6)


def learned(encoding):
    """With phases that are not 0."""
    for phase in encoding.parameters():
        torch.nn.init.uniform_(phase, -3, 3)
    return encoding


def measured(encoding):
    with torch.no_grad():
        return gates_of(encoding, Positions(torch.arange(T), masked=torch.tensor(MASKED)[None])).numpy()


def wave(theta):
    return np.arange(T)[:, None] * theta ** (-np.arange(D) / D)


def state(alpha):
    return np.where(MASKED, alpha, 1.0)[:, None]


@given(alphas, thetas)
def test_the_notes_gate_is_a_product_of_cosines(alpha, theta):
    encoding = learned(Polar(D, alpha, theta))
    expected = np.cos(wave(theta)) * np.cos(encoding.phi.detach().numpy()) * state(alpha)
    np.testing.assert_allclose(measured(encoding), expected[None], atol=1e-6)


@pytest.mark.parametrize("kind", [ExactPhase, RandomPhase, GatesLast, KeysOnly])
def test_the_repaired_gate_is_the_cosine_of_a_sum(kind):
    encoding = learned(kind(D, 0.3))
    expected = np.cos(wave(1e4) + encoding.phi.detach().numpy()) * state(0.3)
    np.testing.assert_allclose(measured(encoding), expected[None], atol=1e-6)


@given(alphas, thetas)
def test_quadrature_has_sines_after_its_cosines(alpha, theta):
    expected = np.concatenate([np.cos(wave(theta)), np.sin(wave(theta))], axis=-1) * state(alpha)
    np.testing.assert_allclose(measured(Quadrature(D, alpha, theta)), expected[None], atol=1e-6)


@pytest.mark.parametrize(("kind", "alpha"), [(lambda h, d: LearnedPhase(h, d, 0.3), 0.3), (PoPE, 1.0)])
def test_each_head_has_the_waves_of_its_own_phases(kind, alpha):
    encoding = learned(kind(H, D))
    ahead = wave(1e4) + encoding.delta.detach().numpy()[:, None]
    expected = np.concatenate([np.cos(ahead), np.sin(ahead)], axis=-1) * state(alpha)
    np.testing.assert_allclose(measured(encoding), expected, atol=1e-6)


@pytest.mark.parametrize("kind", [GatesLast, KeysOnly, Quadrature])
def test_where_no_norm_follows_gates_are_what_keys_of_ones_become(kind):
    encoding, ones = learned(kind(D, 0.3)), torch.ones(1, 1, T, D, dtype=torch.float64)
    with torch.no_grad():
        positions = Positions(torch.arange(T), masked=torch.tensor(MASKED)[None])
        _, k = encoding.transform_qk(ones, ones, positions)
    np.testing.assert_allclose(measured(encoding), k[0].numpy(), atol=1e-6)


@pytest.mark.parametrize("encoding", [Encoding(), Rotary(D), ALiBi(H)], ids=lambda e: type(e).__name__)
def test_an_encoding_without_gates_is_refused(encoding):
    with pytest.raises(ValueError, match=f"^{type(encoding).__name__} has no gates; v7"):
        measured(encoding)


def test_phases_are_a_row_for_each_head_or_one_for_all():
    assert phases_of(Quadrature(D)) is None
    assert phases_of(Rotary(D)) is None
    polar, apart = learned(Polar(D)), learned(LearnedPhase(H, D))
    assert torch.equal(phases_of(polar), polar.phi[None])
    assert torch.equal(phases_of(apart), apart.delta)
