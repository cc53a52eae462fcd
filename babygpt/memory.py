"""Whether something fits into memory: refused at once or done in portions, and not killed later."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import torch
from torch import Tensor, nn

from babygpt.config import ModelConfig, TrainConfig
from babygpt.errors import BadInput
from babygpt.positions import Positions
from babygpt.quotas import MACHINE, memory_limits

BYTES = 4  # of a weight
COPIES = 3  # of every weight in training: itself, its gradient, and the optimizer's memory of it
KEPT = 8  # times n_embd that a block keeps of a token for its gradient: what its MLP squares, and the squares
ALWAYS = 2**24  # bytes that are there, so that nobody need look
SHARE = 4  # one part in so many of the free memory is what a portion may take
LOGIT = 36  # bytes for one logit while it is measured: itself, and four numbers of double precision
SCORE = 12  # bytes for one score, where attention holds them all: itself, with its mask, as a weight
CHANNEL = 80  # bytes for one channel of the stream while it passes through a block
REFUSALS = ("not enough memory", "can't allocate memory", "out of memory", "bad_alloc", "bad allocation")


# ---------------------------------------------------------------- how much there is


def limits(root: Path = MACHINE) -> dict[str, int]:
    """What ends this process's memory: for the machine, its container and itself the words, and the bytes.

    root  the folder in which proc and sys are
    """
    found = {"": int(psutil.virtual_memory().total)}
    if quotas := memory_limits(root):
        found[" (this container's limit)"] = min(quotas)
    if (most := address_space()) is not None:
        found[" (the limit of ulimit -v)"] = most
    return found


def address_space() -> int | None:
    """The limit of this process's address space, in bytes, or None where none is set."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if most == resource.RLIM_INFINITY else most


def device_memory(device: torch.device) -> int:
    """All the memory that a device has for this process, in bytes."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    return min(limits().values())


# ---------------------------------------------------------------- refused before it begins


def require_memory(what: str, size: int, device: torch.device | None = None) -> None:
    """Raise BadInput unless a number of bytes fits into a device's memory, were it otherwise empty.

    what    needs them, in the plural; named in the error
    size    bytes that are needed at the least
    device  where they go; the CPU if None
    """
    available = device_memory(device or torch.device("cpu"))
    if size > available:
        wanted, have = (Decimal(number) / 10**9 for number in (size, available))  # larger than any float
        whose = next((words for words, most in limits().items() if most == available), "")
        raise BadInput(f"{what} need at least {wanted:.4g} GB of memory; there are {have:.4g}{whose}")


def require_memory_for_model(config: ModelConfig, blocks: bool = True) -> None:
    """Raise BadInput unless a model that is not made yet fits into memory, whatever its encoding needs.

    config  the shape
    blocks  whether there are any, each of 4 square matrices for attention, and 8 more for the MLP
    """
    layers = config.n_layer if blocks else 0
    weights = 2 * config.vocab_size * config.n_embd + 12 * layers * config.n_embd**2
    require_memory(f"the weights of {describe(config)}", BYTES * weights)


class BatchShape(NamedTuple):
    """How large a batch is.

    rows           windows, or samples of several texts
    length         tokens of each
    own_positions  whether each row tells where its tokens stand, and so has a mask of its own
    """

    rows: int
    length: int
    own_positions: bool = False


def require_memory_to_train(
    model: nn.Module, shape: ModelConfig, plan: TrainConfig, batch: BatchShape | None = None, share: int = 1
) -> None:
    """Raise BadInput if the memory is too small for a training, whatever else it may need.

    Counted are what every weight takes, the stream that every block keeps, the logits and their gradient, and
    scores and their masks where a model has to hold them.

    batch  the largest that is drawn; batch_size windows of block_size tokens if None
    share  processes that share every batch
    """
    device = next(model.parameters()).device
    batch = batch or BatchShape(plan.batch_size, shape.block_size)
    batch = batch._replace(rows=max(1, batch.rows // share))
    weights = sum(p.numel() for p in model.parameters())
    blocks = shape.n_layer if hasattr(model, "blocks") else 0
    kept = KEPT // 2 if device.type == "cuda" else KEPT  # CUDA computes in bfloat16
    of_token = max(1, kept * blocks) * shape.n_embd + 2 * shape.vocab_size
    numbers = COPIES * weights + batch.rows * batch.length * of_token
    many = f"batches of {plan.batch_size} windows (batch_size)"
    many = f"samples of {batch.length} tokens" if batch.own_positions else many
    what = f"{many} and {describe(shape)}"
    require_memory(what, BYTES * numbers, device)  # before any more is made to be counted
    require_memory(what, BYTES * (numbers + held_scores(model, batch)), device)


def held_scores(model: Any, batch: BatchShape) -> int:
    """How many masks and scores a training step holds, at the least, in numbers: each of (T, T) counts T².

    It is found from the masks that the model makes for a few tokens, and from how wide its keys are. On the
    CPU attention holds all scores if a mask has a gradient, or if keys are wider than values.
    """
    if not hasattr(model, "attn_masks"):
        return 0  # v1 and v2 have no attention
    device, shape, few = next(model.parameters()).device, model.config, min(2, batch.length)
    hidden = None if model.causal else torch.zeros(1, few, dtype=torch.bool, device=device)
    positions = Positions.arange(few, device=device, masked=hidden)
    in_branch = replace(positions, branch=torch.zeros_like(positions.time))
    where = in_branch if batch.own_positions or model.isolated else positions
    masks = model.attn_masks(where, where)
    made = {id(mask): mask.shape[1] for mask in masks if mask is not None}
    numbers = sum(made.values()) * (batch.rows if batch.own_positions else 1)
    if device.type == "cpu":
        x = torch.zeros(1, shape.n_head, few, shape.head_dim)
        for i, mask in enumerate(masks):
            wide = model.encoding.of_layer(i).transform_qk(x, x, in_branch)[1].shape[-1] != x.shape[-1]
            if wide or (mask is not None and mask.requires_grad):
                numbers += batch.rows * shape.n_head
    return numbers * batch.length**2


def require_memory_for_branches(model: Any, n: int, length: int) -> None:
    """Raise BadInput unless n texts, read at once, fit into memory with the mask that keeps them apart.

    length  tokens of each, at the least
    """
    tokens, per_token = n * length, 2 * len(model.blocks) * model.config.n_embd  # keys and values
    size = BYTES * (2 * tokens**2 + tokens * per_token)  # the mask is made of another as large
    require_memory(f"{n} branches of {length} tokens", size, next(model.parameters()).device)


def describe(config: ModelConfig) -> str:
    """The numbers of a shape that decide how much memory it takes, in words."""
    return f"n_layer {config.n_layer}, n_embd {config.n_embd} and block_size {config.block_size}"


# ---------------------------------------------------------------- done in portions


def portions(
    model: Any, *parts: Tensor, length: int | None = None, at_most: int | None = None
) -> Iterator[tuple[Tensor, ...]]:
    """Cut rows that a model is to read without a gradient into as few portions as the free memory allows.

    parts    (B, ...) each, cut alike; the first are the tokens, (B, T)
    length   the most tokens of a row that are read at a time; T if None
    at_most  rows of a portion where there is room for more; None for all
    yields   the same tensors of some rows, at least 1
    """
    rows, size = len(parts[0]), window_bytes(model, parts[0].shape[1] if length is None else length)
    if rows * size > ALWAYS:
        rows = free_memory(next(model.parameters()).device) // SHARE // size
    rows = max(1, rows if at_most is None else min(rows, at_most))
    yield from zip(*(part.split(rows) for part in parts), strict=True)


def window_bytes(model: Any, length: int) -> int:
    """What a window of so many tokens takes while a model reads it, in bytes; 0 if it has no config."""
    shape = getattr(model, "config", None)
    if shape is None:
        return 0
    size = LOGIT * length * shape.vocab_size
    if blocks := shape.n_layer if hasattr(model, "blocks") else 0:
        size += SCORE * (shape.n_head + 1) * length**2  # 1 for a mask that all heads share
        size += (CHANNEL + 2 * BYTES * blocks) * length * shape.n_embd  # keys and values of every block
    return int(size)


def free_memory(device: torch.device) -> int:
    """The memory that a device has and nobody uses, in bytes; on a GPU all that there is."""
    there = device_memory(device)
    if device.type != "cpu":
        return there
    left = [there, int(psutil.virtual_memory().available)]
    if (most := address_space()) is not None:
        left.append(max(0, most - psutil.Process().memory_info().vms))
    return min(left)


# ---------------------------------------------------------------- when there was none after all


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there was no memory to be had, whoever says it: Python, NumPy, PyTorch, C++.

    The CPU's allocator raises a plain RuntimeError, so there only the words tell.
    """
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):  # NumPy's own error is a MemoryError
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in REFUSALS)
