"""Our recipe and a plain one, to the same loss on the same text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.experiments.roles import SEEDS
from babygpt.models.versions import build
from babygpt.objectives import MaskedDiffusion, NextToken
from babygpt.training import finish, train
from benchmarks.plain_gpt import PlainGPT
from benchmarks.race import Numbers, race, runners

BLOCK_SIZE, NEXT_BATCH, DIFFUSION_BATCH = 64, 12, 16
POLAR = ("v7-rope", "v7-polar", "v7")
# For a loss that is no record, a small model that makes many steps beats a large one (`bench shapes`).
NEXT_SHAPE = {"n_layer": 2, "n_head": 4, "n_embd": 64}
DIFFUSION_SHAPE = {"n_layer": 3, "n_head": 4, "n_embd": 64}
NEXT_PLAN = TrainConfig(steps=560, batch_size=NEXT_BATCH, lr_matrix=0.04)
DIFFUSION_PLAN = TrainConfig(steps=1160, batch_size=DIFFUSION_BATCH)


def recipe(
    corpus: Corpus, target: float, steps: int, plain_steps: int, same_shape: bool = False, seed: int = 1337
) -> Numbers:
    """Steps and seconds to a validation loss, for v4 by our recipe and for a GPT-2 by the plain one.

    The plain one has 4 layers, 128 wide; ours has what a search has found to be fast.

    corpus       the text; the loss is of its whole validation part
    target       loss to reach, in nats per character
    steps        length of our run, a multiple of 20
    plain_steps  length of the plain run, a multiple of 20
    same_shape   whether ours takes the shape of the plain one
    returns      what `race` returns
    """
    objective = NextToken(corpus, BLOCK_SIZE)
    large = ModelConfig(corpus.tokenizer.vocab_size, BLOCK_SIZE)
    shape = large if same_shape else replace(large, **NEXT_SHAPE)
    torch.manual_seed(seed)
    models = build("v4", shape), PlainGPT(large)
    plan = replace(NEXT_PLAN, steps=steps, seed=seed)
    return race(*runners(models, objective, plan, plain_steps), objective, target)


def diffusion(
    corpus: Corpus, target: float, steps: int, plain_steps: int, same_shape: bool = False, seed: int = 1337
) -> Numbers:
    """Steps and seconds to a mean loss over masked tokens: RoPE diffusion, by our recipe and the plain one.

    corpus       the text, with a MASK token; the loss is of 60 x 64 windows of its validation part, or of
                 all if there are more, with a rate for each window and masks fixed by a seed
    returns      what `race` returns; the other arguments are those of `recipe`
    """
    objective = MaskedDiffusion(corpus, BLOCK_SIZE)
    large = ModelConfig(corpus.tokenizer.vocab_size, BLOCK_SIZE)
    shape = large if same_shape else replace(large, **DIFFUSION_SHAPE)
    torch.manual_seed(seed)
    models = build("v7-rope", shape), build("v7-rope", large)
    plan = replace(DIFFUSION_PLAN, steps=steps, seed=seed)
    return race(*runners(models, objective, plan, plain_steps), objective, target)


def polar(
    corpus: Corpus, steps: int = 600, versions: Sequence[str] = POLAR, seeds: Sequence[int] = SEEDS
) -> dict[str, list[float]]:
    """Mean loss over masked tokens of RoPE and Polar diffusion after the same steps: one a seed."""
    config = ModelConfig(corpus.tokenizer.vocab_size, BLOCK_SIZE)
    objective = MaskedDiffusion(corpus, BLOCK_SIZE)
    found: dict[str, list[float]] = {version: [] for version in versions}
    for seed in seeds:
        for version in versions:
            torch.manual_seed(seed)
            model, plan = build(version, config), TrainConfig(steps, DIFFUSION_BATCH, seed=seed)
            records = finish(train(model, objective, plan), steps, f"{version}, seed {seed}")
            found[version].append(round(float(records[-1].val_loss or 0.0), 4))
    return found
