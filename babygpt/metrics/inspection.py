"""What is inside a trained model, as arrays: attention weights, tables, kernels, gates."""

from __future__ import annotations

import math
import threading
from bisect import bisect_left

import numpy as np
import torch
from torch import Tensor

from babygpt.encodings.base import Encoding
from babygpt.encodings.gaussian import Gaussian
from babygpt.encodings.polar import Waves
from babygpt.errors import BadInput
from babygpt.models.base import BagOfTokens, BagWithPositions
from babygpt.models.transformer import Attention, Context, Transformer, score_scale
from babygpt.positions import Positions


def weights_of(layer: Attention, x: Tensor, context: Context) -> tuple[Tensor, Tensor]:
    """Attention weights of one layer, and the values they are applied to.

    x         (B, T, C)  the layer's input
    returns   (B, H, T, T) weights, rows sum to 1, and (B, H, T, D) values
    """
    q, k, v = layer.qkv(x, context)
    scores = q @ k.transpose(-1, -2) * score_scale(v)  # (B, H, T, T)
    if context.attn_mask is not None:
        scores = scores + context.attn_mask
    elif context.causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    return scores.softmax(dim=-1), v


@torch.inference_mode()
def attention_weights(model: Transformer, idx: Tensor, positions: Positions | None = None) -> np.ndarray:
    """Attention weights of every layer and head on one text.

    idx        (T,)  token ids
    positions  where they stand; by default 0, 1, 2, ...
    returns    (n_layer, n_head, T, T)  row m tells what token m looks at, and sums to 1
    Raises BadInput for a model without attention: v1, v2.
    """
    found: list[Tensor] = []
    here = threading.get_ident()

    def record(layer: Attention, inputs: tuple[Tensor, Context]) -> None:
        if threading.get_ident() == here:  # the model may be training in another thread
            found.append(weights_of(layer, *inputs)[0][0])

    layers = [module for module in model.modules() if isinstance(module, Attention)]
    if not layers:
        raise BadInput(f"a {type(model).__name__} has no attention: no token looks at another")
    hooks = [layer.register_forward_pre_hook(record) for layer in layers]
    try:
        device = next(model.parameters()).device
        model(idx[None].to(device), None if positions is None else positions.to(device))
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(found).float().cpu().numpy()


@torch.inference_mode()
def bigram_table(model: BagOfTokens) -> np.ndarray:
    """Probability of each next token after each token, which is all that v1 knows.

    returns  (vocab_size, vocab_size)  rows sum to 1
    """
    device = next(model.parameters()).device
    every = torch.arange(model.config.vocab_size, device=device)
    return model(every[None])[0].softmax(dim=-1).cpu().numpy()


@torch.inference_mode()
def position_votes(model: BagWithPositions) -> np.ndarray:
    """What v2's table of positions adds to the logits, compared with the average position.

    returns  (block_size, vocab_size)  nats
    """
    added = model.encoding.get_parameter("table") @ model.head.weight.T  # (P, V)
    return (added - added.mean(dim=0)).cpu().numpy()


@torch.inference_mode()
def kernel_values(encoding: Gaussian, furthest: int) -> np.ndarray:
    """K at every whole distance from 0 to `furthest` tokens: (furthest + 1,), or (H, furthest + 1)."""
    device = encoding.get("log_alphas").device
    return encoding.kernel(torch.arange(furthest + 1, device=device)).cpu().numpy()


@torch.inference_mode()
def reach(encoding: Gaussian, share: float, furthest: int = 10_000) -> int:
    """The first distance at which K is below a share of K(0): beyond it the kernel keeps less than that.

    encoding  with a kernel, which never rises with distance; of several, the one that reaches furthest counts
    share     between 0 and 1
    furthest  returned where K is not below the share anywhere before it, in tokens
    returns   tokens
    Raises ValueError for a share outside its range.
    """
    if not 0 < share <= 1:
        raise BadInput(f"share ({share}) must be above 0 and at most 1")
    device = encoding.get("log_alphas").device

    def log_kernel(distance: int) -> Tensor:  # K itself may be too small a number
        return encoding.log_kernel(torch.tensor(distance, device=device))

    peak, least = log_kernel(0), math.log(share)

    def below(distance: int) -> bool:
        return bool((log_kernel(distance) - peak < least).all())

    return bisect_left(range(furthest), True, key=below)


def gates_of(encoding: Encoding, positions: Positions) -> Tensor:
    """What multiplies the keys of one text, before any norm.

    positions  (T,), with `masked` (1, T): alpha multiplies the rows that are MASK
    returns    (H or 1, T, D), or (H or 1, T, 2 D) with the sines after the cosines
    Raises ValueError for an encoding that has no gates.
    """
    if not isinstance(encoding, Waves):
        name = type(encoding).__name__
        raise BadInput(f"{name} has no gates; v7, v7-polar and its repairs, and v7-pope have")
    gates = encoding.key_gates(positions)
    return gates[0] if gates.dim() == 4 else gates


def phases_of(encoding: Encoding) -> Tensor | None:
    """The phases that an encoding learns, radians: (H or 1, D), or None if it learns none."""
    for name in ("delta", "phi"):
        phase: Tensor | None = getattr(encoding, name, None)
        if phase is not None:
            return phase.view(-1, phase.shape[-1])
    return None
