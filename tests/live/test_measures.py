"""The explorers measure what the formulas say."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.encodings import Polar
from babygpt.encodings.rotary import rotate
from babygpt.live.explorers import formulas as gates
from babygpt.live.explorers.formulas import (
    measure_alibi,
    measure_branches,
    measure_gates,
    measure_kernel,
    measure_rope,
    measure_sinusoid,
)
from babygpt.models.transformer import norm, score_scale
from babygpt.positions import Positions

theta = st.floats(1.5, 1e6)
wide, heavy = st.floats(1, 100), st.floats(0.01, 10)


def omega(i, width, base):
    return base ** (-2 * i / width)


@given(st.integers(16, 100), st.integers(0, 16), st.integers(1, 16), theta)
def test_ropes_score_is_the_mean_cosine_of_its_pairs_angles(position, distance, pair, base):
    found = measure_rope(position, distance, pair, base)
    for d in (0, 1, distance, 64):
        expected = sum(math.cos(d * omega(i, 32, base)) for i in range(16)) / 16
        assert found["scores"][d] == pytest.approx(expected, abs=1e-9)
    for hands, q in ((found["hands"], position), (found["later"], position + 37)):
        angles = {f"q at {q}": q, f"k at {q - distance}": q - distance}
        assert hands == pytest.approx({name: n * omega(pair - 1, 32, base) for name, n in angles.items()})
    assert found["between"] == pytest.approx(distance * omega(pair - 1, 32, base))


@given(st.integers(0, 63), st.integers(1, 16).map(lambda n: 8 * n), theta)
def test_two_positions_are_alike_by_the_mean_cosine_of_their_distance(position, width, base):
    found = measure_sinusoid(position, width, base)
    pairs = range(width // 2)
    for n in (0, position, 31, 63):
        expected = sum(math.cos((n - position) * omega(i, width, base)) for i in pairs) / len(pairs)
        assert found["likeness"][n] == pytest.approx(expected, abs=1e-5)
    assert found["table"].shape == (64, width)
    slowest = omega(pairs[-1], width, base)
    assert found["table"][position, width - 2] == pytest.approx(math.sin(position * slowest))
    assert found["turning"] == sum(64 * omega(i, width, base) >= 2 * math.pi for i in pairs)


@given(st.sampled_from([2, 4, 6]), st.floats(0.1, 10), theta, st.integers(0, 64))
def test_alibis_scores_fall_in_lines_and_its_weights_are_shares(n_head, steepness, base, distance):
    found = measure_alibi(n_head, steepness, base, distance)
    assert list(found["scores"]) == [*(f"head {h}" for h in range(1, n_head + 1)), "RoPE"]
    for h in range(1, n_head + 1):
        slope = steepness * 2 ** (-8 * h / n_head)
        scores, spent = found["scores"][f"head {h}"], found["weights"][f"head {h}"]
        assert scores == pytest.approx([-slope * d for d in range(65)], rel=1e-6)
        whole = sum(math.exp(-slope * d) for d in range(65))
        near = sum(math.exp(-slope * d) for d in range(distance + 1)) / whole
        assert [found["near"][f"head {h}"], spent[distance]] == pytest.approx([near, near], abs=1e-6)
    for spent in found["weights"].values():
        assert spent[-1] == pytest.approx(1)
        assert (np.diff(spent, prepend=0) >= 0).all()


def test_rope_beside_alibi_is_scored_as_in_a_model():
    """With normalised q = k = (1, ..., 1), rotated, times the scale that attention uses."""
    ones = norm(torch.ones(1, 1, 65, 32, dtype=torch.float64))
    rotated = rotate(ones, torch.arange(65), 500.0)[0, 0]
    scores = rotated @ rotated[0] * score_scale(ones)
    found = measure_alibi(4, 1.0, 500.0, 8)["scores"]["RoPE"]
    assert found == pytest.approx((scores - scores[0]).numpy(), abs=1e-6)


@given(st.integers(1, 64), wide, wide, heavy, heavy)
def test_the_kernel_multiplies_attention_if_relative_and_scores_if_absolute(position, s1, s2, a1, a2):
    relative, absolute = (measure_kernel(kind, position, s1, s2, a1, a2) for kind in ("relative", "absolute"))
    m = np.arange(65)
    K = a1 * np.exp(-(m**2) / (2 * s1**2)) + a2 * np.exp(-(m**2) / (2 * s2**2))
    assert relative["K"]["K"] == pytest.approx(K, rel=1e-3, abs=1e-30)
    for share, reach in relative["reach"].items():
        assert (K[: reach - 1] > 0.999 * share * K[0]).all()
        assert (K[reach + 1 :] < 1.001 * share * K[0]).all()
    weighted = relative["rows"]["RoPE"] * K[position::-1]
    assert relative["rows"]["with K"] == pytest.approx(weighted / weighted.sum(), rel=1e-2, abs=1e-5)
    plain = measure_kernel("absolute", position, 1e6, 1e6, 0.5, 0.5)["scores"]  # K is 1: RoPE's scores
    assert absolute["scores"] == pytest.approx(plain * np.outer(K, K), rel=1e-3, abs=1e-4)
    scores = absolute["scores"][position, : position + 1]
    expected = np.exp(scores - scores.max())
    assert absolute["rows"]["with K"] == pytest.approx(expected / expected.sum(), rel=1e-3, abs=1e-6)
    assert relative["step"] <= 1e-6 * np.abs(relative["scores"]).max() + 1e-5  # along a diagonal
    product = plain * np.outer(K, K)
    expected = np.abs(product[1:, 1:] - product[:-1, :-1]).max()
    assert absolute["step"] == pytest.approx(expected, rel=1e-2, abs=1e-4)


@given(st.integers(2, 16), st.floats(1, 8192), st.floats(10, 1e6), st.integers(1, 64).map(lambda n: 8 * n))
def test_both_branch_codes_have_the_cosine_of_the_formula(n, stride, theta, width):
    found = measure_branches(n, stride, theta, width)
    frequencies = theta ** (-np.arange(0, width, 2) / width)
    apart = np.subtract.outer(np.arange(n), np.arange(n))[..., None] * stride
    expected = np.cos(apart * frequencies).mean(axis=-1)
    np.testing.assert_allclose(found["fourier"], expected, atol=1e-6)
    np.testing.assert_allclose(found["rope"], expected, atol=1e-6)
    np.testing.assert_allclose(found["to first"]["all pairs"], expected[0], atol=1e-6)
    slowest = np.cos(apart[0, :, 0] * frequencies[-1])
    np.testing.assert_allclose(found["to first"]["the slowest pair"], slowest, atol=1e-6)
    assert found["distance"] == pytest.approx(np.sqrt(width * (1 - expected[0, 1])), abs=1e-3)


# ---------------------------------------------------------------- polar gates

AS_WRITTEN, _, ON_KEYS, QUADRATURE, PHASE_BETWEEN = gates.GATES
GATES_FIRST, NORM_FIRST = gates.ORDERS
settings = {
    "alpha": st.floats(0.03, 3),
    "phi": st.integers(-12, 12).map(lambda n: 15 * n),
    "theta": st.floats(10, 1e6),
}
CHANNELS = np.arange(32)


@given(**settings)
def test_the_gate_as_written_is_that_of_the_formula(alpha, phi, theta):
    found = measure_gates(AS_WRITTEN, NORM_FIRST, alpha, phi, theta)
    i = np.arange(gates.LAST + 1)[:, None]
    mask = np.where(gates.HIDDEN, alpha, 1.0)[:, None]
    gate = np.cos(i * theta ** (-CHANNELS / 32)) * math.cos(math.radians(phi)) * mask
    np.testing.assert_allclose(found["gates"], gate, atol=1e-6)
    np.testing.assert_allclose(found["scores"], 2 / 32**0.5 * gate @ gate.T, atol=1e-5)


@given(**settings)
def test_with_the_norm_last_alpha_moves_no_score_and_the_gate_is_the_packages(alpha, phi, theta):
    if abs(phi) == 90:
        return  # cos(phi) is 0: the norm has nothing to work on
    found = measure_gates(AS_WRITTEN, GATES_FIRST, alpha, phi, theta)
    assert found["moved"] < 1e-3
    encoding = Polar(32, alpha, theta)
    torch.nn.init.constant_(encoding.phi, math.radians(phi))
    ones = torch.ones(1, 1, gates.LAST + 1, 32, dtype=torch.float64)
    positions = Positions(torch.arange(gates.LAST + 1), masked=gates.HIDDEN[None])
    with torch.no_grad():
        _, k = encoding.transform_qk(ones, ones, positions)
    np.testing.assert_allclose(found["gates"], k[0, 0].numpy(), atol=1e-4)


@given(**settings)
def test_quadrature_leaves_the_distance_and_a_phase_between_tells_left_from_right(alpha, phi, theta):
    even, uneven = (
        measure_gates(gate, NORM_FIRST, alpha, phi, theta) for gate in (QUADRATURE, PHASE_BETWEEN)
    )
    distance = np.arange(-24, 25, 2)[:, None]
    for found, delta in ((even, 0.0), (uneven, math.radians(phi))):
        expected = 2 / 32**0.5 * np.cos(distance * theta ** (-CHANNELS / 32) - delta).sum(axis=1)
        for scores in found["across"].values():
            np.testing.assert_allclose(scores, expected, atol=1e-5)
        assert found["step"] < 1e-9
    assert even["uneven"] < 1e-9
    if phi % 180:
        assert uneven["uneven"] > 0.1


def test_alpha_on_keys_leaves_queries_unchanged():
    how = (NORM_FIRST, 0.3, 0.5, 1e4)
    (q, k), (plain_q, plain_k) = (gates.gated(ON_KEYS, *how, masks) for masks in (True, False))
    torch.testing.assert_close(q, plain_q)
    torch.testing.assert_close(k[gates.HIDDEN], 0.3 * plain_k[gates.HIDDEN])
