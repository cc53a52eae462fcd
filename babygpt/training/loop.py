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
from babygpt.device import mixed_precision
from babygpt.errors import BadInput
from babygpt.memory import require_room_to_train
from babygpt.models.base import LanguageModel
from babygpt.objectives import Batch, Objective
from babygpt.training.distributed import ALONE, Team
from babygpt.training.optimizers import optimizers, schedule
from babygpt.training.records import Step

Steering = Callable[[int], Mapping[str, float]]  # the step about to be made -> what to set before it


def hands_off(step: int) -> dict[str, float]:
    """Steer nothing."""
    return {}


def as_in(history: Sequence[Step]) -> Steering:
    """Steer as somebody did in an earlier run: with the same seed and threads the run repeats itself."""
    changes = {step.step: step.changed for step in history if step.changed}
    return lambda step: changes.get(step, {})


class Training:
    """A model on its way through a plan, with everything that its next step depends on.

    model      on any device; trained in place
    objective  draws the batches and takes their loss
    config     steps, batch size, learning rates, seed
    team       the processes that share every batch; by default there is this one
    """

    def __init__(
        self, model: LanguageModel, objective: Objective, config: TrainConfig, team: Team = ALONE
    ) -> None:
        require_room_to_train(model, model.config, config)
        self.model, self.objective, self.config, self.team = model, objective, config, team
        self.device = next(model.parameters()).device
        self.generator = torch.Generator().manual_seed(config.seed)
        self.optimizers = optimizers(model, config)
        self.peaks = [o.param_groups[0]["lr"] for o in self.optimizers]
        self.loss = team.wrap(model, objective.loss)
        self.step, self.seconds, self.tokens = 0, 0.0, 0
        self.steered: dict[str, float] = {}

    def steps(self, steering: Steering = hands_off) -> Iterator[Step]:
        """Make the steps that are left, yielding a record after each; what is raised is that of `train`."""
        while self.step < self.config.steps:
            yield self.measured(self.advance(steering))

    def advance(self, steering: Steering = hands_off) -> Step:
        """Make one step, and measure nothing yet."""
        start, drawn = time.perf_counter(), self.generator.get_state()
        try:
            changed = self._steer(steering)
            lr = self._set_rates()
            batch = self.objective.batch(self.config.batch_size, self.generator)
            loss = self._loss(batch)
            value = self.team.total(loss.detach()).item()
            require_finite("loss", value, self.step + 1, lr)
            self.model.zero_grad()  # whatever an interrupted run or a curious reader left there
            (loss * self.team.size).backward()  # a team averages its gradients
        except BaseException:
            self.generator.set_state(drawn)  # a step that was not made has drawn nothing
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
        mine = self.team.rows(batch)
        with mixed_precision(self.device):
            loss = self.loss(*moved(mine, self.device))
        if self.team.size == 1:
            return loss
        return loss * (self.objective.count(mine) / self.objective.count(batch))

    def due(self, step: Step) -> bool:
        """Whether the validation loss is due after this step, as it is after the last."""
        every = self.config.eval_every
        return step.step == self.config.steps or (every > 0 and step.step % every == 0)

    def measured(self, step: Step) -> Step:
        """The step as it is, with validation loss and snapshot added where they are due."""
        if not self.due(step):
            return step
        val_loss = self.team.from_leader(lambda: self.objective.validate(self.model))
        require_finite("validation loss", val_loss, step.step, step.lr)
        return replace(step, val_loss=val_loss, snapshot=snapshot(self.model))

    def state(self) -> dict[str, Any]:
        """All that the next step depends on besides the weights: tensors, and what JSON can hold, by name.

        The tensors are the optimizers' own, and change with the next step.
        """
        numbers = {"step": self.step, "seconds": self.seconds, "tokens": self.tokens}
        state: dict[str, Any] = {**numbers, "steered": dict(self.steered), "next_batch": self._next_batch()}
        state["generator"] = self.generator.get_state()
        for i, optimizer in enumerate(self.optimizers):
            for j, moments in optimizer.state_dict()["state"].items():
                state |= {f"optimizer.{i}.{j}.{name}": value for name, value in moments.items()}
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to where `state` was taken, in a training with the same model, objective and plan.

        The weights are the model's own affair. Numbers of an encoding that were steered and are no weights
        are set again.
        Raises ValueError if the state is not one, does not fit, or other batches would follow than did then.
        """
        try:
            self._put_back(dict(state))
        except (KeyError, IndexError, TypeError, AttributeError, RuntimeError, ValueError) as error:
            raise BadInput(f"this state of training does not fit: {error!r}") from None
        if self._next_batch() != state.get("next_batch"):
            raise BadInput(
                "the next batch is not the one that this run would have drawn: "
                "another text, another block_size or batch_size, or another babygpt"
            )

    def _put_back(self, state: dict[str, Any]) -> None:
        self.generator.set_state(state["generator"])
        self.step, self.seconds, self.tokens = (state[name] for name in ("step", "seconds", "tokens"))
        if not 0 <= self.step <= self.config.steps:
            raise BadInput(f"step ({self.step}) must lie between 0 and steps ({self.config.steps})")
        self.steered = dict(state["steered"])
        for name, number in self.steered.items():
            if not isinstance(getattr(self.model.encoding, name), Tensor):
                self.model.encoding.steer(name, number)
        moments: list[dict[int, dict[str, Any]]] = [{} for _ in self.optimizers]
        for key, value in state.items():
            if key.startswith("optimizer."):
                _, i, j, name = key.split(".", 3)
                moments[int(i)].setdefault(int(j), {})[name] = value
        for optimizer, moment in zip(self.optimizers, moments, strict=True):
            require_moments(optimizer, moment, self.step)
            optimizer.load_state_dict(optimizer.state_dict() | {"state": moment})

    def _next_batch(self) -> str:
        """SHA-256 of the batch that comes next, without drawing it."""
        ahead = torch.Generator()
        ahead.set_state(self.generator.get_state())
        total = hashlib.sha256()
        for part in self.objective.batch(self.config.batch_size, ahead):
            total.update(part.contiguous().numpy().tobytes())
        return total.hexdigest()


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
    yield from Training(model, objective, config).steps(steering)


def require_moments(
    optimizer: torch.optim.Optimizer, moments: Mapping[int, Mapping[str, Any]], step: int
) -> None:
    """Raise a ValueError unless all parameters have the same moments, or none has any yet."""
    params = sum(len(group["params"]) for group in optimizer.param_groups)
    names = {tuple(sorted(moments.get(j, {}))) for j in range(params)}
    if len(names) > 1 or (step > 0 and () in names):
        raise BadInput(f"moments of {type(optimizer).__name__} are missing: {sorted(map(list, names))}")


def moved(batch: Batch, device: torch.device) -> Batch:
    """A batch on its device; to CUDA it goes from pinned memory, so that nothing waits for the copy."""
    if device.type != "cuda":
        return tuple(part.to(device) for part in batch)
    return tuple(part.pin_memory().to(device, non_blocking=True) for part in batch)


def require_finite(name: str, value: float, step: int, lr: float) -> None:
    """Raise a FloatingPointError that tells the step and what to try, if a loss is no number."""
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
    Raises ValueError if nothing can be compiled on this machine.
    """
    try:
        torch.compile(torch.square, backend=backend)(next(model.parameters()).detach()[:1])
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise BadInput(f"torch.compile does not work on this machine: {reason}") from error
    model.compile(backend=backend)
