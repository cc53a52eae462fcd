"""A row for each position, and no row for any other."""

import pytest
import torch

from babygpt.encodings.learned import LearnedPositions, look_up
from babygpt.errors import BadInput
from babygpt.positions import Positions


def test_look_up_reads_the_rows_it_is_asked_for() -> None:
    table = torch.arange(12.0).view(4, 3)
    assert look_up(table, torch.tensor([3, 0, 3])).tolist() == [[9, 10, 11], [0, 1, 2], [9, 10, 11]]
    assert look_up(table, torch.tensor([[1], [2]])).shape == (2, 1, 3)


@pytest.mark.parametrize("position", [4, 5, 1000, -1, -4])
def test_a_position_without_a_row_is_refused_by_name(position: int) -> None:
    """Never a silent clamp, and never Python's counting from the end."""
    with pytest.raises(ValueError, match=rf"position {position} .* 0 to 3"):
        look_up(torch.zeros(4, 3), torch.tensor([0, position, 1]))


@pytest.mark.parametrize("between", [0.5, 2.0])
def test_a_position_between_two_rows_is_refused(between: float) -> None:
    with pytest.raises(BadInput, match="float32 have no rows"):
        look_up(torch.zeros(4, 3), torch.tensor([0, between]))


def test_embed_adds_the_rows_to_every_text_of_a_batch() -> None:
    encoding = LearnedPositions(8, 4)
    x = torch.randn(2, 3, 4)
    added = encoding.embed(x, Positions.arange(3, start=5)) - x
    assert torch.allclose(added, encoding.table[5:8].expand(2, 3, 4), atol=1e-6)


def test_the_last_row_is_there_and_the_next_is_not() -> None:
    encoding = LearnedPositions(8, 4)
    encoding.embed(torch.zeros(1, 8, 4), Positions.arange(8))
    with pytest.raises(ValueError, match="position 8"):
        encoding.embed(torch.zeros(1, 9, 4), Positions.arange(9))


def test_only_rows_that_were_read_learn() -> None:
    encoding = LearnedPositions(8, 4)
    encoding.embed(torch.zeros(2, 3, 4), Positions.arange(3, start=2)).sum().backward()
    assert encoding.table.grad.abs().sum(dim=1).tolist() == [0, 0, 8, 8, 8, 0, 0, 0]
