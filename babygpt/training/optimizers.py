"""What moves the weights: Muon for matrices, AdamW for the rest, and how fast."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from babygpt.config import TrainConfig
from babygpt.errors import BadInput
from babygpt.training.muon import Muon
from babygpt.training.uncompiled import AdamW

MAX_RATE = 1e38  # float32 ends at 3e38
Moments = dict[int, dict[str, Any]]  # number of a parameter -> name of a moment -> tensor


def optimizers(model: nn.Module, config: TrainConfig) -> list[Muon | AdamW]:
    """Make the optimizers of a model: Muon for the blocks' matrices, AdamW for everything else.

    Raises BadInput if a learning rate is too large for float32.
    Source: Jordan et al. 2024, Muon; Loshchilov and Hutter 2019, arXiv:1711.05101.
    """
    for name, rate in (("lr_matrix", config.lr_matrix), ("lr_other", config.lr_other)):
        if not rate * max(1.0, config.weight_decay) <= MAX_RATE:
            raise BadInput(f"{name} ({rate}) and its product with weight_decay must be at most {MAX_RATE:g}")
    hidden: list[nn.Parameter] = []
    other: list[nn.Parameter] = []
    for name, p in model.named_parameters():
        (hidden if name.startswith("blocks.") and p.ndim == 2 else other).append(p)
    made: list[Muon | AdamW] = []
    if hidden:
        made.append(Muon(hidden, lr=config.lr_matrix, weight_decay=config.weight_decay))
    made.append(AdamW(other, lr=config.lr_other, betas=(0.9, 0.95), weight_decay=0.0, fused=True))
    return made


def schedule(step: int, config: TrainConfig) -> float:
    """Share of the peak learning rate at a step counted from 0: linear up, then linear down."""
    up = min(1.0, (step + 1) / max(1, config.warmup))
    down = 1.0 - step / config.steps
    return up * (config.final_lr + (1.0 - config.final_lr) * down)


def require_moments(optimizer: Muon | AdamW, moments: Moments, step: int) -> None:
    """Raise BadInput unless there are moments like every parameter, or before the first step none."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if not moments and step == 0:
        return
    for j, p in enumerate(params):
        held = moments.get(j, {})
        if held.keys() != optimizer.moments:
            raise BadInput(f"moments of {type(optimizer).__name__} are missing, or too many: {sorted(held)}")
        for name, value in held.items():
            count = name == "step"
            shape, kind = (torch.Size(), torch.float32) if count else (p.shape, p.dtype)
            require_moment(f"{name} of parameter {j}", value, shape, kind)
    if len(moments) > len(params):
        raise BadInput(f"moments of {len(moments)} parameters, where there are {len(params)}")


def require_moment(name: str, value: Any, shape: torch.Size, kind: torch.dtype) -> None:
    """Raise BadInput unless a value is a tensor of this shape and kind, and finite."""
    if not isinstance(value, Tensor) or value.shape != shape or value.dtype != kind:
        raise BadInput(f"{name} should be numbers of shape {tuple(shape)} and kind {kind}")
    if not value.isfinite().all():
        raise BadInput(f"{name} holds numbers that are not finite")
