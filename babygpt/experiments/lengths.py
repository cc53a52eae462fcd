"""Longer than trained: loss by position up to four windows."""

from __future__ import annotations

from typing import Any

import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.metrics.losses import loss_by_position
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.training import finish, train

LENGTHS_TITLE = "Past the window, only a code that forgets stays calm"
VERSIONS = ("nope", "learned", "v3", "v4", "alibi")


def lengths(
    versions: tuple[str, ...] = VERSIONS,
    steps: int = 300,
    block_size: int = 64,
    seed: int = 1337,
    n_chars: int = 1_000_000,
) -> dict[str, Any]:
    """Loss at every position up to 4 x block_size, of models trained on windows of block_size.

    returns   settings and {"loss": version -> nats per token at each position}; the list of a model
              that refuses positions past its window ends there
    """
    corpus = load_corpus("tales", n_chars)
    config = ModelConfig(corpus.tokenizer.vocab_size, block_size)
    objective = NextToken(corpus, block_size)
    loss: dict[str, list[float]] = {}
    for version in versions:
        torch.manual_seed(seed)
        model = build(version, config)
        finish(train(model, objective, TrainConfig(steps=steps, seed=seed)), steps, version)
        known = model.encoding.max_positions or 4 * block_size
        losses = loss_by_position(model, corpus.val, min(known, 4 * block_size))
        loss[version] = [round(float(x), 4) for x in losses]
    return {"steps": steps, "seed": seed, "block_size": block_size, "loss": loss}
