"""Device, precision and number of threads that models compute with."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
def placed(model: torch.nn.Module, device: torch.device) -> Iterator[None]:
    """Keep a model on a device while the context lasts; then move it back to where it was."""
    home = next(model.parameters()).device
    try:
        model.to(device)
        yield
    finally:
        model.to(home)


def device_name(device: torch.device) -> str:
    """Return the name of a CUDA device, such as "NVIDIA H200", and of others the kind: "mps", "cpu"."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def compile_in_place(model: torch.nn.Module, backend: str = "inductor") -> None:
    """Let torch.compile fuse a model's kernels; the names of its weights stay as they are.

    backend  "inductor" for speed; "eager" and "aot_eager" need no compiler, and show that it can be traced
    Raises BadInput if nothing can be compiled on this machine.
    """
    try:
        torch.compile(torch.square, backend=backend)(next(model.parameters()).detach()[:1])
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise BadInput(f"torch.compile does not work on this machine: {reason}") from error
    model.compile(backend=backend)


def use_allowed_threads() -> None:
    """Let PyTorch compute with no more threads than this process may use, unless the user chose a number.

    PyTorch counts the machine's cores and not a container's quota. Threads that wait for one another while
    the system holds one of them back take ten times as long as one thread alone.
    """
    allowed = joblib.cpu_count()  # reads the container's quota and the cores that this process is bound to
    if torch.get_num_threads() > allowed and not threads_were_chosen():
        torch.set_num_threads(allowed)


def threads_were_chosen() -> bool:
    """Return whether the user set the number of PyTorch's threads: a variable or torch.set_num_threads."""
    if any(os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")):
        return True
    # By itself PyTorch takes a thread for each core, or for each physical core, of which there are half.
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return not bound // 2 <= torch.get_num_threads() <= bound
