"""Deep or wide, few steps or many: what the same seconds of training come to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.training import Step, finish, train
from benchmarks.recipe import BLOCK_SIZE, NEXT_BATCH

SHAPES = ((4, 128), (3, 128), (2, 128), (3, 96), (2, 96), (4, 64), (3, 64), (2, 64))  # layers, width
RATE = 0.04  # of all shapes
TRIAL = 20  # steps that tell how long one takes


def compare_shapes(
    corpus: Corpus, seconds: float, shapes: Sequence[tuple[int, int]] = SHAPES, seed: int = 1337
) -> dict[str, Any]:
    """The validation loss of v4 in several shapes, each trained for about the same time by our recipe.

    corpus   the text; the loss is of its whole validation part, in nats per character
    seconds  of training for each, finite and above 0; a few steps more tell how many steps that makes
    shapes   layers and width of each
    returns  "shapes": by shape "steps", "seconds" and "val_loss"; and which is "best"
    Raises BadInput if seconds is no such number.
    """
    if not 0 < seconds < math.inf:
        raise BadInput(f"seconds ({seconds}) must be a finite number above 0")
    objective, results = NextToken(corpus, BLOCK_SIZE), {}

    def last_step(config: ModelConfig, steps: int) -> Step:
        torch.manual_seed(seed)
        plan = TrainConfig(steps, NEXT_BATCH, lr_matrix=RATE, seed=seed)
        run = train(build("v4", config), objective, plan)
        return finish(run, steps, describe_shape(config))[-1]

    for n_layer, n_embd in shapes:
        config = ModelConfig(corpus.tokenizer.vocab_size, BLOCK_SIZE, n_layer=n_layer, n_embd=n_embd)
        step_s = last_step(config, TRIAL).seconds / TRIAL
        last = last_step(config, max(1, round(seconds / step_s)))
        results[describe_shape(config)] = {
            "steps": last.step,
            "seconds": round(last.seconds, 2),
            "val_loss": round(float(last.val_loss or 0.0), 4),
        }
    best = min(results, key=lambda name: float(results[name]["val_loss"]))
    return {"shapes": results, "best": best}


def describe_shape(config: ModelConfig) -> str:
    """A model's depth and width in words."""
    return f"{config.n_layer} layers, {config.n_embd} wide"
