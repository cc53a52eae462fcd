"""A table with a row for each position, and no row for any other."""

import pytest
import torch

from babygpt.encodings.learned import LearnedPositions, look_up
from babygpt.positions import Positions


def test_look_up_reads_rows() -> None:
    table = torch.arange(12.0).view(4, 3)
    assert look_up(table, torch.tensor([3, 0, 3])).tolist() == [[9, 10, 11], [0, 1, 2], [9, 10, 11]]
    assert look_up(table, torch.tensor([[1], [2]])).shape == (2, 1, 3)


def test_positions_without_a_row_are_refused() -> None:
    """Require no clamping, and no counting from the end as Python does."""
    for position in (4, 5, 1000, -1, -4):
        with pytest.raises(ValueError, match=rf"position {position} .* 0 to 3"):
            look_up(torch.zeros(4, 3), torch.tensor([0, position, 1]))


def test_embed_adds_rows_up_to_the_last() -> None:
    encoding, x = LearnedPositions(8, 4), torch.randn(2, 3, 4)
    added = encoding.embed(x, Positions.arange(3, start=5)) - x
    assert torch.allclose(added, encoding.table[5:8].expand(2, 3, 4), atol=1e-6)
    with pytest.raises(ValueError, match="position 8"):
        encoding.embed(x, Positions.arange(3, start=6))


def test_only_rows_that_were_read_get_a_gradient() -> None:
    encoding = LearnedPositions(8, 4)
    encoding.embed(torch.zeros(2, 3, 4), Positions.arange(3, start=2)).sum().backward()
    assert encoding.table.grad.abs().sum(dim=1).tolist() == [0, 0, 8, 8, 8, 0, 0, 0]
