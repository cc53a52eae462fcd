"""Which distances a kernel keeps, against Gaussians solved by hand."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.encodings.gaussian import Gaussian
from babygpt.metrics.inspection import kernel_values, reach

share, sigma = st.floats(0.001, 0.99), st.floats(0.5, 300)


def one_scale(sigma: float) -> Gaussian:
    return Gaussian(8, (0.5, 0.5), (sigma, sigma), learnable=False)


@given(sigma, share)
def test_one_gaussian_falls_below_a_share_where_algebra_says(sigma: float, share: float) -> None:
    exact = sigma * math.sqrt(2 * math.log(1 / share))
    assert reach(one_scale(sigma), share) == pytest.approx(exact, abs=1.01)


@given(sigma, sigma, share)
def test_k_is_at_least_the_share_before_and_less_from_there_on(
    narrow: float, wide: float, share: float
) -> None:
    encoding = Gaussian(8, (0.7, 0.3), (narrow, wide))
    at = reach(encoding, share)
    values = kernel_values(encoding, at) / kernel_values(encoding, 0)
    assert (values[:at] >= share * 0.9999).all()
    assert values[at] < share * 1.0001


def test_a_kernel_that_never_falls_reaches_as_far_as_is_asked() -> None:
    flat = one_scale(math.inf)
    assert reach(flat, 0.5, furthest=77) == 77
    assert kernel_values(flat, 9) == pytest.approx(np.ones(10))


@pytest.mark.parametrize("wrong", [0.0, -0.5, 1.5, math.nan])
def test_a_share_outside_its_range_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="share"):
        reach(one_scale(5.0), wrong)


def test_distances_lie_where_the_kernel_does(monkeypatch):
    """On "meta", which like a GPU mixes with no other device, and has no numbers to be read."""
    asked = []

    def log_kernel(self, distance):
        asked.append(distance.device.type)
        return torch.zeros(distance.shape)

    monkeypatch.setattr(Gaussian, "log_kernel", log_kernel)
    encoding = one_scale(5.0).to("meta")
    kernel_values(encoding, 3)
    reach(encoding, 0.5, furthest=4)
    assert set(asked) == {"meta"}
