"""The plain recipe is the plain recipe: PyTorch's layers, causal, and able to learn."""

import pytest
import torch

from babygpt import invariants
from babygpt.config import ModelConfig
from babygpt.data.corpus import from_text
from babygpt.objectives import NextToken
from benchmarks.plain_gpt import PlainGPT, train_plain

CORPUS = from_text("abc", "abcdefgh" * 300)


def test_the_plain_model_is_causal_and_knows_order():
    torch.manual_seed(0)
    model = PlainGPT(ModelConfig(8, 16, n_layer=2, n_head=2, n_embd=16)).double()
    idx = torch.arange(8)
    assert invariants.causal(model, idx).holds
    assert not invariants.order_blind(model, idx).holds


def test_the_plain_recipe_learns():
    torch.manual_seed(0)
    model = PlainGPT(ModelConfig(8, 16, n_layer=1, n_head=2, n_embd=32))
    losses = [s.loss for s in train_plain(model, NextToken(CORPUS, 16), 400, 8, seed=0)]
    assert losses[0] == pytest.approx(2.08, abs=0.1)  # ln 8
    assert losses[-1] < 0.2
