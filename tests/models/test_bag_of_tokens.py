"""v1 is a bigram model, whatever its weights."""

import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.models.bag_of_tokens import BagOfTokens
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
