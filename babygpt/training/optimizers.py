"""Optimizers and their schedule: Muon for the blocks' matrices, AdamW for everything else.

These are no classes of torch.optim. At their first call, decorators there load the whole compiler stack:
1.5 s on an idle machine, in which a learner's first run would stand still.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw as adamw_step

from babygpt.config import TrainConfig

# a x + b x³ + c x⁵ is steep at 0, so that small singular values grow fast; five rounds bring them near 1.
QUINTIC = (3.4445, -4.7750, 2.0315)
# Graphics cards multiply bfloat16 quickly. On a processor without instructions for it these products took two
# thirds of a training step, because each number is widened and rounded again.
PRECISION = {"cpu": torch.float32}


def optimizers(model: nn.Module, config: TrainConfig) -> list["Optimizer"]:
    """Make the optimizers of a model: Muon for the blocks' matrices, AdamW for everything else.

    Source: Jordan et al. 2024, Muon; Loshchilov and Hutter 2019, arXiv:1711.05101.
    """
    matrices, others = list[nn.Parameter](), list[nn.Parameter]()
    for name, p in model.named_parameters():
        is_matrix = name.startswith("blocks.") and p.ndim == 2
        (matrices if is_matrix else others).append(p)
    adamw = AdamW(others, lr=config.lr_other)
    if not matrices:
        return [adamw]
    return [Muon(matrices, lr=config.lr_matrix, weight_decay=config.weight_decay), adamw]


def schedule(step: int, config: TrainConfig) -> float:
    """Return the share of the peak learning rate at a step counted from 0: linear up, then linear down."""
    up = min(1.0, (step + 1) / max(1, config.warmup))
    down = 1.0 - step / config.steps
    return up * (config.final_lr + (1.0 - config.final_lr) * down)


class Optimizer(ABC):
    """The base of both: parameters, a learning rate, and what is remembered of each parameter.

    params        that it moves; one without a gradient stays as it is
    lr            learning rate, set anew before every step
    weight_decay  decoupled
    state         for each parameter that was moved the running means of its gradients, by name
    """

    def __init__(self, params: Iterable[nn.Parameter], lr: float, weight_decay: float = 0.0) -> None:
        self.params, self.lr, self.weight_decay = list(params), lr, weight_decay
        self.state: list[dict[str, Tensor]] = [{} for _ in self.params]

    @abstractmethod
    def step(self) -> None:
        """Move every parameter that has a gradient."""

    def gradients(self) -> list[tuple[nn.Parameter, Tensor, dict[str, Tensor]]]:
        """Return each parameter that has a gradient, with the gradient and its state."""
        pairs = zip(self.params, self.state, strict=True)
        return [(p, p.grad, state) for p, state in pairs if p.grad is not None]


class AdamW(Optimizer):
    """PyTorch's AdamW, to the last bit.

    Source: Loshchilov and Hutter 2019, arXiv:1711.05101.
    """

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient."""
        gradients = self.gradients()
        for p, _, state in gradients:
            if not state:
                state["step"] = torch.zeros((), device=p.device)
                state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(p), torch.zeros_like(p)
        adamw_step(
            [p for p, *_ in gradients],
            [grad for _, grad, _ in gradients],
            [state["exp_avg"] for *_, state in gradients],
            [state["exp_avg_sq"] for *_, state in gradients],
            [],
            [state["step"] for *_, state in gradients],
            fused=True,
            lr=self.lr,
            weight_decay=self.weight_decay,
            beta1=0.9,
            beta2=0.95,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )


class Muon(Optimizer):
    """Momentum made orthogonal, for all matrices of one shape at once.

    The arithmetic is that of `torch.optim.Muon`, but for its precision on a processor. PyTorch's takes one
    matrix after another: with matrices as small as ours that was a quarter of a training step.

    momentum  of the running mean of the gradients, Nesterov's kind
    rounds    of the iteration that makes an update orthogonal
    A matrix with more rows than columns moves sqrt(rows / columns) times as far.
    Source: Jordan et al. 2024, Muon.
    """

    momentum = 0.95
    rounds = 5

    @torch.no_grad()
    def step(self) -> None:
        """Move every matrix that has a gradient."""
        by_shape: dict[torch.Size, list[tuple[nn.Parameter, Tensor, dict[str, Tensor]]]] = {}
        for parameter, grad, state in self.gradients():
            by_shape.setdefault(parameter.shape, []).append((parameter, grad, state))
        for (rows, columns), group in by_shape.items():
            updates = self.updates([grad for _, grad, _ in group], [state for *_, state in group])
            matrices: list[Tensor] = [p for p, *_ in group]
            if self.weight_decay:
                torch._foreach_mul_(matrices, 1 - self.lr * self.weight_decay)
            scale = max(1.0, rows / columns) ** 0.5
            torch._foreach_add_(matrices, updates.unbind(), alpha=-self.lr * scale)

    def updates(self, grads: list[Tensor], states: list[dict[str, Tensor]]) -> Tensor:
        """Return the updates of N matrices of one shape at learning rate 1: (N, rows, columns)."""
        for grad, state in zip(grads, states, strict=True):
            state.setdefault("momentum_buffer", torch.zeros_like(grad))
        means = [state["momentum_buffer"] for state in states]
        torch._foreach_lerp_(means, grads, 1 - self.momentum)
        torch._foreach_lerp_(grads, means, self.momentum)  # Nesterov's look ahead replaces the gradients
        return orthogonal(torch.stack(grads), self.rounds).float()


def orthogonal(matrices: Tensor, rounds: int = Muon.rounds) -> Tensor:
    """Return matrices with the same singular vectors and singular values near 1, except tiny ones.

    matrices  (N, rows, columns)
    rounds    of the iteration; fewer bring small singular values less near to 1
    returns   (N, rows, columns)  float32 on a processor, bfloat16 elsewhere
    Source: Jordan et al. 2024, Muon (a Newton-Schulz iteration).
    """
    a, b, c = QUINTIC
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = (matrices.mT if tall else matrices).to(PRECISION.get(matrices.device.type, torch.bfloat16))
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(rounds):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x
