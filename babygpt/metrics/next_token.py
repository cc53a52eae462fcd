"""Metrics of models that predict the next token: loss by position, and answers to who-did-it questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from babygpt.data.batches import cut, require_window
from babygpt.data.stories import Question
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.models.base import LanguageModel, require_causal
from babygpt.objectives import cross_entropy
from babygpt.positions import Positions


@torch.inference_mode()
def loss_by_position(model: LanguageModel, ids: Tensor, length: int, n_windows: int = 64) -> np.ndarray:
    """Mean loss at each position of long windows.

    ids        (N,)  text
    length     tokens in a window; may exceed the block_size that the model was trained with
    n_windows  windows, evenly over the text
    returns    (length,)  nats per token
    Raises ValueError if the model is not causal, the text too short, or a position beyond the encoding.
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


@torch.inference_mode()
def answer_log_probs(
    model: LanguageModel, tokenizer: CharTokenizer, questions: Sequence[Question]
) -> np.ndarray:
    """Log-probability of the right and of the wrong answer to each question.

    returns   (Q, 2)  nats; the right answer first
    Raises ValueError if the model is not causal, or a question with its answer longer than its window.
    """
    texts = [(q.prompt, name + q.end) for q in questions for name in (q.answer, q.rival)]
    rows = [_scores(model, tokenizer, texts[i : i + 64]) for i in range(0, len(texts), 64)]
    return np.array([score for some in rows for score in some]).reshape(-1, 2)


def role_accuracy(
    model: LanguageModel,
    tokenizer: CharTokenizer,
    questions: Sequence[Question],
    score: Callable[..., np.ndarray] = answer_log_probs,
) -> float:
    """Share of questions whose right answer is the likelier one; a tie counts half, chance is 0.5.

    score  what the answers are compared by; `answer_bounds` for models that fill in
    """
    scores = score(model, tokenizer, questions)
    gap = scores[:, 0] - scores[:, 1]
    return float(np.mean(np.where(gap == 0, 0.5, gap > 0)))


def _scores(model: LanguageModel, tokenizer: CharTokenizer, texts: list[tuple[str, str]]) -> list[float]:
    """Log-probability of each ending after its prompt, all texts in one padded batch."""
    require_causal(model)
    length = max(len(prompt + end) for prompt, end in texts)
    if length - 1 > model.config.block_size:
        raise BadInput(
            f"a question of {length} characters does not fit: block_size is {model.config.block_size}"
        )
    device = next(model.parameters()).device
    ids = torch.zeros(len(texts), length, dtype=torch.long)
    asked = torch.zeros(len(texts), length - 1)
    for row, (prompt, end) in enumerate(texts):
        ids[row, : len(prompt + end)] = tokenizer.encode(prompt + end)
        asked[row, len(prompt) - 1 : len(prompt + end) - 1] = 1.0
    ids, asked = ids.to(device), asked.to(device)
    losses = cross_entropy(model(ids[:, :-1]), ids[:, 1:])  # (B, length - 1)
    return (-(losses * asked).cpu().double().sum(dim=1)).tolist()
