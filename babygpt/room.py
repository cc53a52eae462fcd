"""Whether a machine has room for what somebody asks for: better told at once than killed later."""

from __future__ import annotations

from decimal import Decimal

import psutil
import torch


def memory(device: torch.device) -> int:
    """All the memory that a device has, in bytes."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    return int(psutil.virtual_memory().total)


def require_room(what: str, size: int, device: torch.device | None = None) -> None:
    """Raise a ValueError unless a number of bytes fits into a device's memory, were it otherwise empty.

    what    needs them, in the plural; named in the error
    size    bytes that are needed at the least
    device  where they go; the CPU unless told
    """
    there = memory(device or torch.device("cpu"))
    if size > there:
        wanted, have = (Decimal(number) / 10**9 for number in (size, there))  # no float is too small for it
        raise ValueError(f"{what} need at least {wanted:.4g} GB of memory; there are {have:.4g}")
