"""The training loop: a generator of records that knows nothing of plots or notebooks."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from babygpt.config import TrainConfig
from babygpt.data.batches import IGNORED
from babygpt.device import mixed_precision, use_allowed_threads
from babygpt.errors import BadInput
from babygpt.memory import require_memory_to_train
from babygpt.models.base import LanguageModel
from babygpt.objectives import Batch, Objective, ReadsInOrder, largest_batch
from babygpt.training.distributed import SINGLE_PROCESS, Team
from babygpt.training.guard import alone_with, require_vocabulary
from babygpt.training.optimizers import Moments, optimizers, require_moments, schedule
from babygpt.training.records import Step

Steering = Callable[[int], Mapping[str, float]]  # the step about to be made -> what to set before it

PLACE = "place."  # what the names of an objective's place begin with in a state of training


def no_steering(step: int) -> dict[str, float]:
    """A steering that never sets anything."""
    return {}


def replay(history: Sequence[Step]) -> Steering:
    """A steering that sets what an earlier run was set to: with its seed and threads, it is repeated."""
    changes = {step.step: step.changed for step in history if step.changed}
    return lambda step: changes.get(step, {})


class Training:
    """A model on its way through a plan, with everything that its next step depends on.

    model      on any device; trained in place
    objective  draws the batches and takes their loss
    config     steps, batch size, learning rates, seed
    team       the processes that share every batch; by default there is this one
    Raises BadInput for a text with tokens that the model does not know, and what cannot fit into memory.
    """

    def __init__(
        self, model: LanguageModel, objective: Objective, config: TrainConfig, team: Team = SINGLE_PROCESS
    ) -> None:
        use_allowed_threads()
        require_vocabulary(model, objective)
        largest = largest_batch(objective, config.batch_size)
        require_memory_to_train(model, model.config, config, largest, team.world_size)
        self.model, self.objective, self.config, self.team = model, objective, config, team
        self.device = next(model.parameters()).device
        self.generator = torch.Generator().manual_seed(config.seed)
        self.optimizers = optimizers(model, config)
        self.peaks = [o.param_groups[0]["lr"] for o in self.optimizers]
        self.loss = team.wrap(model, objective.loss)
        self.step, self.seconds, self.tokens = 0, 0.0, 0
        self.steered: dict[str, float] = {}

    def steps(self, steering: Steering = no_steering) -> Iterator[Step]:
        """Make the steps that are left, yielding a record after each; what is raised is that of `train`."""
        while self.step < self.config.steps:
            yield self.with_validation(self.make_step(steering))

    def make_step(self, steering: Steering = no_steering) -> Step:
        """Make one step of the optimizers; its record holds no validation loss yet.

        Raises BadInput if another thread trains the model just now.
        """
        with alone_with(self.model):
            return self._make_step(steering)

    def _make_step(self, steering: Steering) -> Step:
        start, drawn, place = time.perf_counter(), self.generator.get_state(), self._place()
        try:
            changed = self._steer(steering)
            lr = self._set_rates()
            batch = self.objective.batch(self.config.batch_size, self.generator)
            loss = self._loss(batch)
            value = self.team.all_sum(loss.detach()).item()
            require_finite("loss", value, self.step + 1, lr)
            self.model.zero_grad()  # whatever an interrupted run or a curious reader left there
            (loss * self.team.world_size).backward()  # a team averages its gradients
        except BaseException:
            self.generator.set_state(drawn)  # a step that was not made has drawn nothing, and read nothing
            self._seek(place)
            raise
        for optimizer in self.optimizers:
            optimizer.step()
        self.model.zero_grad()
        self.step += 1
        self.tokens += int((batch[1] != IGNORED).sum())
        self.seconds += time.perf_counter() - start
        return Step(self.step, value, lr, self.seconds, self.tokens, changed=changed)

    def _steer(self, steering: Steering) -> dict[str, float]:
        changed = dict(steering(self.step + 1))
        for name, number in changed.items():
            self.model.encoding.steer(name, number)
        self.steered |= changed
        return changed

    def _set_rates(self) -> float:
        for optimizer, peak in zip(self.optimizers, self.peaks, strict=True):
            optimizer.param_groups[0]["lr"] = peak * schedule(self.step, self.config)
        return self.optimizers[0].param_groups[0]["lr"]

    def _loss(self, batch: Batch) -> Tensor:
        """This process's part of a batch's loss; over the team the parts add up to all of it."""
        mine = self.team.shard(batch)
        with mixed_precision(self.device):
            loss = self.loss(*to_device(mine, self.device))
        if self.team.world_size == 1:
            return loss
        return loss * (self.objective.count(mine) / self.objective.count(batch))

    def is_validated(self, step: Step) -> bool:
        """Whether the validation loss is taken after this step: every eval_every, and after the last."""
        every = self.config.eval_every
        return step.step == self.config.steps or (every > 0 and step.step % every == 0)

    def with_validation(self, step: Step) -> Step:
        """The record of the step just made, with validation loss and snapshot where `is_validated`."""
        if not self.is_validated(step):
            return step
        with alone_with(self.model):
            val_loss = self.team.broadcast(lambda: self.objective.validate(self.model))
        require_finite("validation loss", val_loss, step.step, step.lr)
        return replace(step, val_loss=val_loss, snapshot=snapshot(self.model))

    def state(self) -> dict[str, Any]:
        """All that the next step depends on besides the weights: tensors, and what JSON can hold, by name.

        The tensors are the optimizers' own, and change with the next step.
        """
        numbers = {"step": self.step, "seconds": self.seconds, "tokens": self.tokens}
        state: dict[str, Any] = {**numbers, "steered": dict(self.steered)}
        state["next_batch"] = self._next_batch(self.generator)
        state["generator"] = self.generator.get_state()
        state |= {PLACE + name: value for name, value in self._place().items()}
        for i, optimizer in enumerate(self.optimizers):
            for j, moments in optimizer.state_dict()["state"].items():
                state |= {f"optimizer.{i}.{j}.{name}": value for name, value in moments.items()}
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to where `state` was taken, in a training with the same model, objective and plan.

        The weights are not part of it. Numbers of an encoding that were steered and are no weights are set
        again.
        Raises BadInput, before anything is changed, if the state is none, does not fit, or if other batches
        would follow than did then.
        """
        try:
            generator, moments = self._validate(state)
        except (KeyError, IndexError, TypeError, AttributeError, RuntimeError, ValueError) as error:
            raise BadInput(f"this state of training does not fit: {error!r}") from error
        before, place = self._place(), {n[len(PLACE) :]: x for n, x in state.items() if n.startswith(PLACE)}
        self._seek(place)
        if self._next_batch(generator) != state.get("next_batch"):
            self._seek(before)
            raise BadInput(
                "the next batch is not the one that this run would have drawn: "
                "another text, another block_size or batch_size, or another babygpt"
            )
        self.generator.set_state(generator.get_state())
        self.step, self.seconds, self.tokens = (state[name] for name in ("step", "seconds", "tokens"))
        self.steered = dict(state["steered"])
        for name, number in self.steered.items():
            if not isinstance(getattr(self.model.encoding, name), Tensor):
                self.model.encoding.steer(name, number)
        for optimizer, held in zip(self.optimizers, moments, strict=True):
            optimizer.load_state_dict(optimizer.state_dict() | {"state": held})

    def _validate(self, state: Mapping[str, Any]) -> tuple[torch.Generator, list[Moments]]:
        """The generator and each optimizer's moments that a state holds; raises anything if it is none."""
        require_counts(state, self.config.steps)
        for name, number in dict(state["steered"]).items():
            self.model.encoding.require_steerable(name, number)
        generator = torch.Generator()
        generator.set_state(state["generator"])
        moments: list[Moments] = [{} for _ in self.optimizers]
        for key, value in state.items():
            if key.startswith("optimizer."):
                _, i, j, name = key.split(".", 3)
                moments[int(i)].setdefault(int(j), {})[name] = value
        for optimizer, held in zip(self.optimizers, moments, strict=True):
            require_moments(optimizer, held, state["step"])
        return generator, moments

    def _next_batch(self, generator: torch.Generator) -> str:
        """SHA-256 of the batch that a generator in this state draws next; all stays where it is."""
        ahead, place = torch.Generator(), self._place()
        ahead.set_state(generator.get_state())
        total = hashlib.sha256()
        for part in self.objective.batch(self.config.batch_size, ahead):
            total.update(part.contiguous().numpy().tobytes())
        self._seek(place)
        return total.hexdigest()

    def _place(self) -> dict[str, Any]:
        """Where an objective stands that reads its text in order; nothing for any other."""
        return self.objective.place() if isinstance(self.objective, ReadsInOrder) else {}

    def _seek(self, place: dict[str, Any]) -> None:
        if isinstance(self.objective, ReadsInOrder):
            self.objective.seek(place)


def train(
    model: LanguageModel, objective: Objective, config: TrainConfig, steering: Steering = no_steering
) -> Iterator[Step]:
    """Train a model in place, yielding a record after every step.

    model      on any device; left as it is when the iteration stops
    objective  draws the batches and takes their loss
    config     steps, batch size, learning rates, seed
    steering   asked before every step which of the encoding's numbers to set; `replay` repeats a run
    Raises BadInput if the encoding has no such number, the model does not know all tokens, or another thread
    trains it just now, and FloatingPointError, with the step and what to try, if the loss is not finite.
    """
    yield from Training(model, objective, config).steps(steering)


def require_counts(state: Mapping[str, Any], steps: int) -> None:
    """Raise BadInput unless the step, seconds and tokens of a state of training can be what they say."""
    for name, kind in (("step", int), ("seconds", int | float), ("tokens", int)):
        value = state[name]
        if not isinstance(value, kind) or isinstance(value, bool) or not 0 <= value < math.inf:
            raise BadInput(f"{name} ({value!r}) must be a number that is not negative")
    if state["step"] > steps:
        raise BadInput(f"step ({state['step']}) must lie between 0 and steps ({steps})")


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Move a batch to a device; to CUDA it goes from pinned memory, so that nothing waits for the copy."""
    if device.type != "cuda":
        return tuple(part.to(device) for part in batch)
    return tuple(part.pin_memory().to(device, non_blocking=True) for part in batch)


def require_finite(name: str, value: float, step: int, lr: float) -> None:
    """Raise a FloatingPointError that names the step and what to try, if a loss is nan or infinite."""
    if not math.isfinite(value):
        raise FloatingPointError(
            f"{name} is {value} at step {step}, learning rate {lr:.2g}: "
            "try a smaller lr_matrix and lr_other, or a longer warmup"
        )


def snapshot(model: LanguageModel) -> dict[str, np.ndarray]:
    """Copies of the encoding's parameters by name, as arrays; empty where none is trained."""
    return {name: p.detach().cpu().float().numpy().copy() for name, p in model.encoding.named_parameters()}


def compile_in_place(model: LanguageModel, backend: str = "inductor") -> None:
    """Let torch.compile make few kernels of a model's many; the names of its weights stay what they are.

    backend  "inductor" for speed; "eager" and "aot_eager" need no compiler, and show that it can be traced
    Raises BadInput if nothing can be compiled on this machine.
    """
    try:
        torch.compile(torch.square, backend=backend)(next(model.parameters()).detach()[:1])
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise BadInput(f"torch.compile does not work on this machine: {reason}") from error
    model.compile(backend=backend)
