"""KERPLE's kernels against plain floats, ALiBi, finite differences, and what makes a kernel one."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt import invariants
from babygpt.config import ModelConfig, TrainConfig
from babygpt.encodings.alibi import ALiBi, slopes
from babygpt.encodings.base import Encoding
from babygpt.encodings.learned_biases import LogKernel, PowerKernel, log_kernel_bias, power_kernel_bias
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.positions import Positions
from babygpt.training import train

KERNELS = {"kerple-log": LogKernel, "kerple-power": PowerKernel}
TIMES = st.lists(st.integers(0, 3000), min_size=1, max_size=5)
TRAINED = st.lists(st.floats(-3, 3), min_size=4, max_size=4)  # two numbers for each of two heads, as trained


def with_numbers(kind: type[Encoding], numbers: list[float]) -> Encoding:
    """An encoding of two heads in double precision, with the first two numbers in log_r1."""
    encoding = kind(2).double()
    second = "log_r2" if kind is LogKernel else "logit_r2"
    values = torch.tensor(numbers, dtype=torch.float64).view(2, 2)
    encoding.load_state_dict({"log_r1": values[0], second: values[1]})
    return encoding


def in_floats(kind: type[Encoding], numbers: list[float], h: int, distance: int) -> float:
    """What head h adds to a score at a distance."""
    r1, second = math.exp(numbers[h]), numbers[2 + h]
    if kind is LogKernel:
        return -r1 * math.log(1 + math.exp(second) * abs(distance))
    return -r1 * abs(distance) ** (2 / (1 + math.exp(-second)))


# ---------------------------------------------------------------- the kernels


@pytest.mark.parametrize("kind", KERNELS.values())
@given(m=TIMES, n=TIMES, numbers=TRAINED)
def test_each_head_adds_its_kernel_of_the_distance(
    kind: type[Encoding], m: list[int], n: list[int], numbers: list[float]
) -> None:
    encoding = with_numbers(kind, numbers)
    bias = encoding.score_bias(Positions(torch.tensor(m)), Positions(torch.tensor(n)))
    for h in range(2):
        expected = [[in_floats(kind, numbers, h, a - b) for b in n] for a in m]
        assert bias[h].tolist() == [pytest.approx(row, rel=1e-10, abs=1e-10) for row in expected]


@given(m=TIMES, n=TIMES)
def test_a_power_of_one_is_alibi_bit_by_bit_and_so_it_begins(m: list[int], n: list[int]) -> None:
    here, there = Positions(torch.tensor(m)), Positions(torch.tensor(n))
    expected = ALiBi(4).score_bias(here, there)
    distance = here.time[:, None] - there.time
    steep, one = slopes(4)[:, None, None], torch.ones(4, 1, 1)
    assert torch.equal(power_kernel_bias(distance, steep, one), expected)
    torch.testing.assert_close(PowerKernel(4).score_bias(here, there), expected, rtol=1e-6, atol=0)


def test_the_logarithm_begins_with_alibis_slope_near_by_and_flattens() -> None:
    encoding, keys = LogKernel(4).double(), Positions.arange(2001)
    bias = encoding.score_bias(Positions(torch.tensor([2000])), keys)[:, 0].flip(-1)
    straight = slopes(4).double()[:, None] * torch.arange(2001)
    torch.testing.assert_close(bias, -torch.log(1 + straight), rtol=1e-6, atol=0)
    assert (bias[:, 1:].diff() > bias[:, :-1].diff()).all()  # every step takes less than the one before


def quadratic_form(bias: torch.Tensor) -> float:
    """The smallest x K x among all x of length 1 whose numbers sum to 0, for K (n, n) as added to scores."""
    n = len(bias)
    centred = torch.eye(n, dtype=torch.float64) - 1 / n
    values = torch.linalg.eigvalsh(centred @ bias @ centred)  # one of them is 0: the direction projected out
    return float(values.min() / values.abs().max())


@given(r1=st.floats(0.01, 10), r2=st.floats(0.01, 2))
def test_both_are_kernels_and_a_power_above_two_is_none(r1: float, r2: float) -> None:
    """Conditionally positive definite, which is what the paper asks; the bound of 2 is its reason."""
    at = torch.arange(24, dtype=torch.float64)
    distance, r1, r2 = at[:, None] - at, torch.tensor(r1), torch.tensor(r2)
    assert quadratic_form(log_kernel_bias(distance, r1, r2)) > -1e-9
    assert quadratic_form(power_kernel_bias(distance, r1, r2)) > -1e-9
    assert quadratic_form(power_kernel_bias(distance, r1, 2.2 + r2)) < -1e-3


# ---------------------------------------------------------------- learning


@pytest.mark.parametrize("bias", [log_kernel_bias, power_kernel_bias])
def test_gradient_is_the_slope_also_where_the_distance_is_0(bias) -> None:
    distance = torch.tensor([0, 1, -7, 30])
    numbers = [torch.tensor([[0.5], [1.3]], dtype=torch.float64, requires_grad=True) for _ in range(2)]
    assert torch.autograd.gradcheck(lambda r1, r2: bias(distance, r1, r2), numbers)


@pytest.mark.parametrize("kind", KERNELS.values())
@pytest.mark.parametrize("end", [-70.0, 70.0])
def test_at_the_ends_of_what_may_be_stored_all_is_finite(kind: type[Encoding], end: float) -> None:
    encoding, here = kind(2), Positions.arange(100)
    for p in encoding.parameters():
        torch.nn.init.constant_(p, end)
    bias = encoding.score_bias(here, here)
    bias.sum().backward()
    assert bias.isfinite().all()
    assert all(p.grad.isfinite().all() for p in encoding.parameters())


@pytest.mark.parametrize("version", KERNELS)
def test_however_fast_it_learns_it_stays_a_kernel(small_corpus, version: str) -> None:
    """A hundred times the usual rate, which would take plain numbers below 0 in a few steps."""
    config = ModelConfig(small_corpus.tokenizer.vocab_size, block_size=16, n_layer=1, n_head=2, n_embd=16)
    model, here = build(version, config), Positions.arange(16)
    before = model.encoding.score_bias(here, here).detach()
    plan = TrainConfig(steps=12, batch_size=4, lr_other=2.0, warmup=0, seed=0)
    for _ in train(model, NextToken(small_corpus, 16), plan):
        bias = model.encoding.score_bias(here, here).detach()
        assert bias.isfinite().all()
        assert (bias[:, -1].diff() >= 0).all()  # further is never more
        assert not bias.diagonal(dim1=1, dim2=2).any()
    assert (bias - before).abs().max() > 0.1


# ---------------------------------------------------------------- in a model


@pytest.mark.parametrize("kind", KERNELS.values())
def test_scores_depend_on_the_distance_alone(kind: type[Encoding]) -> None:
    assert invariants.shift_invariant(kind(4)).holds


@pytest.mark.parametrize("kind", KERNELS.values())
@pytest.mark.parametrize("B", [1, 3, 4])
def test_bias_of_a_batch_is_that_of_each_row(kind: type[Encoding], B: int) -> None:
    """Four rows meet four heads: neither may be taken for the other."""
    time = torch.tensor([[0, 1, 2], [0, 3, 9], [5, 6, 20], [1, 40, 41]])[:B]
    together = kind(4).score_bias(Positions(time), Positions(time))
    assert together.shape == (B, 4, 3, 3)
    for b in range(B):
        assert torch.equal(together[b], kind(4).score_bias(Positions(time[b]), Positions(time[b])))


@pytest.mark.parametrize("kind", KERNELS.values())
@pytest.mark.parametrize("n_head", [0, -1])
def test_no_heads_are_refused(kind: type[Encoding], n_head: int) -> None:
    with pytest.raises(ValueError, match=rf"n_head \({n_head}\)"):
        kind(n_head)
