"""A promise says whether it holds, and a text is read as its model reads it."""

import torch

from babygpt import invariants
from babygpt.invariants.base import text_logits
from babygpt.objectives import denoise


def test_a_promise_prints_its_mark():
    assert str(invariants.Promise("it holds", 0.0, 1.0)) == "✓ it holds"
    assert str(invariants.Promise("it fails", 2.0, 1.0)) == "✗ it fails"


def test_a_text_is_read_as_it_is_where_it_is_filled_in(awake):
    model, idx = awake("v7"), torch.tensor([3, 10, 4, 10, 10, 5])
    assert torch.equal(text_logits(model, idx)[:, :10], denoise(model, idx[None])[0])


def test_and_as_ever_where_it_is_not(awake, text):
    model, idx = awake("v4"), text(9)
    assert torch.equal(text_logits(model, idx), model(idx[None])[0])
