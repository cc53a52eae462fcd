"""T5's buckets against the published library and whole numbers, and its bias one score at a time."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from transformers.models.t5.modeling_t5 import T5Attention

from babygpt import invariants
from babygpt.encodings.learned_biases import T5Bias, bucket, bucket_starts
from babygpt.positions import Positions

EVEN = [(32, 128), (32, 64), (16, 1000), (8, 64), (8, 81), (6, 81), (4, 9), (64, 40)]
SETTINGS = [(n, furthest, way) for n, furthest in EVEN for way in (False, True)]
SETTINGS += [(9, 50, False), (2, 9, False)]


@torch.no_grad()
def drawn(encoding: T5Bias) -> T5Bias:
    """With numbers that differ, as after training."""
    encoding.table.normal_(generator=torch.Generator().manual_seed(0))
    return encoding


# ---------------------------------------------------------------- the buckets


@pytest.mark.parametrize(("n_buckets", "furthest", "both_ways"), SETTINGS)
def test_buckets_are_those_of_the_library_at_every_distance(
    n_buckets: int, furthest: int, both_ways: bool
) -> None:
    """It counts the other way: a key's position minus its query's."""
    distance = torch.arange(-5 * furthest, 5 * furthest + 1)
    expected = T5Attention._relative_position_bucket(-distance, both_ways, n_buckets, furthest)
    assert torch.equal(bucket(distance, n_buckets, furthest, both_ways), expected)


@given(n_buckets=st.integers(2, 24), more=st.integers(1, 500))
@example(n_buckets=9, more=124)  # 4, 8, ..., 64: in floats the last is 64.00000000000001
def test_each_wide_bucket_begins_where_whole_numbers_say(n_buckets: int, more: int) -> None:
    """At the first d with (d / single)^wide at least (furthest / single)^j: no logarithm, no rounding."""
    single, furthest = n_buckets // 2, n_buckets // 2 + more
    wide, starts = n_buckets - single, bucket_starts(n_buckets, furthest)
    assert starts[:single] == list(range(single))
    for j, start in enumerate(starts[single:]):
        bound = furthest**j * single ** (wide - j)
        assert start**wide >= bound
        assert start == single or (start - 1) ** wide < bound


def test_the_usual_buckets() -> None:
    wide = [16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]
    assert bucket_starts(32, 128) == [*range(16), *wide]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"n_buckets": 1}, r"n_buckets \(1\) must be a whole number from 2"),
        ({"n_buckets": 8.5}, r"n_buckets \(8.5\) must be a whole number"),
        ({"n_buckets": 8, "furthest": 4}, r"furthest \(4\) must be above 4"),
        ({"n_buckets": 9, "both_ways": True}, r"n_buckets \(9\) must be even"),
        ({"n_buckets": 2, "both_ways": True}, r"n_buckets \(2\) must be even and at least 4"),
        ({"n_head": 0}, r"n_head \(0\) must be at least 1"),
    ],
)
def test_numbers_that_make_no_buckets_are_named(wrong: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        T5Bias(**{"n_head": 2, **wrong})


# ---------------------------------------------------------------- the bias


@given(
    m=st.lists(st.integers(0, 300), min_size=1, max_size=5),
    n=st.lists(st.integers(0, 300), min_size=1, max_size=5),
    both_ways=st.booleans(),
)
def test_bias_is_the_tables_number_for_each_distance(m: list[int], n: list[int], both_ways: bool) -> None:
    encoding = drawn(T5Bias(3, 8, 40, both_ways))
    bias = encoding.score_bias(Positions(torch.tensor(m)), Positions(torch.tensor(n)))
    assert bias.shape == (3, len(m), len(n))
    for i, a in enumerate(m):
        for j, b in enumerate(n):
            found = bucket(torch.tensor(a - b), 8, 40, both_ways)
            assert torch.equal(bias[:, i, j], encoding.table[found])


@pytest.mark.parametrize("B", [1, 3, 4])
def test_bias_of_a_batch_is_that_of_each_row(B: int) -> None:
    """Four rows meet four heads: neither may be taken for the other."""
    time = torch.tensor([[0, 1, 2], [0, 3, 9], [5, 6, 20], [1, 40, 41]])[:B]
    encoding = drawn(T5Bias(4))
    together = encoding.score_bias(Positions(time), Positions(time))
    assert together.shape == (B, 4, 3, 3)
    for b in range(B):
        assert torch.equal(together[b], encoding.score_bias(Positions(time[b]), Positions(time[b])))


def test_it_begins_without_an_encoding_and_learns_the_buckets_it_meets() -> None:
    encoding, here = T5Bias(2, 8, 40), Positions.arange(6)
    bias = encoding.score_bias(here, here)
    assert not bias.any()
    bias.tril().square().add(bias.tril()).sum().backward()
    met = bucket(torch.arange(6), 8, 40).unique()
    assert encoding.table.grad.nonzero()[:, 0].unique().tolist() == met.tolist()


def test_scores_depend_on_the_distance_alone() -> None:
    assert invariants.shift_invariant(drawn(T5Bias(2)), n_head=2).holds


def test_both_ways_tells_ahead_from_behind_and_one_way_takes_what_is_ahead_for_the_query_itself() -> None:
    here = Positions.arange(9)
    one, both = (drawn(T5Bias(1, 8, 40, way)).score_bias(here, here)[0] for way in (False, True))
    assert (one.triu() == one[0, 0] * torch.ones(9, 9).triu()).all()
    assert (both != both.T).sum() == 9 * 8
