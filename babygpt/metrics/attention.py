"""What attention attended to, as an array."""

from __future__ import annotations

import threading

import numpy as np
import torch
from torch import Tensor

from babygpt.models.transformer import Attention, Context, Transformer, score_scale
from babygpt.positions import Positions


def weights_of(layer: Attention, x: Tensor, context: Context) -> tuple[Tensor, Tensor]:
    """Attention weights of one layer, and the values they are applied to.

    x         (B, T, C)  the layer's input
    returns   (B, H, T, T) weights, rows sum to 1, and (B, H, T, D) values
    """
    q, k, v = layer.qkv(x, context)
    scores = q @ k.transpose(-1, -2) * score_scale(v)  # (B, H, T, T)
    if context.mask is not None:
        scores = scores + context.mask
    elif context.causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    return scores.softmax(dim=-1), v


@torch.inference_mode()
def attention_weights(model: Transformer, idx: Tensor, positions: Positions | None = None) -> np.ndarray:
    """Attention weights of every layer and head on one text.

    idx       (T,)  token ids
    positions where they stand; by default 0, 1, 2, ...
    returns   (n_layer, n_head, T, T)  row m tells what token m looks at, and sums to 1
    """
    found: list[Tensor] = []
    here = threading.get_ident()

    def record(layer: Attention, inputs: tuple[Tensor, Context]) -> None:
        if threading.get_ident() == here:  # the model may be training in another thread
            found.append(weights_of(layer, *inputs)[0][0])

    layers = [module for module in model.modules() if isinstance(module, Attention)]
    hooks = [layer.register_forward_pre_hook(record) for layer in layers]
    try:
        device = next(model.parameters()).device
        model(idx[None].to(device), None if positions is None else positions.to(device))
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(found).float().cpu().numpy()
