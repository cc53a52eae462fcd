"""Training loop: it yields one record per step and knows nothing of plots, notebooks or files.

`Training.make_step` is one step from top to bottom: draw a batch, forward, backward, update, record.
"""

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from babygpt.config import TrainConfig
from babygpt.data.batches import IGNORED
from babygpt.device import require_memory_to_train, use_allowed_threads
from babygpt.errors import BadInput
from babygpt.models.inputs import require_model
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import Batch, Objective
from babygpt.training.guard import (
    broken_part,
    require_sound_hooks_on_device,
    require_trainable,
    require_vocabulary,
)
from babygpt.training.optimizers import optimizers, schedule

# Each model that was trained has a lock. A live run trains in a thread of its own while the notebook goes on,
# so a cell below could train the same model at the same time, and the steps of both would mix. An RLock
# refuses other threads only. The keys are weak because this table must not keep models in memory.
TRAINERS = WeakKeyDictionary[LanguageModel, threading.RLock]()
WHAT_TO_TRY = "try a smaller lr_matrix and lr_other, or a longer warmup"


@dataclass(frozen=True)
class Step:
    """Record of one optimizer step.

    step      counted from 1
    loss      of its batch, before the step, in nats per token
    lr        learning rate of the hidden matrices, or of everything where there are none
    seconds   spent training up to here, validation not counted
    tokens    seen up to here
    val_loss  on the validation text after the step, in nats per token, where it was measured
    snapshot  copies of the encoding's parameters after the step, where the validation loss was measured
    changed   numbers of the encoding that were set just before the step
    """

    step: int
    loss: float
    lr: float
    seconds: float
    tokens: int
    val_loss: float | None = None
    snapshot: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    changed: dict[str, float] = field(default_factory=dict)


Steering = Callable[[int], Mapping[str, float]]  # number of the next step -> numbers to set before it


def replay(history: Sequence[Step]) -> Steering:
    """Return a steering that repeats the changes of an earlier run."""
    changes = {step.step: step.changed for step in history if step.changed}
    return lambda step: changes.get(step, {})


def train(
    model: LanguageModel, objective: Objective, config: TrainConfig, steering: Steering | None = None
) -> Iterator[Step]:
    """Return a loop that trains a model in place and yields a record after every step; iterate over it.

    model      on any device; left as it is when the iteration stops
    objective  draws the batches and computes their loss
    config     steps, batch size, learning rates, seed
    steering   called before every step: which of the encoding's numbers to set; `replay` repeats a run
    Raises BadInput if the encoding has no such number, the model does not know all tokens, another thread is
    training it, or no weight can have a gradient (under torch.no_grad(), or with all of them frozen); and
    FloatingPointError, with the step and what to try, if the loss is not finite.
    """
    return Training(model, objective, config).steps(steering)


class Training:
    """A model, and everything else that its next training step depends on; arguments are those of `train`.

    Raises BadInput for a text with tokens that the model does not know, for weights that cannot move, and for
    what cannot fit into memory.
    """

    def __init__(self, model: LanguageModel, objective: Objective, config: TrainConfig) -> None:
        use_allowed_threads()
        require_model(model)
        require_vocabulary(model, objective)
        require_trainable(model)
        require_sound_hooks_on_device(model)
        require_memory_to_train(model, config, objective.block_size)
        self.model, self.objective, self.config = model, objective, config
        self.device = next(model.parameters()).device
        self.generator = torch.Generator().manual_seed(config.seed)  # draws the batches, on the CPU
        self.optimizers = optimizers(model, config)
        self.peaks = [optimizer.lr for optimizer in self.optimizers]
        self.step, self.seconds, self.tokens = 0, 0.0, 0

    def steps(self, steering: Steering | None = None) -> Iterator[Step]:
        """Run the training loop: make the steps that are left and yield a record after each."""
        while self.step < self.config.steps:
            step = self.make_step(steering)
            yield self.with_validation(step)

    def make_step(self, steering: Steering | None = None) -> Step:
        """Make one training step and return its record, which holds no validation loss yet.

        Raises the errors of `train`.
        """
        with alone_with(self.model):  # a second thread that trains this model is refused
            start = time.perf_counter()
            require_gradients()

            # Steer: a slider of a live run may set a number of the encoding, such as the theta of RoPE.
            changed = dict(steering(self.step + 1)) if steering else {}
            for name, number in changed.items():
                self.model.encoding.steer(name, number)

            # Set the learning rates. Both optimizers follow one schedule, each up to its own peak.
            share = schedule(self.step, self.config)
            for optimizer, peak in zip(self.optimizers, self.peaks, strict=True):
                optimizer.lr = peak * share
            lr = self.peaks[0] * share

            # Draw a batch: (B, T) inputs, (B, T) targets, and whatever else the objective needs.
            batch = self.objective.batch(self.config.batch_size, self.generator)

            # Forward: the mean loss of the batch's targets, in nats.
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.bf16):
                loss = self.loss(tuple(part.to(self.device) for part in batch))
            value = loss.item()
            require_finite("loss", value, self.step + 1, lr, self.model)

            # Backward. Clear gradients that an interrupted step may have left: new ones are added to them.
            self.model.zero_grad()
            loss.backward()

            # Update the weights: Muon moves the blocks' matrices, AdamW everything else.
            for optimizer in self.optimizers:
                optimizer.step()
            self.model.zero_grad()

            # Record the step. Time that validation takes does not count as training time.
            self.step += 1
            self.tokens += int((batch[1] != IGNORED).sum())
            self.seconds += time.perf_counter() - start
            return Step(self.step, value, lr, self.seconds, self.tokens, changed=changed)

    def with_validation(self, step: Step) -> Step:
        """Return the record of the step just made, with validation loss and snapshot where `is_validated`."""
        if not self.is_validated(step):
            return step
        with alone_with(self.model):
            val_loss = self.validation_loss()
        require_finite("validation loss", val_loss, step.step, step.lr, self.model)
        return replace(step, val_loss=val_loss, snapshot=snapshot(self.model))

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean loss of a batch's targets, in nats: a scalar with a gradient."""
        return self.objective.loss(self.model, batch)

    def validation_loss(self) -> float:
        """Return the mean loss over the validation text, in nats."""
        return self.objective.validate(self.model)

    def is_validated(self, step: Step) -> bool:
        """Return whether validation follows this step: after every `eval_every` steps, and after the last."""
        every = self.config.eval_every
        return step.step == self.config.steps or (every > 0 and step.step % every == 0)


@contextmanager
def alone_with(model: LanguageModel) -> Iterator[None]:
    """Let this thread alone train or validate a model; several trainings of one model may take turns.

    Raises BadInput if another thread is training it.
    """
    lock = TRAINERS.setdefault(model, threading.RLock())
    if not lock.acquire(blocking=False):
        raise BadInput(
            f"this {type(model).__name__} is being trained in another thread, which continues: "
            "wait for its end, or give each training a model of its own"
        )
    try:
        yield
    finally:
        lock.release()


def require_gradients() -> None:
    """Raise BadInput where PyTorch computes no gradients, so that no step can move a weight."""
    if not torch.is_grad_enabled():  # it is off in inference mode, too
        raise BadInput("training needs gradients: call it outside torch.no_grad() and torch.inference_mode()")


def require_finite(name: str, value: float, step: int, lr: float, model: LanguageModel) -> None:
    """Raise a FloatingPointError with the step, the broken part and what to try, if a loss is not finite."""
    if not math.isfinite(value):
        words = f"{name} is {value} at step {step}, learning rate {lr:.2g}"
        raise FloatingPointError(f"{words}; {broken_part(model)}: {WHAT_TO_TRY}")


def snapshot(model: LanguageModel) -> dict[str, np.ndarray]:
    """Return copies of the encoding's parameters by name; empty where none is trained."""
    return {name: p.detach().cpu().float().numpy().copy() for name, p in model.encoding.named_parameters()}


def follow(
    steps: Iterator[Step],
    total: int,
    title: str = "",
    leave: bool = True,
    done: int = 0,
    show: bool = True,
    kept: str = "the model is kept as it is",
) -> list[Step]:
    """Run a training loop behind a progress bar; Ctrl-C ends it early and keeps what was done.

    steps     what `train` yields
    total     number of steps
    title     shown before the bar
    leave     whether the bar stays when the run is over
    done      steps made before these, in a run that goes on
    show      whether anything is shown at all
    kept      said after Ctrl-C: what becomes of the steps made
    returns   all records; after Ctrl-C those made so far
    """
    history: list[Step] = []
    bar = {"total": total, "initial": done, "desc": title, "leave": leave, "disable": not show}
    with tqdm(**bar, mininterval=0.5) as shown:
        try:
            for step in steps:
                history.append(step)
                shown.set_postfix(loss=f"{step.loss:.3f}", refresh=False)
                shown.update()
        except KeyboardInterrupt:
            if show:
                last = done + len(history)
                shown.write(f"interrupted after step {last}; {kept}", sys.stderr)
    return history
