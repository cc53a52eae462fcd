"""The loss that every objective is made of, against PyTorch's own cross entropy."""

import math

import pytest
import torch
from torch import nn

from babygpt.data.batches import IGNORED
from babygpt.objectives import cross_entropy, mean_loss


def test_cross_entropy_is_pytorchs() -> None:
    logits, targets = 3 * torch.randn(4, 7, 11), torch.randint(11, (4, 7))
    per_token = nn.CrossEntropyLoss(reduction="none")(logits.transpose(1, 2), targets)
    assert torch.allclose(cross_entropy(logits, targets), per_token, atol=1e-6)


def test_certainty_costs_nothing_and_ignorance_costs_log_v() -> None:
    logits = torch.tensor([[[100.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]])
    assert cross_entropy(logits, torch.tensor([[0, 3]]))[0].tolist() == pytest.approx([0, math.log(4)])


def test_half_precision_logits_are_taken_in_full() -> None:
    logits, targets = torch.randn(2, 5, 11).bfloat16(), torch.randint(11, (2, 5))
    loss = cross_entropy(logits, targets)
    assert loss.dtype == torch.float32
    assert torch.equal(loss, cross_entropy(logits.float(), targets))


@pytest.mark.parametrize("seen", [1, 3, 7])
def test_targets_are_cut_like_the_model_cut_its_input(seen: int) -> None:
    logits, targets = torch.randn(2, seen, 11), torch.randint(11, (2, 7))
    assert torch.equal(cross_entropy(logits, targets), cross_entropy(logits, targets[:, -seen:]))


def test_mean_loss_weighs_every_target_alike(awake, text) -> None:
    """Also where batches differ in size."""
    model = awake("v4")
    batches = [(text(3, 8), text(3, 8)), (text(1, 2), text(1, 2))]
    with torch.no_grad():
        losses = [cross_entropy(model(x), y).flatten() for x, y in batches]
    assert mean_loss(model, batches) == pytest.approx(torch.cat(losses).mean().item(), abs=1e-6)


def test_a_target_that_is_none_costs_nothing() -> None:
    logits, targets = torch.randn(1, 4, 11), torch.tensor([[3, IGNORED, 5, IGNORED]])
    losses = cross_entropy(logits, targets)
    assert losses[0, [1, 3]].tolist() == [0, 0]
    kept = cross_entropy(logits[:, [0, 2]], targets[:, [0, 2]])
    assert torch.equal(losses[:, [0, 2]], kept)
