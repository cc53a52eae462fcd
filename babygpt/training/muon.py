"""Muon: a matrix moves by an update in which every direction counts alike."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from babygpt.errors import BadInput
from babygpt.training.uncompiled import Uncompiled

QUINTIC = (3.4445, -4.7750, 2.0315)  # a x + b x^3 + c x^5, steep at 0: small singular values grow fast
ROUNDS = 5


class Muon(Uncompiled):
    """Momentum made orthogonal, for all matrices of one shape at once.

    The arithmetic is that of `torch.optim.Muon`, which takes matrix after matrix: with matrices as small as
    ours that was a quarter of a training step.

    params        matrices
    lr            learning rate; a matrix with more rows than columns moves sqrt(rows / columns) times as far
    weight_decay  decoupled
    momentum      of the running mean of the gradients, Nesterov's kind
    Raises BadInput for a parameter that is no matrix.
    Source: Jordan et al. 2024, Muon.
    """

    moments = frozenset({"momentum_buffer"})  # what `state` holds of each parameter after a step
    rounds = ROUNDS

    def __init__(
        self, params: Iterable[nn.Parameter], lr: float, weight_decay: float = 0.0, momentum: float = 0.95
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise BadInput(f"Muon moves matrices; a parameter of shape {tuple(p.shape)} is none")

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move every matrix that has a gradient; there is no use for a closure."""
        for group in self.param_groups:
            shapes: dict[torch.Size, list[Tensor]] = {}
            for p in group["params"]:
                if p.grad is not None:
                    shapes.setdefault(p.shape, []).append(p)
            for matrices in shapes.values():
                self._move(matrices, group["lr"], group["weight_decay"], group["momentum"])

    def _move(self, matrices: list[Tensor], lr: float, weight_decay: float, momentum: float) -> None:
        """Make one step with matrices of one shape."""
        moves = self._moves(matrices, momentum)
        if weight_decay:
            torch._foreach_mul_(matrices, 1 - lr * weight_decay)
        rows, columns = matrices[0].shape
        torch._foreach_add_(matrices, moves.unbind(), alpha=-lr * max(1.0, rows / columns) ** 0.5)

    def _moves(self, matrices: list[Tensor], momentum: float) -> Tensor:
        """Where N matrices of one shape would go in a step of length 1: (N, rows, columns)."""
        grads = [p.grad for p in matrices if p.grad is not None]
        for p in matrices:
            if "momentum_buffer" not in self.state[p]:
                self.state[p]["momentum_buffer"] = torch.zeros_like(p)
        means = [self.state[p]["momentum_buffer"] for p in matrices]
        torch._foreach_lerp_(means, grads, 1 - momentum)
        torch._foreach_lerp_(grads, means, momentum)  # a look ahead; the gradients have served
        return orthogonal(torch.stack(grads), self.rounds).float()


def orthogonal(matrices: Tensor, rounds: int = ROUNDS) -> Tensor:
    """Matrices with the same singular vectors, whose singular values are near 1 where they were not tiny.

    matrices  (N, rows, columns)
    rounds    of the iteration
    returns   (N, rows, columns)  bfloat16
    Source: Jordan et al. 2024, Muon (a Newton-Schulz iteration).
    """
    a, b, c = QUINTIC
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = (matrices.mT if tall else matrices).bfloat16()
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(rounds):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x
