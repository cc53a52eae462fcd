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


def test_the_plain_model_begins_as_gpt_2_does():
    torch.manual_seed(0)
    model = PlainGPT(ModelConfig(50, 64, n_layer=8, n_head=4, n_embd=64))
    assert model.head.weight is model.token_embedding.weight
    for name, p in model.named_parameters():
        if name.endswith("bias"):
            assert not p.any(), name
        elif p.ndim > 1:
            added = name.endswith(("out_proj.weight", "linear2.weight"))
            assert p.std().item() == pytest.approx(0.005 if added else 0.02, rel=0.1), name  # 0.02 / sqrt(16)


def test_gains_and_biases_do_not_decay():
    torch.manual_seed(0)
    model = PlainGPT(ModelConfig(8, 16, n_layer=1, n_head=2, n_embd=16))
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(1.0)

    class Nothing(NextToken):
        def loss(self, model, batch):
            return 0.0 * sum(p.sum() for p in model.parameters())

    list(train_plain(model, Nothing(CORPUS, 16), 100, 2, seed=0, rate=0.1))
    for p in model.parameters():
        assert (p == 1).all() if p.ndim < 2 else (p < 0.9).all()


def test_the_plain_recipe_learns():
    torch.manual_seed(0)
    model = PlainGPT(ModelConfig(8, 16, n_layer=1, n_head=2, n_embd=32))
    losses = [s.loss for s in train_plain(model, NextToken(CORPUS, 16), 400, 8, seed=0)]
    assert losses[0] == pytest.approx(2.08, abs=0.1)  # ln 8
    assert losses[-1] < 0.2
