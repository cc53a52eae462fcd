"""What a model remembers, by how far back it was told: the loss on tales cannot show it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch

from babygpt.data.recall import recall_windows
from babygpt.data.tokenizer import CharTokenizer
from babygpt.memory import portions
from babygpt.models.base import LanguageModel, require_causal
from babygpt.objectives import cross_entropy
from babygpt.positions import Positions


class Recall(NamedTuple):
    """How well values are recalled, for each of some distances.

    accuracy  (S,)  share of windows in which the value told is the likeliest of its kind; chance is 0.1
    loss      (S,)  mean loss on it among all characters, nats; one that knows of nothing but the kind
                    has at least ln 10 = 2.303
    """

    accuracy: np.ndarray
    loss: np.ndarray


def recall_by_distance(
    model: LanguageModel, tokenizer: CharTokenizer, distances: Iterable[int], **windows: Any
) -> Recall:
    """How well a model recalls a value that was told so many characters before it is asked.

    Positions are counted from 0 in every window.

    tokenizer  of the corpus "recall"
    distances  from the value told to the value asked, in characters; each may exceed block_size
    windows    as `recall_windows` takes them: n, length, seed, spacing, is_told
    Raises ValueError if the model is not causal, for a position beyond its encoding, and as
    `recall_windows` does.
    """
    require_causal(model)
    found = [_recalled(model, tokenizer, distance, windows) for distance in distances]
    return Recall(*(np.array(values) for values in zip(*found, strict=True)))


@torch.inference_mode()
def _recalled(
    model: LanguageModel, tokenizer: CharTokenizer, distance: int, windows: dict[str, Any]
) -> tuple[float, float]:
    """Accuracy and mean loss at one distance."""
    device = next(model.parameters()).device
    found = recall_windows(tokenizer, distance, **windows)
    positions = Positions.arange(found.tokens.shape[1], device=device)
    right, losses = [], []
    for some, values, answer in portions(model, *found):
        logits = model(some.to(device), positions)[:, -1].cpu()  # (B, vocab_size)
        right.append(logits.gather(1, values).argmax(dim=-1) == answer)
        losses.append(cross_entropy(logits[:, None], values.gather(1, answer[:, None])))
    return float(torch.cat(right).double().mean()), float(torch.cat(losses).double().mean())
