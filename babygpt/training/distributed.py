"""Several processes that train one model together, as torchrun starts them; and one that is alone."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.rendezvous import rendezvous

from babygpt.device import pick_device
from babygpt.errors import BadInput

MOST = 2**16  # processes that train together
WAIT = timedelta(hours=1)  # for the others; the leader validates and writes meanwhile


@dataclass
class Team:
    """The processes that share every batch, seen from one of them.

    rank        which of them this is, from 0, the main one: it alone writes, prints and measures
    world_size  how many there are
    store       where they leave each other notes; None for one alone
    advice      returns what to tell the user should one of them be lost
    """

    rank: int = 0
    world_size: int = 1
    store: Any = None
    advice: Callable[[], str] = lambda: "nothing was saved yet"

    @property
    def is_main(self) -> bool:
        """Whether this is the one that writes, prints and measures."""
        return self.rank == 0

    def shard(self, batch: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """This process's rows of a batch that all have drawn alike: every `world_size`-th.

        Raises BadInput if there are fewer rows than processes.
        """
        if self.world_size == 1:
            return batch
        if len(batch[0]) < self.world_size:
            raise BadInput(
                f"batch_size ({len(batch[0])}) must be at least the number of processes ({self.world_size})"
            )
        return tuple(part[self.rank :: self.world_size] for part in batch)

    def wrap(
        self, model: nn.Module, loss: Callable[[Any, tuple[Tensor, ...]], Tensor]
    ) -> Callable[..., Tensor]:
        """The loss as a function of a batch's parts; a team's gradients become their mean."""
        if self.world_size == 1:
            return lambda *batch: loss(model, batch)
        return nn.parallel.DistributedDataParallel(ModelWithLoss(model, loss))

    def all_sum(self, number: Tensor) -> Tensor:
        """The sum over all processes of each one's number; every process gets it."""
        if self.world_size > 1:
            number = number.clone()
            dist.all_reduce(number)
        return number

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in any process; every process gets the same answer."""
        if self.world_size == 1:
            return flag
        return bool(self.all_sum(torch.tensor(float(flag), device=training_device(self))))

    def broadcast(self, measure: Callable[[], float]) -> float:
        """Call a function in the main process, and return its result in all; the others wait for it."""
        if self.world_size == 1:
            return measure()
        value = measure() if self.is_main else 0.0
        number = torch.tensor(value, dtype=torch.float64, device=training_device(self))
        dist.broadcast(number, src=0)
        return number.item()

    def reports_first(self) -> bool:
        """Whether this process is the first of its team to report an error: one report is enough."""
        try:
            return self.store is None or self.store.add("reported", 1) == 1
        except RuntimeError:  # whoever kept the notes is gone
            return True

    def describe_lost_process(self, reason: str) -> str:
        """What to tell the user when one of the processes is lost."""
        return f"training in {self.world_size} processes broke off: {reason}; {self.advice()}"


SINGLE_PROCESS = Team()


class ModelWithLoss(nn.Module):
    """A model and its loss in one module, which is what DistributedDataParallel wraps."""

    def __init__(self, model: nn.Module, loss: Callable[[Any, tuple[Tensor, ...]], Tensor]) -> None:
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, *batch: Tensor) -> Tensor:
        return self.loss(self.model, batch)


def training_device(team: Team) -> torch.device:
    """The device that this process trains on; never MPS if there are several, for gloo does not know it."""
    if team.world_size == 1:
        return pick_device()
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def distributed() -> Iterator[Team]:
    """A context with the team that torchrun's environment variables name; without them, this process alone.

    What is raised inside is raised by the first process that it happens to, and silently ends the others.
    Raises ChildProcessError if another process is lost, and BadInput for what `join` refuses.
    """
    if os.environ.get("WORLD_SIZE", "1") == "1" or "RANK" not in os.environ:
        yield Team()
        return
    team = join()
    try:
        yield team
    except RuntimeError as error:
        if not team.reports_first():
            raise SystemExit(1) from None
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        gone = " peer" in line or "Broken pipe" in line  # what gloo says when a connection ends
        reason = "another of them is gone" if gone else f"process {team.rank} could not go on ({line})"
        raise ChildProcessError(team.describe_lost_process(reason)) from error
    except Exception:
        if not team.reports_first():
            raise SystemExit(1) from None
        raise
    dist.destroy_process_group()


def join() -> Team:
    """Meet the other processes, each on its own GPU where there are GPUs.

    Raises BadInput if torchrun's environment variables are incomplete or no numbers, or there are too few
    GPUs.
    """
    size = torchrun_number("WORLD_SIZE", 1, MOST)
    torchrun_number("RANK", 0, size - 1)
    local = torchrun_number("LOCAL_RANK", 0, size - 1) if torch.cuda.is_available() else 0
    try:
        store, rank, size = next(rendezvous("env://", timeout=WAIT))
    except (ValueError, KeyError) as error:
        raise BadInput(f"torchrun's environment variables do not do: {error}") from error
    team = Team(rank, size, store)
    on_termination(team)
    if torch.cuda.is_available():
        gpus = torch.cuda.device_count()
        if local >= gpus:
            raise BadInput(
                f"{gpus} GPUs are too few for {os.environ.get('LOCAL_WORLD_SIZE', size)} processes"
            )
        torch.cuda.set_device(local)
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=WAIT)
    return team


def torchrun_number(name: str, least: int, most: int) -> int:
    """An environment variable as a whole number. Raises BadInput naming it if it is none of this range."""
    value = os.environ.get(name, "")
    if not value.isdecimal() or not least <= int(value) <= most:
        raise BadInput(
            f"torchrun's environment variables do not do: {name} ({value!r}) must be a whole number "
            f"from {least} to {most}"
        )
    return int(value)


def on_termination(team: Team) -> None:
    """When torchrun ends this process because another one is gone, say so and exit.

    A thread does it: the main one may be waiting for that other process, where no signal reaches it.
    """
    ear, mouth = socket.socketpair()
    mouth.setblocking(False)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)

    def listen() -> None:
        with mouth:
            while ear.recv(1)[0] != signal.SIGTERM:
                pass
            if team.reports_first():
                reason = "another of them is gone, or all were asked to end"
                print(f"\nError: {team.describe_lost_process(reason)}", file=sys.stderr, flush=True)
            os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
