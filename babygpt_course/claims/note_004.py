"""Measurements of note 004: learned positions, v1 and v2."""

from typing import TypeVar

import torch
import torch.nn.functional as F

from babygpt.config import ModelConfig
from babygpt.errors import BadInput
from babygpt.models.language_model import BagOfTokens, BagWithPositions
from babygpt_course.claims.claim import Finding, decide, measured_on

NOTE = "004_efa10201a3cae12e.txt"
UNTRAINED = "an untrained model with random weights; for this it takes no training"
COUNTED = "the note's code at V = 65, T = 8, D = 32"
Bag = TypeVar("Bag", bound=BagOfTokens | BagWithPositions)


def untrained(kind: type[Bag], vocab_size: int = 65, block_size: int = 8, n_embd: int = 32) -> Bag:
    """Return a v1 or v2 with random weights, the same ones in every call."""
    torch.manual_seed(0)
    return kind(ModelConfig(vocab_size, block_size, n_embd=n_embd, n_head=1))


def parameters(model: torch.nn.Module) -> int:
    """Count the trainable numbers of a model."""
    return sum(p.numel() for p in model.parameters())


def tells_sentences_apart(kind: type[BagOfTokens | BagWithPositions], claimed: bool) -> Finding:
    """Measure how far apart the log-probabilities are that a model gives to 我爱你 and to 你爱我.

    claimed  whether the note says that the model tells the two apart, or that it cannot
    """
    ids = torch.tensor([[0, 1, 2], [2, 1, 0]])
    logits = untrained(kind, 4, 3, 2)(ids[:, :-1]).detach()
    loss = F.cross_entropy(logits.mT, ids[:, 1:], reduction="none").sum(dim=1)
    apart, after = float((loss[0] - loss[1]).abs()), float((logits[0, -1] - logits[1, -1]).abs().max())
    reason = f"their log-probabilities differ by {apart:.2f}, for their pairs of neighbours differ; what "
    reason += f"follows 我爱 and 你爱 is predicted {'otherwise' if after else 'alike'}: "
    reason += "no token sees the one before it"
    return Finding(decide((apart > 0) == claimed, (after > 0) == claimed), apart, reason)


v1_cannot_tell_sentences_apart = measured_on(UNTRAINED)(lambda: tells_sentences_apart(BagOfTokens, False))
v2_tells_sentences_apart = measured_on(UNTRAINED)(lambda: tells_sentences_apart(BagWithPositions, True))


def knows_position(kind: type[BagOfTokens | BagWithPositions], claimed: bool, reason: str) -> Finding:
    """Measure the difference between a model's outputs after the first and the third character of 我爱我."""
    after_first, _, after_third = untrained(kind, 4, 3, 2)(torch.tensor([[0, 1, 0]]))[0].detach()
    gap = float((after_first - after_third).abs().max())
    return Finding(decide((gap > 0) == claimed), gap, reason)


v1_codes_do_not_know_their_position = measured_on(UNTRAINED)(
    lambda: knows_position(BagOfTokens, False, "the same row of one table is read both times")
)
v2_codes_know_their_position = measured_on(UNTRAINED)(
    lambda: knows_position(
        BagWithPositions, True, "another row is added at the other position, and the head reads the sum"
    )
)


@measured_on("the note's six sums")
def the_sums_are_right() -> Finding:
    """Compare the note's sums for one character at two positions with ours."""
    token = torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])
    position = torch.tensor([[0.01, 0.02], [0.03, 0.04], [0.05, 0.06]])
    codes = torch.stack([token[[0, 1, 2]] + position, token[[2, 1, 0]] + position])  # both sentences
    one, other = [[0.11, 0.22], [0.33, 0.44], [0.55, 0.66]], [[0.51, 0.62], [0.33, 0.44], [0.15, 0.26]]
    error = float((codes - torch.tensor([one, other])).abs().max())
    return Finding(decide(error < 1e-6), error, "the note's sums are right")


@measured_on(COUNTED)
def counts_are_right() -> Finding:
    """Count parameters of v1 and v2 beyond the note's formulas V D + D V and V D + T D + D V."""
    V, T, D = 65, 8, 32
    v1 = parameters(untrained(BagOfTokens, V, T, D)) - (V * D + D * V)
    v2 = parameters(untrained(BagWithPositions, V, T, D)) - (V * D + T * D + D * V)
    reason = f"nn.Linear has a bias: {v1} parameters are missing from both formulas, one for each of {V} "
    return Finding(decide(v1 == v2 == 0), float(v1), f"{reason}tokens")


@measured_on(COUNTED)
def the_increment_is_one_table() -> Finding:
    """Count parameters that v2 adds to v1, beyond block_size n_embd."""
    extra = parameters(untrained(BagWithPositions)) - parameters(untrained(BagOfTokens)) - 8 * 32
    return Finding(decide(extra == 0), float(extra), "one row of n_embd numbers a position")


@measured_on(UNTRAINED)
def long_inputs_are_cut() -> Finding:
    """Measure how far the output for ten tokens is from the output for the last eight of them."""
    model, ids = untrained(BagWithPositions), torch.randint(65, (1, 10))
    logits, expected = model(ids).detach(), model(ids[:, -8:]).detach()
    gap = float((logits - expected).abs().max()) if logits.shape == expected.shape else float("inf")
    return Finding(decide(gap == 0), gap, "the last eight of ten tokens are read, at positions 0 to 7")


@measured_on(UNTRAINED)
def writing_goes_on_past_the_table() -> Finding:
    """Count tokens that the note's own loop, which cuts nothing, writes past v2's last position."""
    model, ids = untrained(BagWithPositions), torch.zeros(2, 1).long()
    written = 0
    try:
        for _ in range(24):
            ids = torch.cat([ids, model(ids)[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
            written += ids.shape[1] > 8
    except (BadInput, IndexError, RuntimeError):
        pass
    return Finding(decide(written == 17), float(written), f"of 17 tokens past the eighth it writes {written}")


@measured_on(UNTRAINED)
def adding_mixes_token_and_position() -> Finding:
    """Measure the interaction of token and position in v2's logits: zero if each just adds its own part."""
    model = untrained(BagWithPositions, 5, 4, 8)
    rows = torch.stack([model(torch.full((1, 4), t))[0] for t in range(5)]).double()  # (token, position, V)
    main = rows.mean(0, keepdim=True) + rows.mean(1, keepdim=True) - rows.mean((0, 1), keepdim=True)
    interaction = float((rows - main).abs().max().detach())
    reason = "their sum has the width of one, so they share a space; but one linear head reads it, and there "
    reason += "token and position each add a part of their own, as if concatenated"
    one_space = model.head.in_features == model.config.n_embd
    return Finding(decide(one_space, interaction > 1e-5), interaction, reason)
