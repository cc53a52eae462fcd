"""Device, threads and memory that models compute with: refuse early what cannot fit, and read in portions."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib
import psutil
import torch
from torch import Tensor

from babygpt.config import ModelConfig, TrainConfig
from babygpt.errors import BadInput, first_line

FLOAT = 4  # bytes
# Linux writes the memory limit of a container into one of these files, by the version of its cgroups.
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
# Bytes that one number of these kinds takes while a model reads without a gradient.
LOGIT = 36
SCORE = 12
CHANNEL = 80
SMALL = 2**24  # bytes that every machine has
WORDS = ("not enough memory", "allocate memory", "out of memory", "bad_alloc", "bad allocation")


def pick_device() -> torch.device:
    """Return the fastest device: CUDA, then Apple's MPS, then the CPU; or the one in BABYGPT_DEVICE.

    Raises BadInput if BABYGPT_DEVICE names a device that this machine lacks.
    """
    devices = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    usable = [name for name, is_available in devices.items() if is_available]
    name = os.environ.get("BABYGPT_DEVICE") or usable[0]
    if name not in usable:
        raise BadInput(f"BABYGPT_DEVICE ({name}) must be one of those at hand: {', '.join(usable)}")
    return torch.device(name)


@contextmanager
def keep_on_device(model: torch.nn.Module, device: torch.device) -> Iterator[None]:
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


def hardware() -> dict[str, str | int]:
    """Return what a result depends on beside its seed: device, number of threads, instruction set."""
    return {
        "device": device_name(pick_device()),
        "threads": torch.get_num_threads(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
    }


def compile_in_place(model: torch.nn.Module, backend: str = "inductor") -> None:
    """Let torch.compile fuse a model's kernels; the names of its weights stay as they are.

    backend  "inductor" for speed; "eager" and "aot_eager" need no compiler, and show that it can be traced
    Raises BadInput if nothing can be compiled on this machine.
    """
    try:
        torch.compile(torch.square, backend=backend)(next(model.parameters()).detach()[:1])
    except Exception as error:
        reason = first_line(error)
        raise BadInput(f"torch.compile does not work on this machine: {reason}") from error
    model.compile(backend=backend)


# ---------------------------------------------------------------- threads


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


# ---------------------------------------------------------------- memory


def device_memory(device: torch.device) -> int:
    """Return all memory of a device in bytes; of the CPU as much as this container may use."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    texts = [Path(name).read_text(encoding="utf-8").strip() for name in LIMITS if Path(name).is_file()]
    limits = [int(text) for text in texts if text.isdecimal()]  # "max" is no limit
    return min([psutil.virtual_memory().total, *limits])


def require_memory_to_build(shape: ModelConfig, n_blocks: int) -> None:
    """Raise BadInput if the weights of a model cannot fit into memory, before any is made.

    shape     of the model
    n_blocks  Transformer blocks, each with 12 n_embd^2 weights
    """
    size = FLOAT * int(shape.n_embd) * (2 * int(shape.vocab_size) + 12 * int(n_blocks) * int(shape.n_embd))
    available = device_memory(torch.device("cpu"))
    if size > available:
        raise BadInput(
            f"the weights of {shape} need {size / 1e9:.4g} GB of memory; there are {available / 1e9:.4g}"
        )


def require_memory_to_train(model: Any, plan: TrainConfig, length: int) -> None:
    """Raise BadInput if a step cannot fit into memory, by an estimate that is rather too low.

    A machine whose memory runs out ends the process without a word, or stands still. The estimate counts
    weights, gradients and the optimizer's memory, what each block keeps for the backward pass, and the logits
    with their gradient.

    length  tokens in a window
    """
    shape, device = model.config, next(model.parameters()).device
    per_channel = 8 if device.type == "cpu" else 4  # numbers that a block keeps; a GPU keeps bfloat16
    n_blocks = shape.n_layer if hasattr(model, "blocks") else 0
    of_token = max(1, per_channel * n_blocks) * shape.n_embd + 2 * shape.vocab_size
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
    message = str(error).lower()
    is_worded = isinstance(error, (RuntimeError, OSError)) and any(words in message for words in WORDS)
    return is_worded or isinstance(error, MemoryError)
