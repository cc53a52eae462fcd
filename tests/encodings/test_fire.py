"""FIRE one score at a time in plain floats, what its share of a text promises, and KERPLE as a case of it."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt import invariants
from babygpt.encodings.alibi import ALiBi
from babygpt.encodings.learned_biases import FIRE, LogKernel, psi, share
from babygpt.positions import Positions

TIMES = st.lists(st.integers(0, 500), min_size=1, max_size=5)


@torch.no_grad()
def drawn(n_head: int = 2, width: int = 5, log_c: float = -2.0, log_threshold: float = 2.5) -> FIRE:
    """With weights that say something, in double precision."""
    torch.manual_seed(0)
    encoding = FIRE(n_head, width).double()
    for p in encoding.network.parameters():
        p.normal_()
    encoding.log_c.fill_(log_c)
    encoding.log_threshold.fill_(log_threshold)
    return encoding


def in_floats(encoding: FIRE, h: int, m: int, n: int) -> float:
    """What head h adds to the score of a query at m and a key at n."""
    c, threshold = (math.exp(log.item()) for log in (encoding.log_c, encoding.log_threshold))
    x = math.log(c * abs(m - n) + 1) / math.log(c * max(m, threshold) + 1)
    into, out = encoding.network[0], encoding.network[2].weight[h].tolist()
    units = zip(into.weight[:, 0].tolist(), into.bias.tolist(), out, strict=True)
    return sum(after * max(0.0, weight * x + bias) for weight, bias, after in units)


@given(m=TIMES, n=TIMES, log_c=st.floats(-6, 3), log_threshold=st.floats(-3, 6))
def test_each_head_adds_what_its_network_says(
    m: list[int], n: list[int], log_c: float, log_threshold: float
) -> None:
    encoding = drawn(2, 5, log_c, log_threshold)
    bias = encoding.score_bias(Positions(torch.tensor(m)), Positions(torch.tensor(n)))
    assert bias.shape == (2, len(m), len(n))
    for h in range(2):
        expected = [[in_floats(encoding, h, a, b) for b in n] for a in m]
        assert bias[h].tolist() == [pytest.approx(row, rel=1e-10, abs=1e-10) for row in expected]


@given(m=st.integers(0, 10**6), c=st.floats(1e-6, 1e3), threshold=st.floats(0.1, 1e4))
def test_a_share_grows_from_0_to_the_first_token_whatever_the_length(
    m: int, c: float, threshold: float
) -> None:
    query, key = torch.tensor([[m]]), torch.linspace(0, m, 9).round().long()
    found = share(query, key, torch.tensor([c]).double(), torch.tensor([threshold]).double())[0]
    assert found[-1] == 0.0
    assert (found.diff() <= 0).all()
    if m >= threshold:
        assert found[0] == 1.0
    else:
        assert found[0] <= 1.0


def test_before_the_threshold_it_is_a_function_of_the_distance_and_beyond_it_stretches() -> None:
    encoding = drawn(n_head=4, log_threshold=math.log(1000))
    assert invariants.shift_invariant(encoding).holds
    beyond = drawn(n_head=4, log_threshold=math.log(10))
    assert invariants.shift_invariant(beyond).value > 1e-2
    c, threshold = torch.tensor([1e-6]), torch.tensor([1.0])  # of a tiny c, psi is a line
    near, far = (share(torch.tensor([[m]]), torch.tensor([m // 4]), c, threshold) for m in (100, 400))
    torch.testing.assert_close(near, far, rtol=1e-3, atol=0)


def test_a_querys_bias_is_its_own_business() -> None:
    """Whatever else is read with it, as with a cache."""
    encoding, keys = drawn(), Positions.arange(40)
    together = encoding.score_bias(keys, keys)
    for m in range(40):
        alone = encoding.score_bias(Positions.arange(1, m), Positions.arange(m + 1))
        torch.testing.assert_close(alone[:, 0], together[:, m, : m + 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("B", [1, 3, 4])
def test_bias_of_a_batch_is_that_of_each_row(B: int) -> None:
    """Four rows meet four heads: neither may be taken for the other."""
    time = torch.tensor([[0, 1, 2], [0, 3, 9], [5, 6, 20], [1, 40, 41]])[:B]
    encoding = drawn(n_head=4)
    together = encoding.score_bias(Positions(time), Positions(time))
    assert together.shape == (B, 4, 3, 3)
    for b in range(B):
        alone = encoding.score_bias(Positions(time[b]), Positions(time[b]))
        torch.testing.assert_close(together[b], alone, rtol=0, atol=1e-12)


# ---------------------------------------------------------------- what it has as a special case


@torch.no_grad()
def straight(steep: torch.Tensor, c: float, furthest: float) -> FIRE:
    """One hidden unit, which hands on its share: head h adds -steep_h psi(distance), up to a threshold."""
    encoding = FIRE(len(steep), width=1, threshold=furthest).double()
    encoding.log_c.fill_(math.log(c))
    encoding.network[0].weight.fill_(1.0)
    encoding.network[0].bias.zero_()
    reach = psi(encoding.log_threshold.exp(), torch.tensor(c, dtype=torch.float64))
    encoding.network[2].weight.copy_(-steep[:, None] * reach)
    return encoding


def test_kerples_logarithm_is_fire_with_one_hidden_unit_where_heads_share_r2() -> None:
    """Within a threshold as far as anyone looks."""
    here, kernel = Positions.arange(300), LogKernel(3).double()
    torch.nn.init.constant_(kernel.log_r2, math.log(0.3))
    kernel.log_r1.data.copy_(torch.tensor([-1.0, 0.0, 1.0]))
    found = straight(kernel.log_r1.exp(), 0.3, 1000.0).score_bias(here, here)
    torch.testing.assert_close(found, kernel.score_bias(here, here), rtol=0, atol=1e-10)


def test_with_a_tiny_c_it_is_alibi() -> None:
    here, plain, c = Positions.arange(300), ALiBi(4), 1e-9
    found = straight(plain.slopes.double() / c, c, 1000.0).score_bias(here, here)
    torch.testing.assert_close(found.float(), plain.score_bias(here, here), rtol=0, atol=1e-4)


# ---------------------------------------------------------------- learning


def test_it_begins_without_an_encoding_and_then_learns_all_it_has() -> None:
    encoding, here = FIRE(2), Positions.arange(40)
    assert not encoding.score_bias(here, here).any()
    torch.nn.init.normal_(encoding.network[2].weight)
    encoding.score_bias(here, here)[0].tril().square().sum().backward()
    for p in (encoding.log_c, encoding.log_threshold, encoding.network[0].weight):
        assert p.grad.abs().max() > 0


@pytest.mark.parametrize("log_c", [-70.0, 70.0])
@pytest.mark.parametrize("log_threshold", [-70.0, 70.0])
def test_at_the_ends_of_what_may_be_stored_all_is_finite(log_c: float, log_threshold: float) -> None:
    encoding, here = drawn(2, 5, log_c, log_threshold).float(), Positions.arange(100)
    bias = encoding.score_bias(here, here)
    bias.sum().backward()
    assert bias.isfinite().all()
    assert all(p.grad.isfinite().all() for p in encoding.parameters())


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"n_head": 0}, r"n_head \(0\) must be a whole number of at least 1"),
        ({"width": 0}, r"width \(0\) must be"),
        ({"width": 2.5}, r"width \(2.5\) must be a whole number"),
        ({"threshold": 0.0}, r"threshold \(0.0\) must be above 0 tokens"),
        ({"threshold": math.nan}, r"threshold \(nan\) must be a finite number"),
    ],
)
def test_numbers_that_make_no_network_are_named(wrong: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        FIRE(**{"n_head": 2, **wrong})
