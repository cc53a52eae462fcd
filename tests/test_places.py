"""Where tokens stand."""

from dataclasses import FrozenInstanceError

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.places import Places


@given(n=st.integers(1, 50), start=st.integers(0, 1000))
def test_counting_gives_neighbours_from_start(n: int, start: int) -> None:
    places = Places.count(n, start)
    assert places.time.tolist() == list(range(start, start + n))
    assert (len(places), places.furthest) == (n, start + n - 1)


def test_rows_of_a_batch_count_as_one_length() -> None:
    places = Places(torch.tensor([[0, 1, 2], [7, 8, 9]]))
    assert (len(places), places.furthest) == (3, 9)


def test_branch_and_mask_are_unknown_unless_told() -> None:
    places = Places.count(3)
    assert places.branch is None
    assert places.masked is None


def test_places_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Places.count(3).time = torch.zeros(3)
