"""What moves the weights: Muon for matrices, AdamW for the rest, and how fast."""

from __future__ import annotations

import torch
from torch import nn

from babygpt.config import TrainConfig
from babygpt.training.muon import Muon
from babygpt.training.uncompiled import AdamW


def optimizers(model: nn.Module, config: TrainConfig) -> list[torch.optim.Optimizer]:
    """Muon for the blocks' matrices, AdamW for everything else.

    Source: Jordan et al. 2024, Muon; Loshchilov and Hutter 2019, arXiv:1711.05101.
    """
    hidden: list[nn.Parameter] = []
    other: list[nn.Parameter] = []
    for name, p in model.named_parameters():
        (hidden if name.startswith("blocks.") and p.ndim == 2 else other).append(p)
    made: list[torch.optim.Optimizer] = []
    if hidden:
        made.append(Muon(hidden, lr=config.lr_matrix, weight_decay=config.weight_decay))
    made.append(AdamW(other, lr=config.lr_other, betas=(0.9, 0.95), weight_decay=0.0, fused=True))
    return made


def schedule(step: int, config: TrainConfig) -> float:
    """Share of the peak learning rate at a step counted from 0: linear up, then linear down."""
    up = min(1.0, (step + 1) / max(1, config.warmup))
    down = 1.0 - step / config.steps
    return up * (config.final_lr + (1.0 - config.final_lr) * down)
