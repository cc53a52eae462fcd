"""ALiBi against its definition, one score at a time."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.encodings.alibi import ALiBi, slopes
from babygpt.positions import Positions

TIMES = st.lists(st.integers(0, 3000), min_size=1, max_size=5)


def test_slopes_of_eight_heads_are_the_papers() -> None:
    assert slopes(8).tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]


@given(n_head=st.integers(1, 40))
def test_slopes_fall_in_equal_ratios_to_two_to_minus_eight(n_head: int) -> None:
    got = slopes(n_head).tolist()
    assert got == pytest.approx([2 ** (-8 * h / n_head) for h in range(1, n_head + 1)], rel=1e-5)
    assert got[-1] == 2**-8


@given(m=TIMES, n=TIMES)
def test_bias_is_slope_times_distance(m: list[int], n: list[int]) -> None:
    bias = ALiBi(4).score_bias(Positions(torch.tensor(m)), Positions(torch.tensor(n)))
    assert bias.shape == (4, len(m), len(n))
    for h, slope in enumerate((2**-2, 2**-4, 2**-6, 2**-8)):
        assert bias[h].tolist() == [[-slope * abs(a - b) for b in n] for a in m]


@given(steepness=st.floats(0, 100), n_head=st.integers(1, 8))
def test_steepness_multiplies_the_bias(steepness: float, n_head: int) -> None:
    here = Positions.arange(6)
    bias, plain = (ALiBi(n_head, s).score_bias(here, here) for s in (steepness, 1.0))
    torch.testing.assert_close(bias, steepness * plain, rtol=1e-6, atol=1e-37)
    assert torch.equal(plain, ALiBi(n_head).score_bias(here, here))  # 1 is the default, as in the paper


def test_slopes_are_not_trained() -> None:
    assert ALiBi(4).state_dict() == {}


def test_a_subclass_with_another_bias_is_not_separable() -> None:
    """Guard a bias that bends: with the row of the last query alone, attention would be wrong."""

    class Bent(ALiBi):
        def score_bias(self, queries: Positions, keys: Positions) -> torch.Tensor:
            return -super().score_bias(queries, keys).square()

    class Named(ALiBi):
        """ALiBi under another name."""

    assert [kind.separable for kind in (ALiBi, Named, Bent)] == [True, True, False]
