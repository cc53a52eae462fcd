"""Loss, position by position, also where the model was never trained."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from babygpt.data.batches import cut, require_window
from babygpt.models.base import LanguageModel, require_causal
from babygpt.objectives import cross_entropy
from babygpt.positions import Positions


@torch.inference_mode()
def loss_by_position(model: LanguageModel, ids: Tensor, length: int, n_windows: int = 64) -> np.ndarray:
    """Mean loss at each position of long windows.

    ids        (N,)  text
    length     tokens in a window; may exceed the block_size that the model was trained with
    n_windows  windows, spread evenly over the text
    returns    (length,)  nats per token
    Raises ValueError if the model is not causal, the text too short, or if the encoding refuses such places.
    """
    require_causal(model)
    require_window(ids, length)
    device = next(model.parameters()).device
    starts = torch.linspace(0, len(ids) - length - 1, n_windows).long()
    positions = Positions.arange(length, device=device)
    total = torch.zeros(length, device=device)
    for some in starts.split(16):
        window = cut(ids, some, length + 1).to(device)
        total += cross_entropy(model(window[:, :-1], positions), window[:, 1:]).sum(dim=0)
    return (total / n_windows).cpu().numpy()
