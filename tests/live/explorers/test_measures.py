"""What the explorers measure is what the formulas say."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.encodings.rotary import rotate
from babygpt.live.explorers.alibi import measure as measure_alibi
from babygpt.live.explorers.branch_codes import measure as measure_codes
from babygpt.live.explorers.gaussian import measure as measure_gaussian
from babygpt.live.explorers.rotary import measure as measure_rotary
from babygpt.live.explorers.sinusoidal import measure as measure_sinusoid
from babygpt.models.transformer import norm, score_scale
from babygpt_course.studies.ladder_explorer import measure as measure_ladder

theta = st.floats(1.5, 1e6)
wide, heavy = st.floats(1, 100), st.floats(0.01, 10)


def omega(i, width, base):
    return base ** (-2 * i / width)


@given(st.integers(16, 100), st.integers(0, 16), st.integers(1, 16), theta)
def test_ropes_score_is_the_mean_cosine_of_what_the_pairs_have_turned(place, distance, pair, base):
    found = measure_rotary(place, distance, pair, base)
    for d in (0, 1, distance, 64):
        expected = sum(math.cos(d * omega(i, 32, base)) for i in range(16)) / 16
        assert found["scores"][d] == pytest.approx(expected, abs=1e-9)
    q, k = found["hands"].values()
    assert q == pytest.approx(place * omega(pair - 1, 32, base))
    assert k == pytest.approx((place - distance) * omega(pair - 1, 32, base))
    assert q - k == pytest.approx(found["between"])
    assert list(found["hands"]) == [f"q at {place}", f"k at {place - distance}"]
    later_q, later_k = found["later"].values()  # the same distance apart, 37 tokens on
    assert later_q - q == pytest.approx(37 * omega(pair - 1, 32, base))
    assert q - k == pytest.approx(later_q - later_k, abs=1e-9)
    assert list(found["later"]) == [f"q at {place + 37}", f"k at {place + 37 - distance}"]


@given(st.integers(0, 63), st.integers(1, 16).map(lambda n: 8 * n), theta)
def test_two_places_are_alike_by_the_mean_cosine_of_their_distance(place, width, base):
    found = measure_sinusoid(place, width, base)
    pairs = range(width // 2)
    for n in (0, place, 31, 63):
        expected = sum(math.cos((n - place) * omega(i, width, base)) for i in pairs) / len(pairs)
        assert found["likeness"][n] == pytest.approx(expected, abs=1e-5)
    assert found["table"].shape == (64, width)
    assert found["table"][place, width - 2] == pytest.approx(math.sin(place * omega(pairs[-1], width, base)))
    assert found["table"][63, 1] == pytest.approx(math.cos(63))
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
    """Normalised q = k = (1, ..., 1), turned by their places, times the scale that attention uses."""
    ones = norm(torch.ones(1, 1, 65, 32, dtype=torch.float64))
    turned = rotate(ones, torch.arange(65), 500.0)[0, 0]
    scores = turned @ turned[0] * score_scale(ones)
    found = measure_alibi(4, 1.0, 500.0, 8)["scores"]["RoPE"]
    assert found == pytest.approx((scores - scores[0]).numpy(), abs=1e-6)


@given(st.integers(1, 64), wide, wide, heavy, heavy)
def test_the_kernel_multiplies_attention_if_relative_and_scores_if_absolute(place, s1, s2, a1, a2):
    relative, absolute = (measure_gaussian(kind, place, s1, s2, a1, a2) for kind in ("relative", "absolute"))
    m = np.arange(65)
    K = a1 * np.exp(-(m**2) / (2 * s1**2)) + a2 * np.exp(-(m**2) / (2 * s2**2))
    assert relative["K"]["K"] == pytest.approx(K, rel=1e-3, abs=1e-30)
    for half, share in ((relative["reach"][0.5], 0.5), (relative["reach"][0.01], 0.01)):
        assert (K[: half - 1] > 0.999 * share * K[0]).all()
        assert (K[half + 1 :] < 1.001 * share * K[0]).all()
    plain = relative["rows"]["RoPE"]
    near_first = plain * K[place::-1]
    assert relative["rows"]["with K"] == pytest.approx(near_first / near_first.sum(), rel=1e-2, abs=1e-5)
    scores = absolute["scores"][place, : place + 1]
    expected = np.exp(scores - scores.max())
    assert absolute["rows"]["with K"] == pytest.approx(expected / expected.sum(), rel=1e-3, abs=1e-6)
    own = measure_gaussian("absolute", place, 1e6, 1e6, 0.5, 0.5)["scores"][place]  # K is 1: RoPE's scores
    assert scores == pytest.approx(own[: place + 1] * K[place] * K[: place + 1], rel=1e-3, abs=1e-4)


@given(wide, wide, heavy, heavy)
def test_a_step_down_a_diagonal_changes_nothing_if_relative_and_k_times_k_if_absolute(s1, s2, a1, a2):
    relative, absolute = (measure_gaussian(kind, 8, s1, s2, a1, a2) for kind in ("relative", "absolute"))
    assert relative["step"] <= 1e-6 * np.abs(relative["scores"]).max() + 1e-5
    K, plain = absolute["K"]["K"], measure_gaussian("absolute", 8, 1e6, 1e6, 0.5, 0.5)["scores"]
    product = plain * np.outer(K, K)
    expected = np.abs(product[1:, 1:] - product[:-1, :-1]).max()
    assert absolute["step"] == pytest.approx(expected, rel=1e-2, abs=1e-4)


@given(
    n=st.integers(2, 16),
    stride=st.floats(1, 8192),
    theta=st.floats(10, 1e6),
    width=st.integers(1, 64).map(lambda pairs: 8 * pairs),
)
def test_both_codes_have_the_cosine_of_the_formula(n, stride, theta, width):
    found = measure_codes(n, stride, theta, width)
    omega = theta ** (-np.arange(0, width, 2) / width)
    apart = np.subtract.outer(np.arange(n), np.arange(n))[..., None] * stride
    expected = np.cos(apart * omega).mean(axis=-1)
    np.testing.assert_allclose(found["fourier"], expected, atol=1e-6)
    np.testing.assert_allclose(found["rope"], expected, atol=1e-6)
    np.testing.assert_allclose(found["to first"]["all pairs"], expected[0], atol=1e-6)
    np.testing.assert_allclose(
        found["to first"]["the slowest pair"], np.cos(apart[0, :, 0] * omega[-1]), atol=1e-6
    )
    assert found["distance"] == pytest.approx(np.sqrt(width * (1 - expected[0, 1])), abs=1e-3)


BOARD = {
    "board": {
        "a": {"masks": False, "1x": [1.0, 2.0], "2x": [1.0, 1.0], "4x": [None, None], "roles": [0.5, 0.5]},
        "b": {"masks": False, "1x": [1.5, 2.5], "2x": [3.0, 3.0], "4x": [1.0, 1.0], "roles": [0.9, 0.8]},
        "c": {"masks": True, "1x": [9.0, 9.0], "2x": [9.0, 9.0], "4x": [9.0, 9.0], "roles": [0.6, 0.4]},
    }
}


def test_the_board_compares_models_of_one_kind_seed_by_seed():
    found = measure_ladder(BOARD, "loss", "b", 5)
    assert found["rows"] == {"a": [-0.5, -0.5], "b": [0.0, 0.0]}  # the better one first, and no bound


def test_the_board_compares_answers_of_all_models_in_percentage_points():
    found = measure_ladder(BOARD, "right answers", "a", 5)
    assert list(found["rows"]) == ["b", "a", "c"]
    assert found["rows"]["b"] == pytest.approx([40.0, 30.0])


def test_the_board_keeps_the_closest_models_and_the_rival():
    assert list(measure_ladder(BOARD, "right answers", "a", 2)["rows"]) == ["a", "c"]


def test_a_rival_that_refuses_such_lengths_is_no_rival():
    assert list(measure_ladder(BOARD, "loss at 4× length", "b", 5)["rows"]) == ["b"]
    with pytest.raises(ValueError, match="a refuses"):
        measure_ladder(BOARD, "loss at 4× length", "a", 5)
