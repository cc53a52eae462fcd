"""Measurements of note 004: learned positions, v1 and v2."""

from typing import TypeVar

import torch
import torch.nn.functional as F

from babygpt.config import ModelConfig
from babygpt.errors import BadInput
from babygpt.models.language_model import BagOfTokens, BagWithPositions
from babygpt_course.claims.claim import Finding, decide, measured_on

NOTE = "004_efa10201a3cae12e.txt"
UNTRAINED = "an untrained model with random weights; the result needs no training"
COUNTED = "the note's code with V = 65, T = 8, D = 32"
Bag = TypeVar("Bag", bound=BagOfTokens | BagWithPositions)


def untrained_bag(kind: type[Bag], vocab_size: int = 65, block_size: int = 8, n_embd: int = 32) -> Bag:
    """Return a v1 or v2 with random weights, which are equal in every call."""
    torch.manual_seed(0)
    return kind(ModelConfig(vocab_size, block_size, n_embd=n_embd, n_head=1))


def parameters(model: torch.nn.Module) -> int:
    """Count the trainable parameters of a model."""
    return sum(p.numel() for p in model.parameters())


def tells_sentences_apart(kind: type[BagOfTokens | BagWithPositions], claimed: bool) -> Finding:
    """Measure the difference between the log-probabilities of 我爱你 and 你爱我 under a model.

    claimed  True if the note says that the model tells the two apart, False if it says that it cannot
    """
    ids = torch.tensor([[0, 1, 2], [2, 1, 0]])
    logits = untrained_bag(kind, 4, 3, 2)(ids[:, :-1]).detach()
    loss = F.cross_entropy(logits.mT, ids[:, 1:], reduction="none").sum(dim=1)
    gap, next_gap = float((loss[0] - loss[1]).abs()), float((logits[0, -1] - logits[1, -1]).abs().max())
    reason = (
        f"The sentences' log-probabilities differ by {gap:.2f} nats, because their pairs of "
        "neighbours differ. The character after 我爱 and after 你爱 is predicted "
        f"{'differently' if next_gap else 'alike'}, because no token sees the one before it."
    )
    return Finding(decide((gap > 0) == claimed, (next_gap > 0) == claimed), gap, reason)


v1_cannot_tell_sentences_apart = measured_on(UNTRAINED)(lambda: tells_sentences_apart(BagOfTokens, False))
v2_tells_sentences_apart = measured_on(UNTRAINED)(lambda: tells_sentences_apart(BagWithPositions, True))


def knows_position(kind: type[BagOfTokens | BagWithPositions], claimed: bool, reason: str) -> Finding:
    """Measure the difference between a model's outputs after the first and the third character of 我爱我."""
    after_first, _, after_third = untrained_bag(kind, 4, 3, 2)(torch.tensor([[0, 1, 0]]))[0].detach()
    gap = float((after_first - after_third).abs().max())
    return Finding(decide((gap > 0) == claimed), gap, reason)


v1_codes_do_not_know_their_position = measured_on(UNTRAINED)(
    lambda: knows_position(BagOfTokens, False, "At every position v1 reads the same row of its table.")
)
v2_codes_know_their_position = measured_on(UNTRAINED)(
    lambda: knows_position(
        BagWithPositions, True, "v2 adds a different row at each position, and the head reads the sum."
    )
)


@measured_on("the note's six sums")
def the_sums_are_right() -> Finding:
    """Measure the largest difference between the note's sums and ours, for both sentences."""
    token = torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])
    position = torch.tensor([[0.01, 0.02], [0.03, 0.04], [0.05, 0.06]])
    codes = torch.stack([token[[0, 1, 2]] + position, token[[2, 1, 0]] + position])  # both sentences
    first_sums, second_sums = (
        [[0.11, 0.22], [0.33, 0.44], [0.55, 0.66]],
        [[0.51, 0.62], [0.33, 0.44], [0.15, 0.26]],
    )
    error = float((codes - torch.tensor([first_sums, second_sums])).abs().max())
    return Finding(decide(error < 1e-6), error, "All six sums agree with ours.")


@measured_on(COUNTED)
def counts_are_right() -> Finding:
    """Count the parameters that v1 and v2 have beyond the formulas V D + D V and V D + T D + D V."""
    V, T, D = 65, 8, 32
    v1 = parameters(untrained_bag(BagOfTokens, V, T, D)) - (V * D + D * V)
    v2 = parameters(untrained_bag(BagWithPositions, V, T, D)) - (V * D + T * D + D * V)
    reason = f"Both formulas leave out the bias of nn.Linear: {v1} parameters, one for each of {V} tokens."
    return Finding(decide(v1 == v2 == 0), float(v1), reason)


@measured_on(COUNTED)
def the_increment_is_one_table() -> Finding:
    """Count the parameters that v2 adds to v1 beyond block_size × n_embd."""
    extra = parameters(untrained_bag(BagWithPositions)) - parameters(untrained_bag(BagOfTokens)) - 8 * 32
    return Finding(decide(extra == 0), float(extra), "v2 adds one row of n_embd numbers for each position.")


@measured_on(UNTRAINED)
def long_inputs_are_cut() -> Finding:
    """Measure the largest difference between the output for ten tokens and that for the last eight."""
    model, ids = untrained_bag(BagWithPositions), torch.randint(65, (1, 10))
    logits, expected = model(ids).detach(), model(ids[:, -8:]).detach()
    gap = float((logits - expected).abs().max()) if logits.shape == expected.shape else float("inf")
    return Finding(decide(gap == 0), gap, "Of ten tokens v2 reads the last eight, at positions 0 to 7.")


@measured_on(UNTRAINED)
def writing_goes_on_past_the_table() -> Finding:
    """Count the tokens that the note's own loop, which does not cut its input, writes past the table."""
    model, ids = untrained_bag(BagWithPositions), torch.zeros(2, 1).long()
    written = 0
    try:
        for _ in range(24):
            ids = torch.cat([ids, model(ids)[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
            written += ids.shape[1] > 8
    except (BadInput, IndexError, RuntimeError):
        pass
    reason = f"The loop writes {written} of the 17 tokens after the eighth."
    return Finding(decide(written == 17), float(written), reason)


@measured_on(UNTRAINED)
def adding_mixes_token_and_position() -> Finding:
    """Measure the interaction of token and position in v2's logits: 0 if a logit is a sum of two parts."""
    model = untrained_bag(BagWithPositions, 5, 4, 8)
    rows = torch.stack([model(torch.full((1, 4), t))[0] for t in range(5)]).double()  # (token, position, V)
    main = rows.mean(0, keepdim=True) + rows.mean(1, keepdim=True) - rows.mean((0, 1), keepdim=True)
    interaction = float((rows - main).abs().max().detach())
    reason = (
        "The sum is as wide as each of the two vectors, so they share a space. But the head is linear: "
        "each logit is a part from the token plus a part from the position, as after concatenation."
    )
    one_space = model.head.in_features == model.config.n_embd
    return Finding(decide(one_space, interaction > 1e-5), interaction, reason)
