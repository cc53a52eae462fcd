"""Who did it? Two candidates, and only the order of the words tells which."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from babygpt.data.stories import Question
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.models.base import LanguageModel, require_causal
from babygpt.objectives import cross_entropy


@torch.inference_mode()
def answer_log_probs(
    model: LanguageModel, tokenizer: CharTokenizer, questions: Sequence[Question]
) -> np.ndarray:
    """Log-probability of the right and of the wrong answer to each question.

    returns   (Q, 2)  nats; the right answer first
    Raises ValueError if the model is not causal, or a question with its answer longer than its window.
    """
    texts = [(q.prompt, name + q.end) for q in questions for name in (q.answer, q.rival)]
    rows = [score for some in _chunks(texts, 64) for score in _scores(model, tokenizer, some)]
    return np.array(rows).reshape(-1, 2)


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


def _chunks(items: list[tuple[str, str]], size: int) -> list[list[tuple[str, str]]]:
    return [items[i : i + size] for i in range(0, len(items), size)]


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
