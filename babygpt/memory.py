"""Whether what somebody asks for fits into memory: better refused at once than killed later."""

from __future__ import annotations

from decimal import Decimal

import psutil
import torch
from torch import nn

from babygpt.config import ModelConfig, TrainConfig
from babygpt.errors import BadInput

BYTES = 4  # of a weight
COPIES = 3  # of every weight in training: itself, its gradient, and the optimizer's memory of it


def device_memory(device: torch.device) -> int:
    """All the memory that a device has, in bytes."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    return int(psutil.virtual_memory().total)


def require_memory(what: str, size: int, device: torch.device | None = None) -> None:
    """Raise BadInput unless a number of bytes fits into a device's memory, were it otherwise empty.

    what    needs them, in the plural; named in the error
    size    bytes that are needed at the least
    device  where they go; the CPU if None
    """
    available = device_memory(device or torch.device("cpu"))
    if size > available:
        wanted, have = (Decimal(number) / 10**9 for number in (size, available))  # larger than any float
        raise BadInput(f"{what} need at least {wanted:.4g} GB of memory; there are {have:.4g}")


def require_memory_for_model(config: ModelConfig, blocks: bool = True) -> None:
    """Raise BadInput unless a model that is not made yet fits into memory, whatever its encoding needs.

    config  the shape
    blocks  whether there are any, each of 4 square matrices for attention, and 8 more for the MLP
    """
    layers = config.n_layer if blocks else 0
    weights = 2 * config.vocab_size * config.n_embd + 12 * layers * config.n_embd**2
    require_memory(f"the weights of {describe(config)}", BYTES * weights)


def require_memory_to_train(model: nn.Module, shape: ModelConfig, plan: TrainConfig) -> None:
    """Raise BadInput if the memory is too small for a training, whatever else it may need.

    Counted are what every weight takes, and of every block the stream that it passes on.
    """
    device = next(model.parameters()).device
    weights = sum(p.numel() for p in model.parameters())
    blocks = max(1, len(getattr(model, "blocks", ())))
    stream = plan.batch_size * shape.block_size * shape.n_embd * blocks
    what = f"batches of {plan.batch_size} windows (batch_size) and {describe(shape)}"
    require_memory(what, BYTES * (COPIES * weights + stream), device)


def describe(config: ModelConfig) -> str:
    """The numbers of a shape that decide how much memory it takes, in words."""
    return f"n_layer {config.n_layer}, n_embd {config.n_embd} and block_size {config.block_size}"
