"""The training loop: a generator of records that knows nothing of plots or notebooks."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from tqdm import tqdm

from babygpt.config import TrainConfig
from babygpt.data.batches import IGNORED
from babygpt.device import mixed_precision
from babygpt.models.base import LanguageModel
from babygpt.objectives import Objective
from babygpt.optimizers import optimizers, schedule


@dataclass(frozen=True)
class Step:
    """What one optimizer step tells.

    step      counted from 1
    loss      of its batch, before the step, in nats per token
    lr        learning rate of the hidden matrices, or of everything where there are none
    seconds   spent training up to here, validation not counted
    tokens    seen up to here
    val_loss  on the validation text after the step, in nats per token, where it was measured
    snapshot  the encoding's parameters after the step, where they were kept
    changed   the encoding's numbers that somebody set just before the step
    """

    step: int
    loss: float
    lr: float
    seconds: float
    tokens: int
    val_loss: float | None = None
    snapshot: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    changed: dict[str, float] = field(default_factory=dict)


Steering = Callable[[int], Mapping[str, float]]  # the step about to be made -> what to set before it


def hands_off(step: int) -> dict[str, float]:
    """Steer nothing."""
    return {}


def as_in(history: Sequence[Step]) -> Steering:
    """Steer as somebody did in an earlier run: with the same seed and threads the run repeats itself."""
    changes = {step.step: step.changed for step in history if step.changed}
    return lambda step: changes.get(step, {})


def train(
    model: LanguageModel, objective: Objective, config: TrainConfig, steering: Steering = hands_off
) -> Iterator[Step]:
    """Train a model in place, yielding a record after every step.

    model      on any device; left as it is when the iteration stops
    objective  draws the batches and takes their loss
    config     steps, batch size, learning rates, seed
    steering   asked before every step which of the encoding's numbers to set; `as_in` repeats a run
    Raises ValueError if the encoding has no such number, and FloatingPointError, with the step and
    what to try, if the loss is not finite.
    """
    device = next(model.parameters()).device
    generator = torch.Generator().manual_seed(config.seed)
    made = optimizers(model, config)
    peaks = [o.param_groups[0]["lr"] for o in made]
    seconds, tokens = 0.0, 0
    for step in range(config.steps):
        start = time.perf_counter()
        changed = dict(steering(step + 1))
        for name, number in changed.items():
            model.encoding.steer(name, number)
        for optimizer, peak in zip(made, peaks, strict=True):
            optimizer.param_groups[0]["lr"] = peak * schedule(step, config)
        batch = tuple(part.to(device) for part in objective.batch(config.batch_size, generator))
        with mixed_precision(device):
            loss = objective.loss(model, batch)
        value = loss.item()
        lr = made[0].param_groups[0]["lr"]
        require_finite("loss", value, step + 1, lr)
        model.zero_grad()  # whatever an interrupted run or a curious reader left there
        loss.backward()
        for optimizer in made:
            optimizer.step()
        model.zero_grad()
        seconds, tokens = seconds + time.perf_counter() - start, tokens + int((batch[1] != IGNORED).sum())
        record = Step(step + 1, value, lr, seconds, tokens, changed=changed)
        yield _record(model, objective, config, record)


def require_finite(name: str, value: float, step: int, lr: float) -> None:
    """Raise a FloatingPointError that tells the step and what to try, if a loss is no number."""
    if not math.isfinite(value):
        raise FloatingPointError(
            f"{name} is {value} at step {step}, learning rate {lr:.2g}: "
            "try a smaller lr_matrix and lr_other, or a longer warmup"
        )


def _record(model: LanguageModel, objective: Objective, config: TrainConfig, step: Step) -> Step:
    """The step as it is, with validation loss and snapshot added where they are due."""
    last = step.step == config.steps
    if not last and (config.eval_every == 0 or step.step % config.eval_every):
        return step
    val_loss = objective.validate(model)
    require_finite("validation loss", val_loss, step.step, step.lr)
    return replace(step, val_loss=val_loss, snapshot=snapshot(model))


def snapshot(model: LanguageModel) -> dict[str, np.ndarray]:
    """Copies of the encoding's parameters by name, as arrays; empty where none is trained."""
    return {name: p.detach().cpu().float().numpy().copy() for name, p in model.encoding.named_parameters()}


def follow(steps: Iterator[Step], total: int, title: str = "", leave: bool = True) -> list[Step]:
    """Run a training loop to its end behind a progress bar with time left.

    steps     what `train` yields
    total     how many steps there will be
    title     shown before the bar
    leave     whether the bar stays when the run is over
    returns   all records; if interrupted (Ctrl-C), those made so far
    """
    history: list[Step] = []
    with tqdm(total=total, desc=title, leave=leave, file=sys.stderr, mininterval=0.5) as bar:
        try:
            for step in steps:
                history.append(step)
                bar.set_postfix(loss=f"{step.loss:.3f}", refresh=False)
                bar.update()
        except KeyboardInterrupt:
            bar.write(f"interrupted after step {len(history)}; the model is kept as it is", sys.stderr)
    return history


def finish(steps: Iterator[Step], total: int, title: str = "", leave: bool = False) -> list[Step]:
    """Run a training loop to its end behind a progress bar, for measurements that need all of it.

    returns   all records; the arguments are those of `follow`
    Raises KeyboardInterrupt if the run was interrupted: what is measured of a part of it would be wrong.
    """
    history = follow(steps, total, title, leave)
    if len(history) < total:
        raise KeyboardInterrupt(f"{title} ended after {len(history)} of {total} steps")
    return history
