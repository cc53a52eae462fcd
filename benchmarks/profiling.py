"""A meter that divides seconds or floating-point operations among the parts of a training step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils import flop_counter

from babygpt.models.base import LanguageModel
from babygpt.objectives import Batch, Objective
from babygpt.training import Step, Training

Parts = dict[str, float]  # part of a step -> what it took
REST = "rest"


class PartMeter:
    """Divides what a training step takes among its parts; they always add up to the whole.

    clock  a number that grows: seconds, usually
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = self.count = clock
        self.part, self.parts, self.since = REST, Parts(), 0.0

    def enter(self, part: str) -> None:
        """Note that this part of the step begins, and the one before it ends."""
        now = self.count()
        self.parts[self.part] = self.parts.get(self.part, 0.0) + now - self.since
        self.part, self.since = part, now

    def measure_step(self, steps: Iterator[Step], count: Callable[[], float] | None = None) -> Parts:
        """Make the next of some training steps and return what its parts took.

        count  another number that grows, to be used for this step in place of the clock
        """
        self.count = count or self.clock
        self.part, self.parts, self.since = REST, {}, self.count()
        next(steps)
        self.enter(REST)
        return self.parts


class MeteredObjective:
    """An objective that tells a meter when it draws a batch, takes a loss, and when backward begins."""

    def __init__(self, objective: Objective, meter: PartMeter) -> None:
        self.objective, self.meter = objective, meter
        self.count, self.validate = objective.count, objective.validate

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        self.meter.enter("batch")
        drawn = self.objective.batch(batch_size, generator)
        self.meter.enter(REST)
        return drawn

    def loss(self, model: LanguageModel, batch: Batch) -> Tensor:
        self.meter.enter("loss")
        loss = self.objective.loss(model, batch)
        self.meter.enter(REST)
        loss.register_hook(lambda gradient: self.meter.enter("backward"))  # its own gradient comes first
        return loss


def add_meter_hooks(training: Training, meter: PartMeter) -> None:
    """Have a meter told when the model's forward pass and each optimizer's step begin and end."""
    training.model.register_forward_pre_hook(lambda *_: meter.enter("forward"))
    training.model.register_forward_hook(lambda *_: meter.enter("loss"))
    for optimizer in training.optimizers:

        def begin(*_: Any, name: str = type(optimizer).__name__) -> None:
            meter.enter(name)

        optimizer.register_step_pre_hook(begin)
        optimizer.register_step_post_hook(lambda *_: meter.enter(REST))


def count_flop(training: Training, meter: PartMeter) -> Parts:
    """Make the next training step, and return the floating-point operations of each of its parts."""
    with flop_counter_with_attention() as counter:
        return meter.measure_step(training.steps(), counter.get_total_flops)


def flop_counter_with_attention() -> flop_counter.FlopCounterMode:
    """Return PyTorch's counter of operations, with attention on the CPU, which it leaves out.

    It counts where matrices are multiplied: a product and its sum are two; causal attention counts in full.
    """

    def forward(q: Any, k: Any, v: Any, *_: Any, **__: Any) -> int:  # shapes
        return flop_counter.sdpa_flop_count(q, k, v)

    def backward(gradient: Any, q: Any, k: Any, v: Any, *_: Any, **__: Any) -> int:
        return flop_counter.sdpa_backward_flop_count(gradient, q, k, v)

    aten = torch.ops.aten
    formulas = {
        aten._scaled_dot_product_flash_attention_for_cpu: forward,
        aten._scaled_dot_product_flash_attention_for_cpu_backward: backward,
    }
    return flop_counter.FlopCounterMode(display=False, custom_mapping=formulas)
