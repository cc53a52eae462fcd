"""What or where: the letter beside a letter, looked up by models that differ in their encoding alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.batches import IGNORED
from babygpt.encodings import PoPE
from babygpt.errors import BadInput
from babygpt.experiments.roles import SEEDS
from babygpt.models.base import LanguageModel
from babygpt.models.transformer import Transformer
from babygpt.models.versions import build
from babygpt.objectives.lookup import Lookup
from babygpt.positions import Positions
from babygpt.training import finish, train

# Small enough for a minute a model: only neighbours are asked for, and some strings are short.
TASK = {"letters": 8, "shortest": 3, "longest": 6, "furthest": 1, "questions": 8}
RIVALS = {"pope": "PoPE", "signed": "no softplus", "v4": "RoPE", "v3": "sinusoidal"}
# Of lr_other, chosen by a seed of PoPE. At the course's 0.02 RoPE stayed below SOLVED in 1200 steps too.
SLOWER = 0.003
EVERY = 50  # steps between two points of a curve
SOLVED = 0.9  # share of right answers from which a seed has learned the task


class Signed(PoPE):
    """PoPE without softplus: q and k keep their signs, and content may turn a wave half round again.

    Arguments are those of `PoPE`.
    """

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        wave = self.wave(positions)
        return self.spread(q, wave), self.spread(k, wave + self.delta[:, None])


def contestant(name: str, config: ModelConfig) -> LanguageModel:
    """An untrained model: "signed", or a version that reads from left to right."""
    if name == "signed":
        return Transformer(config, Signed(config.n_head, config.head_dim))
    return build(name, config)


def lookup(
    names: Sequence[str] = tuple(RIVALS), seeds: tuple[int, ...] = SEEDS, steps: int = 1000
) -> dict[str, Any]:
    """Train models on the same questions, and count right answers on questions that none has seen.

    names    of RIVALS, or other versions that read from left to right
    steps    a multiple of EVERY
    returns  settings; "guess": share of right answers of who knows the string but not the place; "accuracy":
             name -> share at the end, one a seed; "curves": name -> for each seed, a share every EVERY steps
    Raises ValueError if steps is no multiple of EVERY.
    """
    if steps < EVERY or steps % EVERY:
        raise BadInput(f"steps ({steps}) must be a multiple of {EVERY}")
    task = Lookup(**TASK)
    config = ModelConfig(task.vocab_size, task.block_size, n_layer=2, n_head=2, n_embd=64)
    curves: dict[str, list[list[float]]] = {name: [] for name in names}
    for seed in seeds:
        recipe = TrainConfig(steps, batch_size=32, lr_other=SLOWER, seed=seed)
        for name in names:
            curves[name].append(learn(name, config, task, recipe))
    accuracy = {name: [curve[-1] for curve in every] for name, every in curves.items()}
    settings = {"task": TASK, "lr_other": SLOWER, "steps": steps, "every": EVERY, "seeds": list(seeds)}
    return {**settings, "guess": guess(task), "accuracy": accuracy, "curves": curves}


def learn(name: str, config: ModelConfig, task: Lookup, recipe: TrainConfig) -> list[float]:
    """Train one model: share of right answers every EVERY steps."""
    torch.manual_seed(recipe.seed)
    model = contestant(name, config)
    curve: list[float] = []

    def watched() -> Any:
        for step in train(model, task, recipe):
            if step.step % EVERY == 0:
                curve.append(round(task.accuracy(model), 4))
            yield step

    finish(watched(), recipe.steps, f"{name}, seed {recipe.seed}")
    return curve


def guess(task: Lookup) -> float:
    """Mean over the held-out questions of one in as many letters as the string has beside the asked one."""
    idx, targets = task.held_out()
    others = (idx[:, : task.longest] != task.blank).sum(dim=1) - 1
    asked = (targets != IGNORED).sum(dim=1)
    return round(float((asked / others).sum() / asked.sum()), 4)


def learners(results: dict[str, Any]) -> str:
    """How many seeds of each model have learned the task, or, if none has, the highest share of all."""
    found = {RIVALS.get(name, name): seeds for name, seeds in results["accuracy"].items()}
    solved = {name: sum(share >= SOLVED for share in seeds) for name, seeds in found.items()}
    if not any(solved.values()):
        return f"Nobody learns it: {max(max(seeds) for seeds in found.values()):.0%} at best"
    counts = ", ".join(f"{name} {n}" for name, n in solved.items())
    return f"Learned: {counts} of {max(len(seeds) for seeds in found.values())} seeds"
