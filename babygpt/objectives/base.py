"""What every objective answers, and the loss that all of them are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from babygpt.data.batches import IGNORED
from babygpt.device import mixed_precision
from babygpt.models.base import LanguageModel

Batch = tuple[Tensor, ...]  # (B, T) inputs, (B, T) targets, and whatever else the objective's loss reads


class Objective(Protocol):
    """A way to draw batches, to take their loss, and to measure on text never trained on."""

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch: ...

    def loss(self, model: LanguageModel, batch: Batch) -> Tensor: ...

    def count(self, batch: Batch) -> int:
        """Over how many losses `loss` takes the mean, so that processes can share a batch."""
        ...

    def validate(self, model: LanguageModel) -> float: ...


def targets_of(batch: Batch) -> int:
    """How many targets a batch has, those that are IGNORED left out; 1 if there are none."""
    return max(1, int((batch[1] != IGNORED).sum()))


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Negative log-likelihood of each target, in nats.

    logits    (B, S, vocab_size)
    targets   (B, T)  T at least S; where the model cut its input to the last S tokens, so are they
    returns   (B, S)  0 where a target is IGNORED
    """
    targets = targets[:, targets.shape[1] - logits.shape[1] :]
    losses = F.cross_entropy(
        logits.float().flatten(0, 1), targets.flatten(), reduction="none", ignore_index=IGNORED
    )
    return losses.view_as(targets)


@torch.inference_mode()
def mean_loss(model: LanguageModel, batches: Iterable[tuple[Tensor, Tensor]]) -> float:
    """Mean loss over all targets of some batches, in nats per token."""
    device = next(model.parameters()).device
    total, count = 0.0, 0
    for x, y in batches:
        with mixed_precision(device):
            loss = cross_entropy(model(x.to(device)), y.to(device))
        total, count = total + loss.sum().item(), count + loss.numel()
    return total / count
