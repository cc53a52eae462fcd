"""torch.optim without the decorators that keep torch.compile out of it.

They load the whole compiler stack at their first call: 1.5 s on an idle machine and 7 s on a busy one, in
which a learner's first run would stand still. Nothing here compiles an optimizer's step.
"""

from __future__ import annotations

from inspect import unwrap

import torch


class Uncompiled(torch.optim.Optimizer):
    """Base of optimizers whose first call loads no compiler: PyTorch's own methods, undecorated."""

    add_param_group = unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = unwrap(torch.optim.Optimizer.zero_grad)
    state_dict = unwrap(torch.optim.Optimizer.state_dict)
    load_state_dict = unwrap(torch.optim.Optimizer.load_state_dict)


class AdamW(Uncompiled, torch.optim.AdamW):
    """PyTorch's own, to the last bit."""

    moments = frozenset(
        {"step", "exp_avg", "exp_avg_sq"}
    )  # what `state` holds of each parameter after a step

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move every parameter that has a gradient; there is no use for a closure."""
        unwrap(torch.optim.AdamW.step)(self)
