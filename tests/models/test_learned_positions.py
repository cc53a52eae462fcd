"""v2 knows its own token and its own place, and nothing else."""

import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.models.learned_positions import BagWithPositions
from babygpt.objectives import cross_entropy
from babygpt.positions import Positions


def test_logits_come_from_token_plus_position(awake, text) -> None:
    model, idx = awake("v2"), text(3, 9)
    x = model.token_embedding.weight[idx] + model.encoding.table[:9]
    assert torch.allclose(model(idx), x @ model.head.weight.T + model.head.bias, atol=1e-6)


def test_what_came_before_plays_no_part_but_the_place_does(awake, text) -> None:
    model, idx = awake("v2"), text(9)
    other = idx.clone()
    other[:-1] = (other[:-1] + 1) % 11
    assert torch.equal(model(idx[None])[:, -1], model(other[None])[:, -1])
    elsewhere = model(idx[None], Positions.arange(9, start=2))
    assert (elsewhere - model(idx[None])).abs().max() > 0.1


@pytest.mark.parametrize("extra", [1, 5, 16, 40])
def test_long_text_is_cut_to_its_last_window(awake, text, extra: int) -> None:
    model, idx = awake("v2"), text(2, 16 + extra)
    assert torch.equal(model(idx), model(idx[:, extra:]))


def test_loss_of_a_long_text_is_that_of_its_last_window(awake, text) -> None:
    """The note cuts the inputs and forgets the targets."""
    model, idx = awake("v2"), text(2, 30)
    x, y = idx[:, :-1], idx[:, 1:]
    expected = cross_entropy(model(x[:, -16:]), y[:, -16:])
    assert expected.shape == (2, 16)
    assert torch.equal(cross_entropy(model(x), y), expected)


def test_a_place_beyond_the_table_is_refused(awake, text) -> None:
    with pytest.raises(ValueError, match=r"position 16 .* 0 to 15"):
        awake("v2")(text(1, 3), Positions.arange(3, start=14))


def test_the_notes_example_by_hand() -> None:
    """我 differs at place 0 and place 2: the tables of the note's section 2.3."""
    model = BagWithPositions(ModelConfig(vocab_size=4, block_size=3, n_head=1, n_embd=2))
    model.token_embedding.weight.data = torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])
    model.encoding.table.data = torch.tensor([[0.01, 0.02], [0.03, 0.04], [0.05, 0.06]])
    seen: list[torch.Tensor] = []
    model.head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0][0]))
    model(torch.tensor([[0, 1, 2]]))
    model(torch.tensor([[2, 1, 0]]))
    i_love_you = torch.tensor([[0.11, 0.22], [0.33, 0.44], [0.55, 0.66]])
    you_love_me = torch.tensor([[0.51, 0.62], [0.33, 0.44], [0.15, 0.26]])
    assert torch.allclose(seen[0], i_love_you)
    assert torch.allclose(seen[1], you_love_me)


def test_it_has_one_row_for_each_position_more_than_v1() -> None:
    model = BagWithPositions(ModelConfig(vocab_size=11, block_size=20, n_head=1, n_embd=8))
    assert sum(p.numel() for p in model.parameters()) == (11 * 8 + 8 * 11 + 11) + 20 * 8
