"""RoPE with a kernel and without: loss near and far, right answers, and which distances K keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.encodings.gaussian import ALPHAS, SIGMAS, Gaussian
from babygpt.experiments.roles import SEEDS, questions
from babygpt.metrics.kernels import kernel_values, reach
from babygpt.metrics.losses import loss_by_position
from babygpt.metrics.roles import role_accuracy
from babygpt.models.base import LanguageModel
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.training import finish, train

VERSIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "v4": ("v4", {}),
    "v5": ("v5", {}),
    "v5 fixed": ("v5", {"learnable": False}),
    "v5-absolute": ("v5-absolute", {}),
    "v5-absolute fixed": ("v5-absolute", {"learnable": False}),
    "alibi": ("alibi", {}),
}  # name -> version and options; fixed as in the note, whose kernel no gradient reaches
ON_FULL = ("v4", "v5", "v5 fixed")
WORLD, FULL = "plain-tales", "tales"
NUMBERS = ("alpha1", "alpha2", "sigma1", "sigma2")


def trained(name: str, corpus: Corpus, block_size: int, steps: int, seed: int) -> tuple[LanguageModel, float]:
    """Train a small model of one of VERSIONS: the model, and its loss on the whole validation text."""
    torch.manual_seed(seed)
    config = ModelConfig(corpus.tokenizer.vocab_size, block_size, n_layer=2, n_head=4, n_embd=96)
    version, options = VERSIONS[name]
    model, recipe = build(version, config, **options), TrainConfig(steps=steps, seed=seed)
    records = finish(train(model, NextToken(corpus, block_size), recipe), steps, f"{corpus.name} {name}")
    return model, float(records[-1].val_loss or 0.0)


def kept(encoding: Gaussian) -> dict[str, float]:
    """A kernel's weights and widths, and where it falls below 1/2 and 1/100 of K(0), in tokens."""
    numbers = {name: round(float(getattr(encoding, name)), 4) for name in NUMBERS}
    return {**numbers, "half": reach(encoding, 0.5), "hundredth": reach(encoding, 0.01)}


def of(numbers: Mapping[str, float]) -> Gaussian:
    """The kernel that `kept` told of."""
    alphas, sigmas = ((numbers[f"{kind}1"], numbers[f"{kind}2"]) for kind in ("alpha", "sigma"))
    return Gaussian(2, alphas, sigmas, learnable=False)


def shape(numbers: Mapping[str, float], furthest: int) -> np.ndarray:
    """K at 0 to `furthest` tokens, as a share of K(0): (furthest + 1,)."""
    values = kernel_values(of(numbers), furthest)
    return values / values[0]


def examine(model: LanguageModel, corpus: Corpus, n_questions: int) -> dict[str, Any]:
    """Loss at every position up to four windows, right answers, and the kernel if one was trained."""
    block_size = model.config.block_size
    asked = questions(corpus, block_size, n_questions)
    found: dict[str, Any] = {
        "loss": loss_by_position(model, corpus.val, 4 * block_size),
        "accuracy": role_accuracy(model, corpus.tokenizer, asked),
    }
    if isinstance(model.encoding, Gaussian) and list(model.encoding.parameters()):
        found["kernel"] = kept(model.encoding)
    return found


def kernels(
    versions: Sequence[str] = tuple(VERSIONS),
    seeds: tuple[int, ...] = SEEDS,
    steps: int = 300,
    block_size: int = 64,
    n_chars: int = 400_000,
    n_questions: int = 400,
) -> dict[str, Any]:
    """Train every version on the plain tales, and those of ON_FULL on the full tales too.

    returns  settings; "val_loss": corpus -> version -> one number a seed; of the models of the plain
             tales "loss": version -> mean over seeds at each position up to 4 x block_size, "far":
             version -> mean over the last block_size of them, one number a seed, "accuracy": version ->
             one number a seed, "kernel": version -> `kept`, one a seed; "start": `kept` before training
    """
    plain, full = load_corpus(WORLD, n_chars), load_corpus(FULL, n_chars)
    val_loss: dict[str, dict[str, list[float]]] = {WORLD: {}, FULL: {}}
    found: dict[str, list[dict[str, Any]]] = {version: [] for version in versions}
    for seed in seeds:
        for version in versions:
            model, loss = trained(version, plain, block_size, steps, seed)
            val_loss[WORLD].setdefault(version, []).append(loss)
            found[version].append(examine(model, plain, n_questions))
        for version in ON_FULL:
            _, loss = trained(version, full, block_size, steps, seed)
            val_loss[FULL].setdefault(version, []).append(loss)
    settings = {"steps": steps, "seeds": list(seeds), "block_size": block_size}
    start = kept(Gaussian(2, ALPHAS, SIGMAS))
    return {**settings, "val_loss": val_loss, "start": start, **summary(found, block_size)}


def summary(found: Mapping[str, list[dict[str, Any]]], block_size: int) -> dict[str, Any]:
    """What was found of each version and seed, as numbers that can be stored."""
    losses = {version: np.array([one["loss"] for one in every]) for version, every in found.items()}
    return {
        "loss": {v: [round(float(x), 4) for x in seeds.mean(axis=0)] for v, seeds in losses.items()},
        "far": {v: [round(float(x), 4) for x in s[:, -block_size:].mean(axis=1)] for v, s in losses.items()},
        "accuracy": {v: [one["accuracy"] for one in every] for v, every in found.items()},
        "kernel": {v: [one["kernel"] for one in every] for v, every in found.items() if "kernel" in every[0]},
    }
