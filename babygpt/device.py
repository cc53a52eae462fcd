"""Which processor the models run on."""

from __future__ import annotations

import os

import torch


def pick_device() -> torch.device:
    """The fastest device at hand: CUDA, then Apple's MPS, then the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def mixed_precision(device: torch.device) -> torch.autocast:
    """A context in which CUDA computes in bfloat16; elsewhere it changes nothing."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda")


def available_cores() -> int:
    """How many cores this process may use; all that there are where the system does not say."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
