"""v1 is a bigram model, whatever its weights; v2 knows its own position too, and nothing else."""

import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.models.base import BagOfTokens, BagWithPositions
from babygpt.objectives import cross_entropy
from babygpt.positions import Positions


def test_logits_are_a_row_of_one_table(awake, text) -> None:
    """Embedding times head is a (V, V) table; the logits after a token are its row."""
    model, idx = awake("v1"), text(3, 9)
    table = model.token_embedding.weight @ model.head.weight.T + model.head.bias
    assert torch.allclose(model(idx), table[idx], atol=1e-6)


def test_what_came_before_plays_no_part(awake, text) -> None:
    model, idx = awake("v1"), text(9)
    other = idx.clone()
    other[:-1] = (other[:-1] + 1) % 11
    assert torch.equal(model(idx[None])[:, -1], model(other[None])[:, -1])


def test_where_it_stands_plays_no_part_and_no_text_is_too_long(awake, text) -> None:
    model, idx = awake("v1"), text(1, 99)  # block_size is 16
    assert torch.equal(model(idx), model(idx, Positions.arange(99, start=1000)))


def test_it_cannot_tell_who_loves_whom() -> None:
    """我爱你 and 你爱我, with the note's table of 4 tokens and 2 dimensions."""
    model = BagOfTokens(ModelConfig(vocab_size=4, n_head=1, n_embd=2))
    note = torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])
    model.token_embedding.weight.data = note
    seen: list[torch.Tensor] = []
    model.head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    model(torch.tensor([[0, 1, 2]]))
    model(torch.tensor([[2, 1, 0]]))
    assert torch.equal(seen[0], note[None, [0, 1, 2]])
    assert torch.equal(seen[1], seen[0].flip(1))


@pytest.mark.parametrize(("V", "C"), [(11, 16), (65, 8)])
def test_it_has_the_notes_parameters_and_the_bias_that_the_note_forgets(V: int, C: int) -> None:
    model = BagOfTokens(ModelConfig(vocab_size=V, n_head=1, n_embd=C))
    assert sum(p.numel() for p in model.parameters()) == V * C + C * V + V


# ---------------------------------------------------------------- v2


def test_logits_come_from_token_plus_position(awake, text) -> None:
    model, idx = awake("v2"), text(3, 9)
    x = model.token_embedding.weight[idx] + model.encoding.table[:9]
    assert torch.allclose(model(idx), x @ model.head.weight.T + model.head.bias, atol=1e-6)


def test_what_came_before_plays_no_part_but_the_position_does(awake, text) -> None:
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


def test_a_position_beyond_the_table_is_refused(awake, text) -> None:
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
