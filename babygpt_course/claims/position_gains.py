"""What a learned position is worth to v2, trained on windows cut in two ways."""

from __future__ import annotations

from statistics import mean

import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.training import train
from babygpt_course.claims.base import Finding, decide
from babygpt_course.studies.paired import decided_side


def position_gains(aligned: bool, seeds: range = range(3), steps: int = 150) -> list[float]:
    """By how many nats per character v2 ends below v1 on the tales, seed by seed.

    aligned  whether windows begin where a line begins, or anywhere
    """
    corpus = load_corpus("tales", n_chars=200_000)
    config = ModelConfig(corpus.tokenizer.vocab_size, block_size=32, n_embd=64)
    objective = NextToken(corpus, config.block_size, aligned)

    def loss(version: str, seed: int) -> float:
        torch.manual_seed(seed)
        model = build(version, config)
        for _ in train(model, objective, TrainConfig(steps=steps, batch_size=64, lr_other=0.03, seed=seed)):
            pass
        return objective.validate(model)

    return [loss("v1", seed) - loss("v2", seed) for seed in seeds]


def position_helps_prediction() -> Finding:
    """The gain of v2 over v1 on windows that begin with a line, and on windows that begin anywhere."""
    gains = {"aligned at a line's start": position_gains(True), "cut anywhere": position_gains(False)}
    told = ", ".join(f"{how} {mean(each):+.3f}" for how, each in gains.items())
    verdict = decide(*(decided_side(each) == "above" for each in gains.values()))
    reason = f"nats per character that v2 is ahead of v1: {told}"
    return Finding(verdict, mean(gains["aligned at a line's start"]), reason)
