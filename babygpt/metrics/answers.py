"""Answers to who-did-it questions: which of two names is likelier, and what a model writes by itself.

The two scores differ: a model may find the right name likelier than the wrong one, and still write neither.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from babygpt.data.stories import Question, Questions
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel, require_causal
from babygpt.objectives import cross_entropy

AnswerScore = Callable[..., np.ndarray]
ROWS = 64  # texts in a batch


@torch.inference_mode()
def answer_log_probs(model: LanguageModel, tokenizer: CharTokenizer, questions: Questions) -> np.ndarray:
    """Return the log-probability of the right and of the wrong answer to each question.

    returns   (Q, 2)  nats; the right answer first
    Raises BadInput for no questions, if the model is not causal, or for a question with its answer longer
    than its window.
    """
    require_questions(questions)
    texts = [(q.prompt, name + q.end) for q in questions for name in (q.answer, q.rival)]
    losses = _ending_losses(model, tokenizer, texts)
    return np.array([-float(letters.sum()) for letters in losses]).reshape(-1, 2)


def role_accuracy(
    model: LanguageModel,
    tokenizer: CharTokenizer,
    questions: Questions,
    score: AnswerScore = answer_log_probs,
) -> float:
    """Return the share of questions whose right answer is the likelier one; a tie counts half, chance is 0.5.

    score  compares the answers; `answer_bounds` for models that fill in
    """
    scores = score(model, tokenizer, questions)
    gap = scores[:, 0] - scores[:, 1]
    return float(np.mean(np.where(gap == 0, 0.5, gap > 0)))


@torch.inference_mode()
def answer_losses(model: LanguageModel, tokenizer: CharTokenizer, questions: Questions) -> np.ndarray:
    """Return the mean loss of each letter of the right answers: of the first letters, the second ones, ...

    The letters before it are the right ones. The end sign counts as the last letter, so "anna" has five.
    Where names differ in length, a mean is over the answers that are long enough.

    returns   (longest answer + 1,)  nats
    Raises BadInput as `answer_log_probs` does.
    """
    require_questions(questions)
    losses = _ending_losses(model, tokenizer, [(q.prompt, q.answer + q.end) for q in questions])
    longest = max(map(len, losses))
    return np.array([np.mean([row[i] for row in losses if len(row) > i]) for i in range(longest)])


def whole_answer_accuracy(model: LanguageModel, tokenizer: CharTokenizer, questions: Questions) -> float:
    """Return the share of questions after which the model, always taking the likeliest letter, is right.

    All letters of the name must be right, and the end sign must follow. Unlike `role_accuracy` it names no
    candidates: a guess among all N names of a language is right with probability 1/N.
    Raises BadInput as `greedy_answers` does.
    """
    written = greedy_answers(model, tokenizer, questions)
    return float(np.mean([text == q.answer for text, q in zip(written, questions, strict=True)]))


@torch.inference_mode()
def greedy_answers(model: LanguageModel, tokenizer: CharTokenizer, questions: Questions) -> list[str]:
    """Return the text that a model writes after each question, always taking the likeliest letter.

    Writing stops at the question's own end sign, which is left out. Where it does not come, the text is one
    letter longer than the longer of the question's two names, and so is no right answer.

    returns   one text for each question
    Raises BadInput if the model is not causal, or a question with its longer name exceeds its window.
    """
    require_questions(questions)
    require_causal(model)
    device, answers = next(model.parameters()).device, []
    for i in range(0, len(questions), ROWS):
        batch = questions[i : i + ROWS]
        sizes = torch.tensor([len(q.prompt) for q in batch])
        limits = torch.tensor([max(len(q.answer), len(q.rival)) + 1 for q in batch])
        ids = _pad_texts(model, tokenizer, [q.prompt for q in batch], int((sizes + limits).max()))
        for step in range(int(limits.max())):
            rows = (step < limits).nonzero()[:, 0]  # rows whose answer may still grow
            next_positions = sizes[rows] + step  # they differ, because prompts differ in length
            logits = model(ids[rows, : int(next_positions.max())].to(device))
            letters = logits[torch.arange(len(rows)), next_positions - 1].argmax(dim=-1)
            ids[rows, next_positions] = letters.cpu()
        for q, row, size, limit in zip(batch, ids, sizes, limits, strict=True):
            answers.append(tokenizer.decode(row[size : size + limit]).split(q.end, 1)[0])
    return answers


def require_questions(questions: Any) -> None:
    """Raise BadInput, saying what to write, unless there is at least one question to score."""
    if isinstance(questions, Question):
        raise BadInput("one question is needed in a list: write [question]")
    kind = type(questions).__name__
    if isinstance(questions, str) or not isinstance(questions, Sequence):
        raise BadInput(f"questions are a list, such as grammar.questions(...), and this is a {kind}")
    if not questions:
        raise BadInput("0 questions: at least 1 is needed, because a mean of nothing is no number")
    if not all(isinstance(question, Question) for question in questions):
        raise BadInput("questions are a list of Question, such as grammar.questions(...) returns")


def _pad_texts(model: LanguageModel, tokenizer: CharTokenizer, texts: Sequence[str], length: int) -> Tensor:
    """Return texts as (B, length) token ids, filled up on the right, where a causal model does not look.

    Raises BadInput unless all but the last of `length` tokens fit into the model's window.
    """
    require_causal(model)
    if length - 1 > model.config.block_size:
        raise BadInput(
            f"a question of {length} characters does not fit: block_size is {model.config.block_size}"
        )
    ids = torch.zeros(len(texts), length, dtype=torch.long)
    for row, text in zip(ids, texts, strict=True):
        row[: len(text)] = tokenizer.encode(text)
    return ids


def _ending_losses(
    model: LanguageModel, tokenizer: CharTokenizer, texts: list[tuple[str, str]]
) -> list[np.ndarray]:
    """Return the loss of each character of each ending after its prompt, nats."""
    ending_losses = []
    for i in range(0, len(texts), ROWS):
        batch = texts[i : i + ROWS]
        longest = max(len(prompt + ending) for prompt, ending in batch)
        ids = _pad_texts(model, tokenizer, [prompt + ending for prompt, ending in batch], longest)
        ids = ids.to(next(model.parameters()).device)
        losses = cross_entropy(model(ids[:, :-1]), ids[:, 1:])
        for row, (prompt, ending) in zip(losses.cpu().double().numpy(), batch, strict=True):
            # The loss of a character stands at the character before it, which predicts it.
            ending_losses.append(row[len(prompt) - 1 : len(prompt + ending) - 1])
    return ending_losses
