"""What each part of a training step takes: seconds, floating-point operations, or whatever is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.utils import flop_counter

from babygpt.models.base import LanguageModel
from babygpt.objectives import Batch, Objective
from babygpt.training import Training

Parts = dict[str, float]
REST = "rest"


class Laps:
    """A count that moves on, and in which part of a step it did. The parts always add up to the whole.

    read  tells the count: a clock, say
    """

    def __init__(self, read: Callable[[], float]) -> None:
        self.read, self.part, self.parts = read, REST, Parts()
        self.since = read()

    def enter(self, part: str) -> None:
        """What is counted from here on belongs to this part."""
        now = self.read()
        self.parts[self.part] = self.parts.get(self.part, 0.0) + now - self.since
        self.part, self.since = part, now

    def take(self, step: Iterable[object]) -> Parts:
        """Make the next step, and tell what its parts took."""
        self.part, self.parts, self.since = REST, {}, self.read()
        next(iter(step))
        self.enter(REST)
        return self.parts


class Watched:
    """An objective that notes when it draws a batch, when it takes a loss, and when the way back begins.

    objective  does the work
    laps       is told
    """

    def __init__(self, objective: Objective, laps: Laps) -> None:
        self.objective, self.laps = objective, laps
        self.count, self.validate = objective.count, objective.validate

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        self.laps.enter("batch")
        drawn = self.objective.batch(batch_size, generator)
        self.laps.enter(REST)
        return drawn

    def loss(self, model: LanguageModel, batch: Batch) -> Tensor:
        self.laps.enter("loss")
        loss = self.objective.loss(model, batch)
        self.laps.enter(REST)
        loss.register_hook(lambda gradient: self.laps.enter("backward"))  # its own gradient comes first
        return loss


def watch(training: Training, laps: Laps) -> None:
    """Note when a model's forward pass and its optimizers begin and end."""
    training.model.register_forward_pre_hook(lambda *_: laps.enter("forward"))
    training.model.register_forward_hook(lambda *_: laps.enter("loss"))
    for optimizer in training.optimizers:

        def begin(*_: Any, name: str = type(optimizer).__name__) -> None:
            laps.enter(name)

        optimizer.register_step_pre_hook(begin)
        optimizer.register_step_post_hook(lambda *_: laps.enter(REST))


def counter() -> flop_counter.FlopCounterMode:
    """PyTorch's counter of floating-point operations, told of attention on the CPU, which it leaves out.

    It counts where matrices are multiplied: a product and its sum are two; causal attention counts in full.
    """

    def forward(q: Any, k: Any, v: Any, *_: Any, **__: Any) -> int:  # shapes
        return flop_counter.sdpa_flop_count(q, k, v)

    def backward(gradient: Any, q: Any, k: Any, v: Any, *_: Any, **__: Any) -> int:
        return flop_counter.sdpa_backward_flop_count(gradient, q, k, v)

    aten = torch.ops.aten
    known = {
        aten._scaled_dot_product_flash_attention_for_cpu: forward,
        aten._scaled_dot_product_flash_attention_for_cpu_backward: backward,
    }
    return flop_counter.FlopCounterMode(display=False, custom_mapping=known)
