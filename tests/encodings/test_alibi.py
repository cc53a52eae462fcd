"""ALiBi against its definition, one score at a time."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.encodings.alibi import ALiBi, slopes
from babygpt.positions import Positions


def test_slopes_of_eight_heads_are_the_papers() -> None:
    assert slopes(8).tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]


@given(n_head=st.integers(1, 40))
def test_slopes_fall_in_equal_ratios_to_two_to_minus_eight(n_head: int) -> None:
    got = slopes(n_head).tolist()
    assert got == pytest.approx([2 ** (-8 * h / n_head) for h in range(1, n_head + 1)], rel=1e-5)
    assert got[-1] == 2**-8


@pytest.mark.parametrize("n_head", [0, -1])
def test_no_heads_are_refused(n_head: int) -> None:
    with pytest.raises(ValueError, match=rf"n_head \({n_head}\)"):
        ALiBi(n_head)


@given(
    m=st.lists(st.integers(0, 3000), min_size=1, max_size=5),
    n=st.lists(st.integers(0, 3000), min_size=1, max_size=5),
)
def test_bias_is_slope_times_distance(m: list[int], n: list[int]) -> None:
    bias = ALiBi(4).score_bias(Positions(torch.tensor(m)), Positions(torch.tensor(n)))
    assert bias.shape == (4, len(m), len(n))
    for h, slope in enumerate((2**-2, 2**-4, 2**-6, 2**-8)):
        expected = [[-slope * abs(a - b) for b in n] for a in m]
        assert bias[h].tolist() == expected


@given(start=st.integers(0, 10_000))
def test_bias_depends_on_distance_alone(start: int) -> None:
    moved = Positions.arange(6, start)
    assert torch.equal(
        ALiBi(2).score_bias(moved, moved), ALiBi(2).score_bias(Positions.arange(6), Positions.arange(6))
    )


@pytest.mark.parametrize("B", [1, 3, 4])
def test_bias_of_a_batch_is_that_of_each_row(B: int) -> None:
    """Four rows meet four heads: neither may be taken for the other."""
    time = torch.tensor([[0, 1, 2], [0, 3, 9], [5, 6, 20], [1, 40, 41]])[:B]
    scores = torch.zeros(B, 4, 3, 3)
    together = scores + ALiBi(4).score_bias(Positions(time), Positions(time))
    for b in range(B):
        alone = scores[:1] + ALiBi(4).score_bias(Positions(time[b]), Positions(time[b]))
        assert torch.equal(together[b : b + 1], alone)


@given(steepness=st.floats(0, 100), n_head=st.integers(1, 8))
def test_a_steeper_alibi_takes_so_many_times_as_much(steepness: float, n_head: int) -> None:
    here = Positions.arange(6)
    bias, plain = ALiBi(n_head, steepness).score_bias(here, here), ALiBi(n_head).score_bias(here, here)
    for h in range(n_head):
        for m in range(6):
            for n in range(6):
                expected = steepness * plain[h, m, n].item()
                assert bias[h, m, n].item() == pytest.approx(expected, rel=1e-6, abs=1e-37)


def test_as_in_the_paper_steepness_is_one() -> None:
    assert ALiBi(4).steepness == 1.0
    here = Positions.arange(6)
    assert torch.equal(ALiBi(4).score_bias(here, here), ALiBi(4, steepness=1.0).score_bias(here, here))


def test_without_steepness_nothing_is_forgotten() -> None:
    here = Positions.arange(6)
    assert not ALiBi(4, steepness=0.0).score_bias(here, here).any()


def test_slopes_are_not_stored_with_the_weights() -> None:
    assert ALiBi(4).state_dict() == {}
