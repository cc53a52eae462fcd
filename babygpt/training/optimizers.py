"""Optimizers and their schedule: Muon for the blocks' matrices, AdamW for everything else."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import unwrap

import torch
from torch import Tensor, nn

from babygpt.config import TrainConfig

# a x + b x³ + c x⁵ is steep at 0, so that small singular values grow fast; five rounds bring them near 1.
QUINTIC = (3.4445, -4.7750, 2.0315)
ROUNDS = 5


def optimizers(model: nn.Module, config: TrainConfig) -> list[Muon | AdamW]:
    """Make the optimizers of a model: Muon for the blocks' matrices, AdamW for everything else.

    Source: Jordan et al. 2024, Muon; Loshchilov and Hutter 2019, arXiv:1711.05101.
    """
    hidden, other = list[nn.Parameter](), list[nn.Parameter]()
    for name, p in model.named_parameters():
        (hidden if name.startswith("blocks.") and p.ndim == 2 else other).append(p)
    adamw = AdamW(other, lr=config.lr_other, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    if not hidden:
        return [adamw]
    return [Muon(hidden, lr=config.lr_matrix, weight_decay=config.weight_decay), adamw]


def schedule(step: int, config: TrainConfig) -> float:
    """Return the share of the peak learning rate at a step counted from 0: linear up, then linear down."""
    up = min(1.0, (step + 1) / max(1, config.warmup))
    down = 1.0 - step / config.steps
    return up * (config.final_lr + (1.0 - config.final_lr) * down)


class Uncompiled(torch.optim.Optimizer):
    """Base of optimizers whose methods lack the decorators that keep torch.compile out of them.

    At their first call these decorators load the whole compiler stack: 1.5 s on an idle machine, in which a
    learner's first run would stand still. We compile no optimizer.
    """

    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = unwrap(torch.optim.Optimizer.zero_grad)
    state_dict = unwrap(torch.optim.Optimizer.state_dict)
    load_state_dict = unwrap(torch.optim.Optimizer.load_state_dict)


class AdamW(Uncompiled, torch.optim.AdamW):
    """PyTorch's AdamW, to the last bit."""

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move every parameter that has a gradient; a closure is not used."""
        unwrap(torch.optim.AdamW.step)(self)


class Muon(Uncompiled):
    """Momentum made orthogonal, for all matrices of one shape at once.

    The arithmetic is that of `torch.optim.Muon`, which takes one matrix after another: with matrices as small
    as ours that was a quarter of a training step.

    params        matrices
    lr            learning rate; a matrix with more rows than columns moves sqrt(rows / columns) times as far
    weight_decay  decoupled
    momentum      of the running mean of the gradients, Nesterov's kind
    Source: Jordan et al. 2024, Muon.
    """

    def __init__(
        self, params: Iterable[nn.Parameter], lr: float, weight_decay: float = 0.0, momentum: float = 0.95
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move every matrix that has a gradient; a closure is not used."""
        group = self.param_groups[0]
        shapes: dict[torch.Size, list[Tensor]] = {}
        for p in group["params"]:
            if p.grad is not None:
                shapes.setdefault(p.shape, []).append(p)
        for (rows, columns), matrices in shapes.items():
            updates = self.updates(matrices, group["momentum"])
            if group["weight_decay"]:
                torch._foreach_mul_(matrices, 1 - group["lr"] * group["weight_decay"])
            scale = max(1.0, rows / columns) ** 0.5
            torch._foreach_add_(matrices, updates.unbind(), alpha=-group["lr"] * scale)

    def updates(self, matrices: list[Tensor], momentum: float) -> Tensor:
        """Return the updates of N matrices of one shape at learning rate 1: (N, rows, columns)."""
        grads = [p.grad for p in matrices if p.grad is not None]
        for p in matrices:
            if "momentum_buffer" not in self.state[p]:
                self.state[p]["momentum_buffer"] = torch.zeros_like(p)
        means = [self.state[p]["momentum_buffer"] for p in matrices]
        torch._foreach_lerp_(means, grads, 1 - momentum)
        torch._foreach_lerp_(grads, means, momentum)  # Nesterov's look ahead, written over the gradients
        return orthogonal(torch.stack(grads)).float()


def orthogonal(matrices: Tensor) -> Tensor:
    """Return matrices with the same singular vectors and singular values near 1, except tiny ones.

    matrices  (N, rows, columns)
    returns   (N, rows, columns)  bfloat16
    Source: Jordan et al. 2024, Muon (a Newton-Schulz iteration).
    """
    a, b, c = QUINTIC
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = (matrices.mT if tall else matrices).bfloat16()
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(ROUNDS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x
