"""Several processes that train one model together, as torchrun starts them."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.rendezvous import rendezvous

from babygpt.errors import BadInput


@dataclass(frozen=True)
class Team:
    """The processes that share every batch: this one's rank, from 0 for the main one, and their number."""

    rank: int = 0
    world_size: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this is the process that writes, prints and measures."""
        return self.rank == 0

    def shard(self, batch: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return this process's rows of a batch. Raises BadInput if there are fewer rows than processes."""
        rows, n = len(batch[0]), self.world_size
        if rows < n:
            raise BadInput(f"batch_size ({rows}) must be at least the number of processes ({n})")
        return tuple(part[self.rank :: n] for part in batch)

    def share(self, model: nn.Module, objective: Any) -> Callable[..., Tensor]:
        """Return an objective's loss, computed by the team together, as a function of model and batch."""
        if self.world_size == 1:
            return objective.loss
        wrapped = nn.Module()  # DistributedDataParallel takes a module and returns the mean of its gradients
        wrapped.model, wrapped.forward = model, lambda *batch: objective.loss(model, batch)
        parallel = nn.parallel.DistributedDataParallel(wrapped)

        def shared_loss(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
            mine = self.shard(batch)
            part = parallel(*mine) * (objective.count(mine) / objective.count(batch))
            dist.all_reduce(total := part.detach().clone())
            return total + (part - part.detach()) * self.world_size  # the value and gradient of the whole

        return shared_loss

    def sum(self, value: float) -> float:
        """Return the sum of a number over all processes, in each of them."""
        if self.world_size == 1:
            return value
        dist.all_reduce(total := torch.tensor(value, dtype=torch.float64))
        return total.item()


SINGLE_PROCESS = Team()


@contextmanager
def distributed() -> Iterator[Team]:
    """Yield torchrun's team, or this process alone. Only the first process that fails reports its error."""
    if os.environ.get("WORLD_SIZE", "1") == "1" or "RANK" not in os.environ:
        yield SINGLE_PROCESS
        return
    wait = timedelta(hours=1)  # for the main process, which validates and writes
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
