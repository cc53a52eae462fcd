"""The note's gate and its repairs, one by one: what each is worth, beside RoPE and other rivals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.experiments.roles import SEEDS
from babygpt.metrics.diffusion import nelbo
from babygpt.models.versions import build
from babygpt.objectives import MaskedDiffusion
from babygpt.objectives.diffusion import mask_of
from babygpt.sampling import fill_in
from babygpt.training import finish, train

REPAIRS = {
    "v7-polar": "as written",
    "v7-exact": "exact phase",
    "v7-random": "random phase",
    "v7-last": "gates after the norm",
    "v7-keys": "α on keys only",
    "v7-quadrature": "quadrature",
    "v7": "learned phase",
}  # in the order of the walk; each has the repairs before it
RIVALS = {"v7-nope": "no encoding", "v7-alibi": "ALiBi", "v7-rope": "RoPE", "v7-pope": "PoPE"}
WITHOUT_ALPHA = ("v7-keys", "v7-quadrature", "v7")  # trained once more with alpha = 1
HIDDEN_SHARE = 0.75  # of the text of a trajectory
EVERY = 20  # steps of which a curve's point is the mean


def walk(
    versions: Sequence[str] = (*REPAIRS, *RIVALS),
    without_alpha: Sequence[str] = WITHOUT_ALPHA,
    seeds: tuple[int, ...] = SEEDS,
    steps: int = 400,
    block_size: int = 64,
    n_chars: int = 400_000,
) -> dict[str, Any]:
    """Train every version on the plain tales with the same windows and masks, from several seeds.

    returns  settings; "val_loss" (mean over masked tokens) and "nelbo": version -> nats per character, one
             a seed; "curves": version -> [step, training loss], means over EVERY steps and over seeds;
             "without alpha": version -> validation loss with alpha = 1, one a seed
    """
    corpus = load_corpus("plain-tales", n_chars, with_mask=True)
    config = ModelConfig(corpus.tokenizer.vocab_size, block_size, n_layer=2, n_head=4, n_embd=96)
    objective = MaskedDiffusion(corpus, block_size)
    found: dict[str, list[dict[str, Any]]] = {}
    runs: list[tuple[str, str, dict[str, Any]]] = [(v, v, {}) for v in versions]
    runs += [(f"{v}, α = 1", v, {"alpha": 1.0}) for v in without_alpha]
    for seed in seeds:
        for name, version, options in runs:
            torch.manual_seed(seed)
            model, recipe = build(version, config, **options), TrainConfig(steps, batch_size=16, seed=seed)
            history = finish(train(model, objective, recipe), steps, f"{name}, seed {seed}")
            losses = np.array([step.loss for step in history])[: steps // EVERY * EVERY]
            found.setdefault(name, []).append(
                {
                    "val_loss": round(float(history[-1].val_loss or 0.0), 4),
                    "nelbo": round(nelbo(model, corpus.val)[0], 4),
                    "curve": losses.reshape(-1, EVERY).mean(axis=1),
                }
            )
    settings = {"steps": steps, "seeds": list(seeds), "block_size": block_size, "floor": corpus.floor}
    return {**settings, **summary(found, versions)}


def summary(found: dict[str, list[dict[str, Any]]], versions: Sequence[str]) -> dict[str, Any]:
    """What was found of each run and seed, as numbers that can be stored."""
    numbers = {key: {v: [one[key] for one in found[v]] for v in versions} for key in ("val_loss", "nelbo")}
    curves = {v: np.mean([one["curve"] for one in found[v]], axis=0) for v in versions}
    return {
        **numbers,
        "curves": {
            v: [[EVERY * (i + 1), round(float(x), 4)] for i, x in enumerate(curve)]
            for v, curve in curves.items()
        },
        "without alpha": {
            name.partition(",")[0]: [one["val_loss"] for one in every]
            for name, every in found.items()
            if name not in versions
        },
    }


def trajectory(
    version: str = "v7", seed: int = SEEDS[0], steps: int = 600, block_size: int = 64, n_chars: int = 400_000
) -> dict[str, Any]:
    """Train a model, hide most of a text it has never seen, and note when each character comes back.

    returns  settings and "text"; for each of its characters "when" (step, 0 for what was given) and "sure"
             (the probability that the model gave it then)
    """
    corpus = load_corpus("plain-tales", n_chars, with_mask=True)
    config = ModelConfig(corpus.tokenizer.vocab_size, block_size, n_layer=2, n_head=4, n_embd=96)
    torch.manual_seed(seed)
    model, recipe = build(version, config), TrainConfig(steps, batch_size=16, seed=seed)
    finish(train(model, MaskedDiffusion(corpus, block_size, val_windows=1), recipe), steps, version)
    draw = torch.Generator().manual_seed(0)
    hidden = torch.rand(block_size, generator=draw) < HIDDEN_SHARE
    idx = corpus.val[:block_size].masked_fill(hidden, mask_of(model))
    filled = fill_in(model, idx[None], temperature=0.0)
    return {
        "version": version,
        "steps": steps,
        "seed": seed,
        "original": corpus.tokenizer.decode(corpus.val[:block_size]),
        "text": corpus.tokenizer.decode(filled.tokens[0]),
        "when": filled.when[0].tolist(),
        "sure": [round(float(p), 4) for p in filled.sure[0]],
    }
