"""Estimates of memory: refuse early what cannot fit, and read what is large in portions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import torch
from torch import Tensor

from babygpt.config import TrainConfig
from babygpt.errors import BadInput

FLOAT = 4  # bytes
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container
LOGIT, SCORE, CHANNEL = 36, 12, 80  # bytes that one of these takes while a model reads without a gradient
SMALL = 2**24  # bytes that every machine has
WORDS = ("not enough memory", "allocate memory", "out of memory", "bad_alloc", "bad allocation")


def device_memory(device: torch.device) -> int:
    """Return all memory of a device in bytes; of the CPU as much as this container may use."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    found = [Path(name).read_text(encoding="utf-8").strip() for name in LIMITS if Path(name).is_file()]
    return min([psutil.virtual_memory().total, *(int(text) for text in found if text.isdecimal())])


def require_memory_to_train(model: Any, plan: TrainConfig, length: int) -> None:
    """Raise BadInput if a step cannot fit into memory, by an estimate that is rather too low.

    A machine whose memory runs out ends the process without a word, or stands still. The estimate counts
    weights, gradients and the optimizer's memory, what each block keeps for the backward pass, and the logits
    with their gradient.

    length  tokens in a window
    """
    shape, device = model.config, next(model.parameters()).device
    kept = 8 if device.type == "cpu" else 4  # numbers per channel of a block; a GPU keeps bfloat16
    of_token = max(1, kept * shape.n_layer * hasattr(model, "blocks")) * shape.n_embd + 2 * shape.vocab_size
    numbers = 3 * sum(p.numel() for p in model.parameters()) + plan.batch_size * length * of_token
    size, available = FLOAT * numbers, device_memory(device)
    if size > available:
        raise BadInput(
            f"{plan.batch_size} windows (batch_size) of {length} tokens and {shape} need at least "
            f"{size / 1e9:.4g} GB of memory; there are {available / 1e9:.4g}"
        )


def portions(
    model: Any, *parts: Tensor, length: int | None = None, at_most: int | None = None
) -> Iterator[tuple[Tensor, ...]]:
    """Split rows that a model reads without a gradient into portions that take a quarter of the free memory.

    parts    (B, ...) each, all split alike; the first are the tokens, (B, T)
    length   the most tokens of a row that are read at a time; T if None
    at_most  rows in a portion; None for no limit
    yields   the same tensors of some rows, at least 1
    """
    rows, row, T = len(parts[0]), 0, parts[0].shape[1] if length is None else length
    if shape := getattr(model, "config", None):
        row = LOGIT * T * shape.vocab_size
        if hasattr(model, "blocks"):  # scores of every head and a mask; the stream; keys and values
            row += SCORE * (shape.n_head + 1) * T**2 + (CHANNEL + 8 * shape.n_layer) * T * shape.n_embd
    if rows * row > SMALL:
        device = next(model.parameters()).device
        free = psutil.virtual_memory().available if device.type == "cpu" else 2**63
        rows = min(free, device_memory(device)) // 4 // row
    rows = max(1, rows if at_most is None else min(rows, at_most))
    yield from zip(*(part.split(rows) for part in parts), strict=True)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory ran out, in the words of Python, NumPy, PyTorch or C++."""
    said = isinstance(error, (RuntimeError, OSError)) and any(words in str(error).lower() for words in WORDS)
    return said or isinstance(error, MemoryError)
