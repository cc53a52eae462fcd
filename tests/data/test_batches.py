"""Windows of a text: nothing lost, nothing counted twice."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.data.batches import cut, line_starts, require_window, whole_split


@given(n=st.integers(2, 300), block_size=st.integers(1, 40), batch_size=st.integers(1, 9))
def test_every_token_is_a_target_once(n: int, block_size: int, batch_size: int) -> None:
    """All but the first, which nothing comes before."""
    ids = 1000 + torch.arange(n)
    targets: Counter[int] = Counter()
    for x, y in whole_split(ids, block_size, batch_size):
        assert x.shape == y.shape
        assert x.shape[0] <= batch_size
        assert x.shape[1] <= block_size
        assert torch.equal(y, x + 1)  # each target is the token after its input
        targets.update(y.flatten().tolist())
    assert targets == Counter(range(1001, 1000 + n))


@given(n=st.integers(2, 300), block_size=st.integers(1, 40))
def test_only_the_last_window_is_short(n: int, block_size: int) -> None:
    lengths = [x.shape[1] for x, _ in whole_split(torch.arange(n), block_size)]
    assert all(length == block_size for length in lengths[:-1])


@pytest.mark.parametrize("n", [0, 1])
def test_text_without_a_target_is_refused_with_its_length(n: int) -> None:
    with pytest.raises(ValueError, match=rf"{n} tokens.* 2"):
        list(whole_split(torch.arange(n), 4))


def test_cut_takes_neighbours_from_each_start() -> None:
    ids = torch.arange(10) * 10
    assert cut(ids, torch.tensor([0, 7, 2]), 3).tolist() == [
        [0, 10, 20],
        [70, 80, 90],
        [20, 30, 40],
    ]


@given(text=st.text("ab\n", max_size=60), length=st.integers(1, 12))
def test_line_starts_are_after_line_ends_with_room_left(text: str, length: int) -> None:
    ids = torch.tensor(["ab\n".index(c) for c in text], dtype=torch.long)
    expected = [
        i for i in range(len(text) + 1) if (i == 0 or text[i - 1] == "\n") and i + length <= len(text)
    ]
    assert line_starts(ids, newline=2, length=length).tolist() == expected


def test_window_needs_one_token_more_for_its_last_target() -> None:
    require_window(torch.arange(9), 8)
    with pytest.raises(ValueError, match=r"8 tokens.*block_size 8.*at least 9"):
        require_window(torch.arange(8), 8)
