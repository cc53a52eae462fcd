"""Several processes that train one model together, as torchrun starts them. The loop knows none of this."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.rendezvous import rendezvous

from babygpt.config import TrainConfig
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import Batch, Objective
from babygpt.training.loop import Training


@dataclass(frozen=True)
class Team:
    """The processes that share every batch: this one's rank, from 0 for the main one, and their number."""

    rank: int = 0
    world_size: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this is the process that writes, prints and measures."""
        return self.rank == 0

    def training(self, model: LanguageModel, objective: Objective, config: TrainConfig) -> Training:
        """Return this process's part of a training."""
        if self.world_size == 1:
            return Training(model, objective, config)
        return SharedTraining(self, model, objective, config)

    def shard(self, batch: Batch) -> Batch:
        """Return this process's rows of a batch. Raises BadInput if there are fewer rows than processes."""
        rows, n = len(batch[0]), self.world_size
        if rows < n:
            raise BadInput(f"batch_size ({rows}) must be at least the number of processes ({n})")
        return tuple(part[self.rank :: n] for part in batch)

    def sum(self, value: float) -> float:
        """Return the sum of a number over all processes, in each of them."""
        if self.world_size == 1:
            return value
        dist.all_reduce(total := torch.tensor(value, dtype=torch.float64))
        return total.item()


class SharedTraining(Training):
    """Training whose batches the processes of a team share. The other arguments are those of `Training`."""

    def __init__(self, team: Team, model: LanguageModel, objective: Objective, config: TrainConfig) -> None:
        super().__init__(model, objective, config)
        wrapped = nn.Module()  # DistributedDataParallel takes a module and returns the mean of its gradients
        wrapped.model, wrapped.forward = model, lambda *batch: objective.loss(model, batch)
        self.team, self.parallel = team, nn.parallel.DistributedDataParallel(wrapped)

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean loss of the whole batch, of which this process computes its rows."""
        mine = self.team.shard(batch)
        part = self.parallel(*mine) * (self.objective.count(mine) / self.objective.count(batch))
        dist.all_reduce(total := part.detach().clone())
        return total + (part - part.detach()) * self.team.world_size  # the value and gradient of the whole

    def validation_loss(self) -> float:
        """Return the validation loss, which the main process measures while the others wait."""
        return self.team.sum(super().validation_loss() if self.team.is_main else 0.0)


@contextmanager
def distributed() -> Iterator[Team]:
    """Yield torchrun's team, or this process alone. Only the first process that fails reports its error."""
    if os.environ.get("WORLD_SIZE", "1") == "1" or "RANK" not in os.environ:
        yield Team()
        return
    wait = timedelta(hours=1)  # the others wait while the main process validates and writes
    store, rank, size = next(rendezvous("env://", timeout=wait))
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    else:
        os.environ["BABYGPT_DEVICE"] = "cpu"  # never MPS, which gloo does not know
    dist.init_process_group(store=store, rank=rank, world_size=size, timeout=wait)
    try:
        yield Team(rank, size)
    except BaseException:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun ends the others: let this one report first
        if store.add("reported", 1) > 1:
            raise SystemExit(1) from None
        raise
    dist.destroy_process_group()
