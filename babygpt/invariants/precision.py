"""Promises about the machine's numbers: other precisions change little, and torch.compile changes nothing."""

import types
from copy import deepcopy

import torch
from torch import Tensor

from babygpt.invariants.base import Promise, unmasked_positions
from babygpt.models.language_model import LanguageModel
from babygpt.positions import Positions


@torch.inference_mode()
def float32_is_exact(model: LanguageModel, idx: Tensor, positions: Positions | None = None) -> Promise:
    """Measure how far the logits are from those of the same weights in float64; arguments as in `causal`."""
    positions = positions or unmasked_positions(len(idx), device=idx.device)
    exact = deepcopy(model).double()(idx[None], positions)
    change = (model(idx[None], positions) - exact).abs().max()
    return Promise("float32 gives the logits of float64", float(change), 1e-3)


@torch.inference_mode()
def bfloat16_is_near(
    model: LanguageModel, idx: Tensor, positions: Positions | None = None, autocast: bool = False
) -> Promise:
    """Measure how far the logits are from those in bfloat16, as a share of their standard deviation.

    autocast  whether weights stay as they are and matrices are multiplied in bfloat16, as in training;
              otherwise the weights are bfloat16, too. The other arguments are those of `causal`
    """
    positions = positions or unmasked_positions(len(idx), device=idx.device)
    logits = model(idx[None], positions)
    rough_model = model if autocast else deepcopy(model).bfloat16()
    with torch.autocast(idx.device.type, torch.bfloat16, enabled=autocast):
        rough = rough_model(idx[None], positions).to(logits)
    error = (rough - logits).square().mean().sqrt() / logits.std()
    # bfloat16 has 8 bits: a rotation, three matrices and a softmax in each of a few layers lose about 2%.
    return Promise("bfloat16 gives nearly the same logits", float(error), 0.1)


def traces_in_one_graph(model: LanguageModel, idx: Tensor, positions: Positions | None = None) -> Promise:
    """Measure how torch.compile changes the logits, with one graph for the whole model.

    The graph is run by PyTorch's own operators, so that no compiler is needed and nothing is fused. Arguments
    are those of `causal`.
    Raises what torch.compile raises where it cannot trace the model without a break.
    """
    positions = positions or unmasked_positions(len(idx), device=idx.device)

    def read(idx: Tensor, positions: Positions) -> Tensor:
        return model(idx, positions)

    # torch.compile counts the graphs of each code object and stops after eight. A copy begins at 0, and
    # unlike a reset it keeps what the user has compiled.
    fresh = types.FunctionType(read.__code__.replace(), read.__globals__, "read", None, read.__closure__)
    compiled = torch.compile(fresh, fullgraph=True, backend="eager")
    with torch.no_grad():
        change = (compiled(idx[None], positions) - model(idx[None], positions)).abs().max()
    return Promise("torch.compile traces it in one graph", float(change), 1e-4)
