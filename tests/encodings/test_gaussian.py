"""The kernel of two Gaussians against plain floats, and RoPE with it."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.encodings.gaussian import AbsoluteGaussian, Gaussian, RelativeGaussian, gaussian, log_kernel
from babygpt.encodings.rotary import Rotary
from babygpt.positions import Positions

D, H = 8, 3
EVERYWHERE_ONE = {"alphas": (1.0, 0.0), "sigmas": (math.inf, math.inf), "learnable": False}
WEIGHTS = st.tuples(st.floats(0.01, 5), st.floats(0.01, 5))
WIDTHS = st.tuples(st.floats(0.5, 100), st.floats(0.5, 100))
DISTANCES = st.lists(st.integers(-500, 500), min_size=1, max_size=6)
NAMES = ("alpha1", "alpha2", "sigma1", "sigma2")


def in_floats(m: int, alphas: tuple[float, float], sigmas: tuple[float, float]) -> float:
    return sum(a * math.exp(-(m**2) / (2 * s**2)) for a, s in zip(alphas, sigmas, strict=True))


def heads(T: int) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    q, k = (torch.randn(2, H, T, D, generator=draw) for _ in range(2))
    return q, k


# ---------------------------------------------------------------- the kernel


@given(distances=DISTANCES, alphas=WEIGHTS, sigmas=WIDTHS)
def test_kernel_is_the_sum_of_two_gaussians(distances: list[int], alphas: tuple, sigmas: tuple) -> None:
    got = Gaussian(D, alphas, sigmas).kernel(torch.tensor([distances]))
    expected = [in_floats(m, alphas, sigmas) for m in distances]
    assert got.tolist() == [pytest.approx(expected, abs=1e-5 * sum(alphas))]


def test_the_logarithm_stays_finite_where_the_kernel_underflows() -> None:
    encoding = gaussian(D)  # the note's numbers by default
    assert [getattr(encoding, name) for name in NAMES] == pytest.approx([0.7, 0.3, 5, 20])
    assert type(encoding) is RelativeGaussian
    for far in (10**3, 10**6, -(10**6)):
        assert encoding.kernel(torch.tensor([far])).item() == 0.0
        logs = encoding.log_kernel(torch.tensor([far]))
        # Only the wide scale counts here.
        assert logs.item() == pytest.approx(math.log(0.3) - far**2 / 800, rel=1e-5)


def test_the_gradient_is_that_of_finite_differences() -> None:
    distance = torch.tensor([0.0, 1.0, -7.0, 30.0], dtype=torch.float64)
    logs = [torch.tensor(values, dtype=torch.float64).log() for values in ((0.7, 0.3), (5.0, 20.0))]
    assert torch.autograd.gradcheck(log_kernel, (distance, *(each.requires_grad_() for each in logs)))


# ---------------------------------------------------------------- queries, keys and scores


@given(start=st.integers(0, 60), alphas=WEIGHTS, sigmas=WIDTHS)
def test_absolute_is_rope_times_the_kernel_of_each_position(start: int, alphas: tuple, sigmas: tuple) -> None:
    (q, k), positions = heads(4), Positions.arange(4, start)
    encoding = AbsoluteGaussian(D, alphas, sigmas)
    assert encoding.score_bias(positions, positions) is None
    got = encoding.transform_qk(q, k, positions)
    for each, turned in zip(got, Rotary(D).transform_qk(q, k, positions), strict=True):
        for t in range(4):
            expected = turned[:, :, t] * in_floats(start + t, alphas, sigmas)
            assert torch.allclose(each[:, :, t], expected, atol=1e-4)


@given(queries=DISTANCES, keys=DISTANCES, alphas=WEIGHTS, sigmas=st.just((30.0, 90.0)))
def test_relative_adds_the_logarithm_at_each_distance(
    queries: list[int], keys: list[int], alphas: tuple, sigmas: tuple
) -> None:
    """Choose widths whose kernel is above the smallest double at a distance of 1000."""
    encoding = RelativeGaussian(D, alphas, sigmas)
    got = encoding.score_bias(Positions(torch.tensor(queries)), Positions(torch.tensor(keys)))[0]
    for i, m in enumerate(queries):
        for j, n in enumerate(keys):
            expected = math.log(in_floats(m - n, alphas, sigmas))
            assert got[i, j].item() == pytest.approx(expected, abs=1e-4, rel=1e-4)
    (q, k), positions = heads(5), Positions.arange(5, start=3)
    turned = Rotary(D).transform_qk(q, k, positions)
    assert all(torch.equal(a, b) for a, b in zip(encoding.transform_qk(q, k, positions), turned, strict=True))


def test_the_notes_scores_vanish_far_from_the_start() -> None:
    """Take 200 tokens: nothing is left of a score at a distance that the kernel should keep."""
    (q, k), encoding = heads(1), gaussian(D, "absolute")
    for distance in (0, 1, 5):
        for m, lasts in ((0, True), (200, False)):
            placed_q, _ = encoding.transform_qk(q, k, Positions.arange(1, m + distance))
            _, placed_k = encoding.transform_qk(q, k, Positions.arange(1, m))
            score = (placed_q * placed_k).sum(dim=-1).abs().max()
            assert score > 1 if lasts else score < 1e-20


# ---------------------------------------------------------------- in a model


@pytest.mark.parametrize(("version", "exactly"), [("v5-absolute", True), ("v5", False)])
def test_with_a_kernel_of_one_the_model_is_v4_and_otherwise_not(awake, text, version: str, exactly: bool):
    """Allow rounding for the relative kernel: with a bias, attention uses another algorithm."""
    model, plain, idx = awake(version, EVERYWHERE_ONE), awake("v4"), text(2, 16)
    missing, unexpected = model.load_state_dict(plain.state_dict(), strict=False)
    assert (set(missing), unexpected) == ({"encoding.log_alphas", "encoding.log_sigmas"}, [])
    assert torch.allclose(model(idx), plain(idx), atol=0 if exactly else 2e-6, rtol=0)
    usual = awake(version)
    usual.load_state_dict(plain.state_dict(), strict=False)
    assert (usual(idx) - plain(idx)).abs().max() > 1e-2
    assert torch.allclose(model.double()(idx), plain.double()(idx), atol=1e-12)


def test_a_kernel_that_is_not_trained_may_be_flat_or_have_one_gaussian() -> None:
    for flat in ({"alphas": (0.7, 0.0)}, {"sigmas": (5.0, math.inf)}):
        assert gaussian(D, learnable=False, **flat).log_kernel(torch.arange(9)).isfinite().all()
