"""Positions, and the mask that follows from them."""

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.errors import BadInput
from babygpt.positions import Positions, Window, causal_mask


@given(n=st.integers(1, 50), start=st.integers(0, 1000))
def test_counting_gives_neighbours_from_start(n: int, start: int) -> None:
    positions = Positions.arange(n, start)
    assert positions.time.tolist() == list(range(start, start + n))
    assert len(positions) == n


@given(times=st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_positions_increase_if_each_is_later_than_the_one_before(times: list[int]) -> None:
    expected = all(here < there for here, there in pairwise(times))
    assert Positions(torch.tensor(times)).is_increasing == expected
    rows = Positions(torch.tensor([list(range(len(times))), times]))
    assert rows.is_increasing == expected


def test_several_texts_never_increase() -> None:
    """Include times that look increasing: attention's own causal mask knows nothing of branches."""
    assert not Positions(torch.arange(4), torch.zeros(4)).is_increasing


def test_joined_positions_keep_the_fields_that_both_have() -> None:
    first, second = (
        Positions(torch.arange(2), torch.tensor([0, 1])),
        Positions(torch.arange(5, 7), torch.tensor([1, 1])),
    )
    both = first.concat(second)
    assert (both.time.tolist(), both.branch.tolist()) == ([0, 1, 5, 6], [0, 1, 1, 1])
    assert first.concat(Positions.arange(1)).branch is None


@pytest.mark.parametrize("index", [torch.tensor([2, 0]), torch.tensor([True, False, True])])
def test_positions_are_selected_by_index_or_by_a_mask(index: torch.Tensor) -> None:
    time, branch, masked = (
        torch.tensor([4, 5, 9]),
        torch.tensor([0, 1, 0]),
        torch.tensor([True, False, False]),
    )
    selected = Positions(time, branch, masked).select(index)
    assert torch.equal(selected.time, time[index])
    assert torch.equal(selected.branch, branch[index])
    assert torch.equal(selected.masked, masked[index])
    assert Positions.arange(3).select(index).start is None


@given(n=st.integers(1, 5), start=st.integers(0, 9), m=st.integers(1, 5), gap=st.integers(-3, 3))
def test_joined_positions_keep_their_start_if_consecutive(n: int, start: int, m: int, gap: int) -> None:
    """Expect the same answers as from reading the tensor."""
    both = Positions.arange(n, start).concat(Positions.arange(m, start + n + gap)).to("cpu")
    assert both.start == (start if gap == 0 else None)
    assert both.is_increasing == (gap >= 0) == Positions(both.time).is_increasing
    several = Positions(both.time, torch.zeros(n + m), start=both.start)
    assert not several.is_increasing


# ---------------------------------------------------------------- positions of a model's tokens

WRONG = [
    lambda x: x[:1],  # one for all
    lambda x: torch.cat([x, x[:1]]),  # one too many
    lambda x: x[None],  # one row for two
    lambda x: x.expand(3, -1),  # another batch
    lambda x: x[None, None],  # another dimension
]


@pytest.mark.parametrize("version", ["v1", "v2", "v4", "v6", "v7"])
def test_a_model_needs_one_number_for_each_token(awake, text, one_text, version: str) -> None:
    model, idx, positions = awake(version), text(2, 5), one_text(version, 5)
    assert model(idx, positions).shape == (2, 5, 11)
    for name in ("time", "branch", "masked"):
        part = getattr(positions, name)
        wrong = [] if part is None else [change(part) for change in WRONG]
        for changed in wrong:
            with pytest.raises(BadInput, match=rf"positions\.{name}"):
                model(idx, replace(positions, **{name: changed}))


# ---------------------------------------------------------------- masks

TOKENS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=7)  # time, branch


def placed(tokens: list[tuple[int, int]], with_branch: bool = True) -> Positions:
    time, branch = torch.tensor(tokens).T
    return Positions(time, branch if with_branch else None)


def may_look(query: tuple[int, int], key: tuple[int, int], isolated: bool) -> bool:
    """State the rule: a token sees itself and earlier times, if isolated only those of its own branch."""
    if query[1] == key[1]:
        return key[0] <= query[0]
    return not isolated and key[0] < query[0]


@given(queries=TOKENS, keys=TOKENS, isolated=st.booleans())
def test_the_mask_follows_the_rule_for_every_pair(queries: list, keys: list, isolated: bool) -> None:
    got = causal_mask(placed(queries), placed(keys), isolated)
    assert got.shape == (1, len(queries), len(keys))
    for i, query in enumerate(queries):
        for j, key in enumerate(keys):
            assert got[0, i, j].item() == may_look(query, key, isolated)
    time_alone = causal_mask(placed(queries, with_branch=False), placed(keys, with_branch=False))
    assert time_alone[0].tolist() == [[key[0] <= query[0] for key in keys] for query in queries]


@given(
    rows=st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=4, max_size=4), min_size=1
    )
)
@pytest.mark.parametrize("isolated", [False, True])
def test_each_row_of_a_batch_has_its_own_mask(isolated: bool, rows: list) -> None:
    time, branch = torch.tensor(rows).permute(2, 0, 1)
    got = causal_mask(Positions(time, branch), Positions(time, branch), isolated)
    assert got.shape == (len(rows), 1, 4, 4)
    for b, row in enumerate(rows):
        assert torch.equal(got[b], causal_mask(placed(row), placed(row), isolated))


@pytest.mark.parametrize("side", ["neither", "queries", "keys"])
def test_isolation_of_unknown_branches_is_refused(side: str) -> None:
    with_branch, without = Positions(torch.arange(3), torch.zeros(3)), Positions.arange(3)
    queries, keys = (with_branch if side == name else without for name in ("queries", "keys"))
    with pytest.raises(ValueError, match=r"positions\.branch"):
        causal_mask(queries, keys, isolated=True)


# ---------------------------------------------------------------- parts of a window


@given(start=st.integers(0, 5), n=st.integers(0, 4), m=st.integers(0, 3))
def test_parts_of_a_window_are_positions_in_a_row(start: int, n: int, m: int) -> None:
    window = Window(12)
    first, second = window.part(start, n), window.part(start + n, m)
    for positions, expected in (
        (first, Positions.arange(n, start)),
        (first.concat(second), Positions.arange(n + m, start)),
        (first.concat(Positions.arange(m, start + n)), Positions.arange(n + m, start)),
        (first.concat(window.part(0, 2)), Positions.arange(n, start).concat(Positions.arange(2))),
    ):
        assert torch.equal(positions.time, expected.time)
        assert positions.start == expected.start
    assert first.concat(second).window is window


def test_a_window_makes_a_table_once_for_each_owner() -> None:
    window, owners, lengths = Window(6), (object(), object()), []

    def squares(time: torch.Tensor) -> torch.Tensor:
        lengths.append(len(time))
        return time**2

    for positions in (window.part(0, 2), window.part(2, 3), window.part(0, 2).concat(window.part(2, 3))):
        for owner in owners:
            assert torch.equal(positions.table(owner, squares), positions.time**2)
    assert lengths == [6, 6]


def test_positions_outside_a_window_make_each_table_anew() -> None:
    """Keep no table of positions that training may use again with other weights."""
    positions = Positions.arange(3)
    tables = [positions.table("owner", lambda time, factor=factor: factor * time) for factor in (1, 2)]
    assert [table.tolist() for table in tables] == [[0, 1, 2], [0, 2, 4]]
