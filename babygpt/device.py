"""Which processor the models run on."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from babygpt.errors import BadInput
from babygpt.quotas import MACHINE, available_cores, bound_cores


def pick_device() -> torch.device:
    """The fastest device at hand: CUDA, then Apple's MPS, then the CPU; or the one that BABYGPT_DEVICE names.

    Raises BadInput if it names one that is not here.
    """
    here = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    usable = [name for name, there in here.items() if there]
    wanted = os.environ.get("BABYGPT_DEVICE") or usable[0]
    if wanted not in usable:
        raise BadInput(f"BABYGPT_DEVICE ({wanted}) must be one of those at hand: {', '.join(usable)}")
    return torch.device(wanted)


def mixed_precision(device: torch.device) -> torch.autocast:
    """A context in which CUDA computes in bfloat16; elsewhere it changes nothing."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")


def use_allowed_threads(root: Path = MACHINE) -> None:
    """Let PyTorch compute with no more threads than this process may use, unless somebody said how many.

    PyTorch looks at the machine and not at a container's quota. Threads that wait for one another while the
    system holds one of them back take ten times as long as one thread alone. What was said counts: in
    OMP_NUM_THREADS, in MKL_NUM_THREADS, or by torch.set_num_threads, if that is a number which PyTorch would
    not have taken by itself.

    root  the folder in which proc and sys are
    """
    allowed = available_cores(root)
    if torch.get_num_threads() > allowed and not threads_were_chosen():
        torch.set_num_threads(allowed)


def threads_were_chosen() -> bool:
    """Whether somebody said how many threads PyTorch should take, as far as one can see."""
    cores = bound_cores()  # of which it takes all, or one thread of each, or of some, that runs two
    said = any(os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"))
    return said or not cores // 2 <= torch.get_num_threads() <= cores
