"""The loop of every study: each variant trained from each seed, and measured."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.models.base import LanguageModel
from babygpt.models.versions import build
from babygpt.objectives import Objective
from babygpt.training import Step, finish, train

SEEDS = (1337, 2027, 9001)
Variant = TypeVar("Variant", bound=Hashable)


def sweep(
    variants: Iterable[Variant], seeds: Iterable[int], run: Callable[[Variant, int], Mapping[str, Any]]
) -> dict[Variant, dict[str, list[Any]]]:
    """Make one run for every variant and seed: all variants of a seed before the next seed.

    variants  names of what is compared
    run       trains a variant from a seed, and returns what it measured, by name
    returns   variant -> name of the measurement -> one value a seed
    """
    found: dict[Variant, dict[str, list[Any]]] = {variant: {} for variant in variants}
    for seed in seeds:
        for variant, measured in found.items():
            for name, value in run(variant, seed).items():
                measured.setdefault(name, []).append(value)
    return found


def by_measurement(found: Mapping[Variant, Mapping[str, Any]], *names: str) -> dict[str, dict[Variant, Any]]:
    """Turn what `sweep` returns inside out: name of the measurement -> variant -> one value a seed.

    names  of the measurements wanted; a variant that lacks one is left out of it
    """
    return {name: {v: each[name] for v, each in found.items() if name in each} for name in names}


def small_config(corpus: Corpus, block_size: int) -> ModelConfig:
    """The shape of the models that most studies train: 2 layers, 4 heads, width 96."""
    return ModelConfig(corpus.tokenizer.vocab_size, block_size, n_layer=2, n_head=4, n_embd=96)


def train_from_seed(
    version: str,
    config: ModelConfig,
    objective: Objective,
    plan: TrainConfig,
    title: str = "",
    **options: Any,
) -> tuple[LanguageModel, list[Step]]:
    """Build a version and train it to the end, with the plan's seed for its weights and its batches.

    title    before the progress bar; the version by default
    options  of the version's encoding
    returns  the model, on the CPU, and the records of all steps
    Raises KeyboardInterrupt if the run was interrupted.
    """
    torch.manual_seed(plan.seed)
    model = build(version, config, **options)
    return model, finish(train(model, objective, plan), plan.steps, title or version)
