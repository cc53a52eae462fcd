"""Device, precision and number of threads that models compute with."""

from __future__ import annotations

import os

import joblib
import torch

from babygpt.errors import BadInput


def pick_device() -> torch.device:
    """Return the fastest device: CUDA, then Apple's MPS, then the CPU; or the one in BABYGPT_DEVICE.

    Raises BadInput if BABYGPT_DEVICE names a device that this machine lacks.
    """
    here = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    usable = [name for name, there in here.items() if there]
    wanted = os.environ.get("BABYGPT_DEVICE") or usable[0]
    if wanted not in usable:
        raise BadInput(f"BABYGPT_DEVICE ({wanted}) must be one of those at hand: {', '.join(usable)}")
    return torch.device(wanted)


def mixed_precision(device: torch.device) -> torch.autocast:
    """Return a context in which CUDA computes in bfloat16; elsewhere it changes nothing."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")


def use_allowed_threads() -> None:
    """Let PyTorch compute with no more threads than this process may use, unless the user chose a number.

    PyTorch counts the machine's cores and not a container's quota. Threads that wait for one another while
    the system holds one of them back take ten times as long as one thread alone.
    """
    allowed = joblib.cpu_count()  # reads the container's quota and the cores that this process is bound to
    if torch.get_num_threads() > allowed and not threads_were_chosen():
        torch.set_num_threads(allowed)


def threads_were_chosen() -> bool:
    """Whether the user chose how many threads PyTorch takes: by a variable or by torch.set_num_threads."""
    if any(os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")):
        return True
    # By itself PyTorch takes a thread for each core, or for each physical core, of which there are half.
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return not bound // 2 <= torch.get_num_threads() <= bound
