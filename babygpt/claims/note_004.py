"""The claims of note 004: versions 1 and 2."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from babygpt.claims.base import Claim, Finding, decide
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.models.bag_of_tokens import BagOfTokens, BagWithPositions
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.training import train

NOTE = "004_efa10201a3cae12e.txt"


def parameters(model: torch.nn.Module) -> int:
    """Trainable numbers of a model."""
    return sum(p.numel() for p in model.parameters())


def v1_cannot_tell_sentences_apart() -> Finding:
    """Log-probabilities that a v1 gives to two orders of the same three characters."""
    torch.manual_seed(0)
    model = BagOfTokens(ModelConfig(vocab_size=4, block_size=3, n_embd=2, n_head=1))
    ada, loves, ben = 0, 1, 2
    logs = [
        F.cross_entropy(model(torch.tensor([s[:-1]]))[0], torch.tensor(s[1:]), reduction="sum").item()
        for s in ([ada, loves, ben], [ben, loves, ada])
    ]
    gap = abs(logs[0] - logs[1])
    return Finding(
        "fails" if gap > 0 else "holds",
        gap,
        "v1 is a bigram model: each pair of neighbours has its own probability, and the pairs differ",
    )


def v1_codes_do_not_know_their_place() -> Finding:
    """Difference between the codes of one character at two places in v1."""
    torch.manual_seed(0)
    model = BagOfTokens(ModelConfig(vocab_size=4, block_size=3, n_embd=2, n_head=1))
    x = model.token_embedding(torch.tensor([0, 1, 0])).detach()
    gap = float((x[0] - x[2]).abs().max())
    return Finding(decide(gap == 0), gap, "the same row of one table is read both times")


def v2_codes_know_their_place() -> Finding:
    """Difference between the codes of one character at two places, with the note's own numbers."""
    token = torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])
    position = torch.tensor([[0.01, 0.02], [0.03, 0.04], [0.05, 0.06]])
    codes = torch.cat([token[[0, 1, 2]] + position, token[[2, 1, 0]] + position])  # both sentences
    expected = torch.tensor(
        [[0.11, 0.22], [0.33, 0.44], [0.55, 0.66], [0.51, 0.62], [0.33, 0.44], [0.15, 0.26]]
    )
    error = float((codes - expected).abs().max())
    return Finding(decide(error < 1e-6), error, "the note's sums are right")


def v2_tells_who_stood_before() -> Finding:
    """Change of v2's prediction after "love" when the character before it is another one."""
    torch.manual_seed(0)
    model = BagWithPositions(ModelConfig(vocab_size=4, block_size=3, n_embd=2, n_head=1))
    one, other = model(torch.tensor([[0, 1]]))[0, -1], model(torch.tensor([[2, 1]]))[0, -1]
    gap = float((one - other).abs().max().detach())
    return Finding(
        decide(gap > 0),
        gap,
        "a code for the place is not enough: without attention no token sees who stood before it",
    )


def position_helps(aligned: bool, steps: int = 300) -> float:
    """By how many nats per character v2 beats v1 on the tales, windows aligned at line starts or not."""
    corpus = load_corpus("tales", n_chars=200_000)
    losses = []
    for version in ("v1", "v2"):
        config = ModelConfig(corpus.tokenizer.vocab_size, block_size=32, n_embd=64)
        objective = NextToken(corpus, config.block_size, aligned)
        torch.manual_seed(0)
        model = build(version, config)
        for _ in train(model, objective, TrainConfig(steps=steps, batch_size=64, lr_other=0.03)):
            pass
        losses.append(objective.validate(model))
    return losses[0] - losses[1]


def position_lets_v2_tell_sentences_apart() -> Finding:
    """The gain of v2 over v1 on aligned sentences, against random windows."""
    aligned, anywhere = position_helps(aligned=True), position_helps(aligned=False)
    return Finding(
        "depends",
        aligned,
        f"aligned at a line's start it gains {aligned:.3f} nats per character, anywhere {anywhere:.3f}",
    )


def counts_are_right() -> Finding:
    """Parameters of v1 and v2 beyond the note's formulas V D + D V and V D + T D + D V."""
    V, T, D = 65, 8, 32
    config = ModelConfig(V, T, n_embd=D)
    v1 = parameters(BagOfTokens(config)) - (V * D + D * V)
    v2 = parameters(BagWithPositions(config)) - (V * D + T * D + D * V)
    return Finding(
        decide(v1 == v2 == 0),
        float(v1),
        f"nn.Linear has a bias: {v1} parameters are missing from both formulas, one for each of {V} tokens",
    )


def the_increment_is_one_table() -> Finding:
    """Parameters that v2 adds to v1, beyond block_size n_embd."""
    config = ModelConfig(65, 8, n_embd=32)
    extra = parameters(BagWithPositions(config)) - parameters(BagOfTokens(config)) - 8 * 32
    return Finding(decide(extra == 0), float(extra), "one row of n_embd numbers a position")


def truncation_is_harmless() -> Finding:
    """Targets left over when the note's forward cuts 10 inputs to its 8 positions."""
    model = BagWithPositions(ModelConfig(65, block_size=8, n_embd=32))
    logits = model(torch.zeros(1, 10, dtype=torch.long))
    left_over = 10 - logits.shape[1]
    return Finding(
        decide(left_over == 0),
        float(left_over),
        "the inputs are cut and the targets are not: cross_entropy then gets two lengths and raises",
    )


def adding_mixes_token_and_position() -> Finding:
    """Interaction of token and position in v2's logits: zero if each just adds its own part."""
    torch.manual_seed(0)
    model = BagWithPositions(ModelConfig(5, block_size=4, n_embd=8))
    rows = torch.stack([model(torch.full((1, 4), t))[0] for t in range(5)]).double()  # (token, place, V)
    main = rows.mean(0, keepdim=True) + rows.mean(1, keepdim=True) - rows.mean((0, 1), keepdim=True)
    interaction = float((rows - main).abs().max().detach())
    return Finding(
        decide(interaction > 1e-5),
        interaction,
        "under one linear head a sum is no fusion: token and place vote separately, as if concatenated",
    )


def concatenation_doubles_the_head() -> Finding:
    """Weights of the head over a concatenation, as a multiple of the head over a sum."""
    ratio = torch.nn.Linear(2 * 32, 65).weight.numel() / torch.nn.Linear(32, 65).weight.numel()
    return Finding(decide(ratio == 2), ratio, "the next layer reads 2D channels")


CLAIMS: tuple[Claim, ...] = (
    Claim(NOTE, "v1 cannot tell 我爱你 from 你爱我", v1_cannot_tell_sentences_apart),
    Claim(NOTE, "in v1 a character has the same code at every place", v1_codes_do_not_know_their_place),
    Claim(NOTE, "the note's worked table of sums is right", v2_codes_know_their_place),
    Claim(NOTE, "with a code for each place v2 knows who loves whom", v2_tells_who_stood_before),
    Claim(NOTE, "knowing the place helps prediction", position_lets_v2_tell_sentences_apart),
    Claim(NOTE, "v1 has VD + DV parameters, v2 VD + TD + DV", counts_are_right),
    Claim(NOTE, "v2 adds block_size × n_embd parameters to v1", the_increment_is_one_table),
    Claim(NOTE, "cutting long inputs inside forward is all it takes", truncation_is_harmless),
    Claim(NOTE, "adding mixes token and position in one space", adding_mixes_token_and_position),
    Claim(NOTE, "concatenating would double the next layer", concatenation_doubles_the_head),
)
