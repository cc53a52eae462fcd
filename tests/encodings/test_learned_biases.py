"""T5 against the published library, KERPLE and FIRE against plain floats, and each against the others."""

import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from babygpt import invariants
from babygpt.encodings import FIRE, Encoding, LogKernel, T5Bias
from babygpt.encodings.alibi import slopes
from babygpt.encodings.learned_biases import bucket, bucket_starts, relative_distance
from babygpt.positions import Positions

TIMES = st.lists(st.integers(0, 500), min_size=1, max_size=5)


def bias_at(encoding: Encoding, m: list[int], n: list[int]) -> torch.Tensor:
    return encoding.score_bias(Positions(torch.tensor(m)), Positions(torch.tensor(n)))


# ---------------------------------------------------------------- T5

EVEN = [(32, 128), (32, 64), (16, 1000), (8, 64), (8, 81), (6, 81), (4, 9), (64, 40)]
SETTINGS = [(n, furthest, both_ways) for n, furthest in EVEN for both_ways in (False, True)]


@torch.no_grad()
def t5(*args) -> T5Bias:
    """Make a T5Bias with numbers that differ, as after training."""
    encoding = T5Bias(*args)
    encoding.table.normal_(generator=torch.Generator().manual_seed(0))
    return encoding


def test_buckets_are_those_of_the_library_at_every_distance() -> None:
    """Reverse the sign for the library: it takes a key's position minus its query's."""
    from transformers.models.t5.modeling_t5 import T5Attention

    for n_buckets, furthest, both_ways in [*SETTINGS, (9, 50, False), (2, 9, False)]:
        distance = torch.arange(-5 * furthest, 5 * furthest + 1)
        expected = T5Attention._relative_position_bucket(-distance, both_ways, n_buckets, furthest)
        got = bucket(distance, n_buckets, furthest, both_ways)
        assert torch.equal(got, expected), (n_buckets, furthest, both_ways)


@given(n_buckets=st.integers(2, 24), more=st.integers(1, 500))
@example(n_buckets=9, more=124)  # 4, 8, ..., 64: in floats the last is 64.00000000000001
def test_each_wide_bucket_begins_where_whole_numbers_say(n_buckets: int, more: int) -> None:
    """Find the first d with (d / single)^wide at least (furthest / single)^j, in whole numbers."""
    single, furthest = n_buckets // 2, n_buckets // 2 + more
    wide, starts = n_buckets - single, bucket_starts(n_buckets, furthest)
    assert starts[:single] == list(range(single))
    for j, start in enumerate(starts[single:]):
        bound = furthest**j * single ** (wide - j)
        assert start**wide >= bound
        assert start == single or (start - 1) ** wide < bound


@given(m=TIMES, n=TIMES, both_ways=st.booleans())
def test_t5_adds_the_number_of_each_distances_bucket(m: list[int], n: list[int], both_ways: bool) -> None:
    encoding = t5(3, 8, 40, both_ways)
    bias = bias_at(encoding, m, n)
    assert bias.shape == (3, len(m), len(n))
    for i, a in enumerate(m):
        for j, b in enumerate(n):
            bucket_number = bucket(torch.tensor(a - b), 8, 40, both_ways)
            assert torch.equal(bias[:, i, j], encoding.table[bucket_number])


def test_t5_begins_without_an_encoding_and_learns_the_buckets_of_its_texts() -> None:
    encoding, here = T5Bias(2, 8, 40), Positions.arange(6)
    bias = encoding.score_bias(here, here)
    assert not bias.any()
    bias.tril().square().add(bias.tril()).sum().backward()
    met = bucket(torch.arange(6), 8, 40).unique()
    assert encoding.table.grad.nonzero()[:, 0].unique().tolist() == met.tolist()


# ---------------------------------------------------------------- KERPLE


def kerple(numbers: list[float]) -> Encoding:
    """Make a kernel of two heads in double precision, with the first two numbers in log_r1."""
    encoding = LogKernel(2).double()
    values = torch.tensor(numbers, dtype=torch.float64).view(2, 2)
    encoding.load_state_dict({"log_r1": values[0], "log_r2": values[1]})
    return encoding


def kernel_in_floats(numbers: list[float], h: int, distance: int) -> float:
    return -math.exp(numbers[h]) * math.log(1 + math.exp(numbers[2 + h]) * abs(distance))


@given(m=TIMES, n=TIMES, numbers=st.lists(st.floats(-3, 3), min_size=4, max_size=4))
def test_each_head_adds_its_kernel_of_the_distance(m: list[int], n: list[int], numbers: list[float]) -> None:
    bias = bias_at(kerple(numbers), m, n)
    for h in range(2):
        expected = [[kernel_in_floats(numbers, h, a - b) for b in n] for a in m]
        assert bias[h].tolist() == [pytest.approx(row, rel=1e-10, abs=1e-10) for row in expected]


def test_the_log_kernel_begins_with_alibis_slope_and_flattens() -> None:
    encoding, keys = LogKernel(4).double(), Positions.arange(2001)
    bias = encoding.score_bias(Positions(torch.tensor([2000])), keys)[:, 0].flip(-1)
    straight = slopes(4).double()[:, None] * torch.arange(2001)
    torch.testing.assert_close(bias, -torch.log(1 + straight), rtol=1e-6, atol=0)
    assert (bias[:, 1:].diff() > bias[:, :-1].diff()).all()  # every step takes less than the one before


def smallest_quadratic_form(bias: torch.Tensor) -> float:
    """Return the smallest x K x among all x of length 1 whose numbers sum to 0, for K (n, n)."""
    n = len(bias)
    centred = torch.eye(n, dtype=torch.float64) - 1 / n
    values = torch.linalg.eigvalsh(centred @ bias @ centred)  # one of them is 0: the direction projected out
    return float(values.min() / values.abs().max())


@given(numbers=st.lists(st.floats(-4, 2), min_size=4, max_size=4))
def test_kerple_is_conditionally_positive_definite_and_a_power_above_two_is_not(numbers: list[float]) -> None:
    """Test for a conditionally positive definite kernel, as the paper asks; a power above 2 is none."""
    positions = list(range(24))
    for bias in bias_at(kerple(numbers), positions, positions).detach():
        assert smallest_quadratic_form(bias) > -1e-9
    distances = (torch.tensor(positions)[:, None] - torch.tensor(positions)).abs().double()
    assert smallest_quadratic_form(-math.exp(numbers[0]) * distances**2.2) < -1e-3


def test_a_kernel_has_correct_gradients_also_at_distance_0() -> None:
    encoding, here = kerple([-0.7, 0.3, -0.7, 0.3]), Positions(torch.tensor([0, 1, 8, 38]))
    names = list(dict(encoding.named_parameters()))

    def bias(*numbers: torch.Tensor) -> torch.Tensor:
        encoding._parameters.update(zip(names, numbers, strict=True))
        return encoding.score_bias(here, here)

    assert torch.autograd.gradcheck(bias, tuple(encoding.parameters()))


# ---------------------------------------------------------------- FIRE


@torch.no_grad()
def fire(n_head: int = 2, width: int = 5, log_c: float = -2.0, log_threshold: float = 2.5) -> FIRE:
    """Make a FIRE with a random network, in double precision."""
    torch.manual_seed(0)
    encoding = FIRE(n_head, width).double()
    for p in encoding.network.parameters():
        p.normal_()
    encoding.log_c.fill_(log_c)
    encoding.log_threshold.fill_(log_threshold)
    return encoding


def fire_in_floats(encoding: FIRE, h: int, m: int, n: int) -> float:
    c, threshold = (math.exp(log.item()) for log in (encoding.log_c, encoding.log_threshold))
    x = math.log(c * abs(m - n) + 1) / math.log(c * max(m, threshold) + 1)
    into, out = encoding.network[0], encoding.network[2].weight[h].tolist()
    units = zip(into.weight[:, 0].tolist(), into.bias.tolist(), out, strict=True)
    return sum(after * max(0.0, weight * x + bias) for weight, bias, after in units)


@given(m=TIMES, n=TIMES, log_c=st.floats(-6, 3), log_threshold=st.floats(-3, 6))
def test_fire_adds_the_output_of_its_network(m: list[int], n: list[int], log_c: float, log_threshold: float):
    encoding = fire(2, 5, log_c, log_threshold)
    bias = bias_at(encoding, m, n)
    assert bias.shape == (2, len(m), len(n))
    for h in range(2):
        expected = [[fire_in_floats(encoding, h, a, b) for b in n] for a in m]
        assert bias[h].tolist() == [pytest.approx(row, rel=1e-10, abs=1e-10) for row in expected]


@given(m=st.integers(0, 10**6), c=st.floats(1e-6, 1e3), threshold=st.floats(0.1, 1e4))
def test_a_share_grows_from_0_to_the_first_token_at_any_length(m: int, c: float, threshold: float) -> None:
    query, key = torch.tensor([[m]]), torch.linspace(0, m, 9).round().long()
    shares = relative_distance(query, key, torch.tensor([c]).double(), torch.tensor([threshold]).double())[0]
    assert shares[-1] == 0.0
    assert (shares.diff() <= 0).all()
    assert shares[0] == 1.0 if m >= threshold else shares[0] <= 1.0


def test_before_the_threshold_fire_depends_on_distance_and_beyond_it_stretches() -> None:
    assert invariants.shift_invariant(fire(n_head=4, log_threshold=math.log(1000))).holds
    assert invariants.shift_invariant(fire(n_head=4, log_threshold=math.log(10))).value > 1e-2
    c, threshold = torch.tensor([1e-6]), torch.tensor([1.0])  # A tiny c makes psi a line.
    near, far = (
        relative_distance(torch.tensor([[m]]), torch.tensor([m // 4]), c, threshold) for m in (100, 400)
    )
    torch.testing.assert_close(near, far, rtol=1e-3, atol=0)


def test_fire_begins_without_an_encoding_and_then_learns_all_it_has() -> None:
    encoding, here = FIRE(2), Positions.arange(40)
    assert not encoding.score_bias(here, here).any()
    torch.nn.init.normal_(encoding.network[2].weight)
    encoding.score_bias(here, here)[0].tril().square().sum().backward()
    for p in (encoding.log_c, encoding.log_threshold, encoding.network[0].weight):
        assert p.grad.abs().max() > 0
