"""Who did it? The same model with different encodings, over seeds."""

from __future__ import annotations

from typing import Any

import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import QUESTION_SEED, Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.metrics.roles import role_accuracy
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.training import finish, train

ROLES_TITLE = "Who did it? Without a code for order, a model can hardly tell"
VERSIONS = ("nope", "learned", "v3", "v4")
SEEDS = (1337, 2027, 9001)


def questions(corpus: Corpus, block_size: int, n: int) -> list[Any]:
    """The who questions that all models are asked: n of them, none longer than a window."""
    if corpus.grammar is None:
        raise BadInput(f"{corpus.name} asks no who questions; tales and tales-zh do")
    return corpus.grammar.questions(n, QUESTION_SEED, block_size)


def roles(
    versions: tuple[str, ...] = VERSIONS,
    seeds: tuple[int, ...] = SEEDS,
    steps: int = 600,
    n_chars: int = 1_000_000,
    n_questions: int = 400,
) -> dict[str, Any]:
    """Role accuracy and validation loss of each version and seed after the same steps.

    returns   settings, {"accuracy": version -> one number a seed}, {"val_loss": likewise}
    """
    corpus = load_corpus("tales", n_chars)
    config = ModelConfig(corpus.tokenizer.vocab_size, block_size=192)
    objective, asked = NextToken(corpus, config.block_size), questions(corpus, config.block_size, n_questions)
    accuracy: dict[str, list[float]] = {v: [] for v in versions}
    val_loss: dict[str, list[float]] = {v: [] for v in versions}
    for seed in seeds:
        for version in versions:
            torch.manual_seed(seed)
            model = build(version, config)
            history = finish(train(model, objective, TrainConfig(steps=steps, seed=seed)), steps, version)
            accuracy[version].append(role_accuracy(model, corpus.tokenizer, asked))
            val_loss[version].append(history[-1].val_loss or objective.validate(model))
    settings = {
        "steps": steps,
        "seeds": seeds,
        "block_size": config.block_size,
        "floor": corpus.floor,
    }
    return {**settings, "accuracy": accuracy, "val_loss": val_loss}
