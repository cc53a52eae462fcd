"""Pairs: each token's row, that of the pair it makes with the one before, and a share of that one."""

import torch

from babygpt import invariants
from babygpt.config import ModelConfig
from benchmarks.pairs import PairEmbedding, build_with_pairs


def test_pairs_are_looked_up_one_by_one() -> None:
    torch.manual_seed(0)
    embed = PairEmbedding(5, 3).double()
    for p in embed.parameters():
        torch.nn.init.normal_(p)
    idx = torch.tensor([[4, 2, 2], [0, 3, 1]])
    got = embed(idx)
    for b in range(2):
        for t in range(3):
            before = int(idx[b, t - 1]) if t else 0
            want = embed.token.weight[idx[b, t]] + embed.pair.weight[before * 5 + int(idx[b, t])]
            if t:
                want = want + embed.share * embed.token.weight[before]
            torch.testing.assert_close(got[b, t], want)


def test_at_first_they_say_what_tokens_alone_say() -> None:
    embed = PairEmbedding(5, 3)
    idx = torch.randint(5, (2, 7))
    torch.testing.assert_close(embed(idx), embed.token(idx))


def test_a_version_with_pairs_is_causal_and_trains_every_weight() -> None:
    torch.manual_seed(0)
    model = build_with_pairs("v4", ModelConfig(8, 16, n_layer=1, n_head=2, n_embd=16))
    torch.nn.init.normal_(model.head.weight)
    torch.nn.init.normal_(model.token_embedding.pair.weight)
    torch.nn.init.normal_(model.token_embedding.share)
    assert invariants.causal(model, torch.arange(8)).holds
    model(torch.arange(8)[None]).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in model.token_embedding.parameters())
