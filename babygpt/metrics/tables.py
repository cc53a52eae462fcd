"""The tables that models without attention amount to."""

from __future__ import annotations

import numpy as np
import torch

from babygpt.models.bag_of_tokens import BagOfTokens
from babygpt.models.learned_positions import BagWithPositions


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
