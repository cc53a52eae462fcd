"""Time of each part of a training step."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import Batch, Objective, objective_for
from babygpt.training import Step, Training
from benchmarks.machine import CPU
from benchmarks.timing import device_clock, require_rounds

STEPS_A_ROUND = 10
Parts = dict[str, float]  # part of a step -> seconds
REST = "rest"


def measure_step(
    version: str = "v4",
    batch_size: int = 12,
    block_size: int = 64,
    rounds: int = 20,
    device: torch.device = CPU,
    n_chars: int = 50_000,
    **shape: int,
) -> dict[str, Any]:
    """Measure the time of each part of a training step.

    version     the model to be trained, on tales
    batch_size  windows in a batch
    block_size  tokens in a window
    rounds      of ten steps each; a first one is not counted
    n_chars     characters of text
    shape       fields of ModelConfig other than the usual ones
    returns     "step_ms" and "ms" of each part, which add up to it, means over the middle half of all steps
    Raises BadInput for a version that does not exist, or rounds below 1.
    """
    if version not in VERSIONS:
        raise BadInput(f"version ({version}) must be one of {', '.join(VERSIONS)}")
    require_rounds(rounds)
    text = load_corpus("tales", n_chars, with_mask=VERSIONS[version].masks)
    config = ModelConfig(text.tokenizer.vocab_size, block_size, **shape)
    meter = PartMeter(device_clock(device))
    torch.manual_seed(0)
    plan = TrainConfig(STEPS_A_ROUND * (rounds + 4), batch_size)  # it never comes to its end, and validation
    objective = MeteredObjective(fixed_size_objective(version, text, block_size), meter)
    training = Training(build(version, config).to(device), objective, plan)
    add_meter_hooks(training, meter)
    steps = training.steps()
    step_parts = [
        meter.measure_step(steps)
        for _ in tqdm(range(rounds + 1), desc="rounds", mininterval=1)
        for _ in range(STEPS_A_ROUND)
    ][STEPS_A_ROUND:]  # the first round warms up
    means = mean_of_middle_half(step_parts)
    return {
        **{"version": version, "batch_size": batch_size, "block_size": block_size, "steps": len(step_parts)},
        "step_ms": round(1e3 * sum(means.values()), 3),
        "ms": {name: round(1e3 * means[name], 3) for name in sorted(means, key=lambda name: name == REST)},
    }


def fixed_size_objective(version: str, text: Corpus, block_size: int) -> Objective:
    """Return the objective of a version, with batches of one size: a window, or two texts as long as one."""
    # Nothing is validated here: one window of the validation part will do.
    return objective_for(version, text, block_size, val_windows=1, n_branches=(2, 2), length=block_size)


def mean_of_middle_half(steps: Sequence[Parts]) -> Parts:
    """Return the mean of each part over the steps without the slowest and the fastest quarter.

    Medians would not add up to the median; these means add up to theirs.
    """
    ordered = sorted(steps, key=lambda parts: sum(parts.values()))
    middle = ordered[len(ordered) // 4 : len(ordered) - len(ordered) // 4]
    return {name: statistics.mean(parts.get(name, 0.0) for parts in middle) for name in middle[0]}


# ---------------------------------------------------------------- the parts of a step


class PartMeter:
    """Meter that divides the time of a training step among its parts; they always add up to the whole.

    clock  in seconds
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.part, self.parts, self.since = REST, Parts(), 0.0

    def enter(self, part: str) -> None:
        """Note that this part of the step begins, and the one before it ends."""
        now = self.clock()
        self.parts[self.part] = self.parts.get(self.part, 0.0) + now - self.since
        self.part, self.since = part, now

    def measure_step(self, steps: Iterator[Step]) -> Parts:
        """Make the next of some training steps and return what its parts took."""
        self.part, self.parts, self.since = REST, {}, self.clock()
        next(steps)
        self.enter(REST)
        return self.parts


class MeteredObjective(Objective):
    """An objective that tells a meter when it draws a batch, takes a loss, and when backward begins."""

    def __init__(self, objective: Objective, meter: PartMeter) -> None:
        self.objective, self.meter = objective, meter
        self.block_size = objective.block_size

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        self.meter.enter("batch")
        batch = self.objective.batch(batch_size, generator)
        self.meter.enter(REST)
        return batch

    def loss(self, model: LanguageModel, batch: Batch) -> Tensor:
        self.meter.enter("loss")
        loss = self.objective.loss(model, batch)
        self.meter.enter(REST)
        loss.register_hook(lambda gradient: self.meter.enter("backward"))  # its own gradient comes first
        return loss

    def count(self, batch: Batch) -> int:
        return self.objective.count(batch)

    def losses(self, model: LanguageModel, batch: Batch) -> Tensor:
        return self.objective.losses(model, batch)

    def val_batches(self) -> Iterable[Batch]:
        return self.objective.val_batches()


def add_meter_hooks(training: Training, meter: PartMeter) -> None:
    """Have a meter told when the model's forward pass and each optimizer's step begin and end."""
    training.model.register_forward_pre_hook(lambda *_: meter.enter("forward"))
    training.model.register_forward_hook(lambda *_: meter.enter("loss"))
    for optimizer in training.optimizers:

        def step(make: Callable[[], None] = optimizer.step, name: str = type(optimizer).__name__) -> None:
            meter.enter(name)
            make()
            meter.enter(REST)

        optimizer.step = step  # type: ignore[method-assign]
