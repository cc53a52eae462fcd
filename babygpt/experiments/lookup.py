"""What or where: the letter beside a letter, looked up by models that differ in their encoding alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import plots
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.batches import IGNORED
from babygpt.encodings import PoPE
from babygpt.encodings.polar import cos_sin
from babygpt.errors import BadInput
from babygpt.experiments.results import Results
from babygpt.experiments.sweep import SEEDS, sweep
from babygpt.models.base import LanguageModel
from babygpt.models.transformer import Transformer
from babygpt.models.versions import build
from babygpt.objectives.lookup import Lookup
from babygpt.positions import Positions
from babygpt.training import Step, finish, train

# Small enough for a minute a model: only neighbours are asked for, and some strings are short.
TASK = {"letters": 8, "shortest": 3, "longest": 6, "furthest": 1, "questions": 8}
LABELS = {"pope": "PoPE", "signed": "no softplus", "v4": "RoPE", "v3": "sinusoidal"}
# Of lr_other, chosen by a seed of PoPE. At the course's 0.02 RoPE stayed below SOLVED in 1200 steps too.
SLOWER = 0.003
EVERY = 50  # steps between two points of a curve
SOLVED = 0.9  # share of right answers from which a seed has learned the task


class SignedPoPE(PoPE):
    """PoPE without softplus: q and k keep their signs, and content may turn a wave half round again.

    Arguments are those of `PoPE`.
    """

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        wave = self.wave(positions)
        return cos_sin(q, wave), cos_sin(k, self.key_wave(wave))


def build_model(name: str, config: ModelConfig) -> LanguageModel:
    """An untrained model: "signed", or a version that reads from left to right."""
    if name == "signed":
        return Transformer(config, SignedPoPE(config.n_head, config.head_dim))
    return build(name, config)


def measure_lookup(
    names: Sequence[str] = tuple(LABELS), seeds: tuple[int, ...] = SEEDS, steps: int = 1000
) -> Results:
    """Train models on the same questions, and count right answers on questions that none has seen.

    names    of LABELS, or other versions that read from left to right
    steps    a multiple of EVERY
    returns  settings; "guess": share of right answers of who knows the string but not the place; "accuracy":
             name -> share at the end, one a seed; "curves": name -> for each seed, a share every EVERY steps
    Raises BadInput if steps is no multiple of EVERY.
    """
    if steps < EVERY or steps % EVERY:
        raise BadInput(f"steps ({steps}) must be a multiple of {EVERY}")
    task = Lookup(**TASK)
    config = ModelConfig(task.vocab_size, task.block_size, n_layer=2, n_head=2, n_embd=64)

    def run(name: str, seed: int) -> dict[str, list[float]]:
        plan = TrainConfig(steps, batch_size=32, lr_other=SLOWER, seed=seed)
        return {"curve": accuracy_curve(name, config, task, plan)}

    curves = {name: found["curve"] for name, found in sweep(names, seeds, run).items()}
    accuracy = {name: [curve[-1] for curve in every] for name, every in curves.items()}
    settings = {"task": TASK, "lr_other": SLOWER, "steps": steps, "every": EVERY, "seeds": list(seeds)}
    return {**settings, "guess": guess_accuracy(task), "accuracy": accuracy, "curves": curves}


def accuracy_curve(name: str, config: ModelConfig, task: Lookup, plan: TrainConfig) -> list[float]:
    """Train one model: share of right answers every EVERY steps."""
    torch.manual_seed(plan.seed)
    model = build_model(name, config)
    curve: list[float] = []

    def measured() -> Iterator[Step]:
        for step in train(model, task, plan):
            if step.step % EVERY == 0:
                curve.append(round(task.accuracy(model), 4))
            yield step

    finish(measured(), plan.steps, f"{name}, seed {plan.seed}")
    return curve


def guess_accuracy(task: Lookup) -> float:
    """Mean over the held-out questions of one in as many letters as the string has beside the asked one."""
    idx, targets = task.held_out()
    others = (idx[:, : task.longest] != task.blank).sum(dim=1) - 1
    asked = (targets != IGNORED).sum(dim=1)
    return round(float((asked / others).sum() / asked.sum()), 4)


def who_learned(results: Results) -> str:
    """How many seeds of each model have learned the task, or, if none has, the highest share of all."""
    found = {LABELS.get(name, name): seeds for name, seeds in results["accuracy"].items()}
    solved = {name: sum(share >= SOLVED for share in seeds) for name, seeds in found.items()}
    if not any(solved.values()):
        return f"Nobody learns it: {max(max(seeds) for seeds in found.values()):.0%} at best"
    counts = ", ".join(f"{name} {n}" for name, n in solved.items())
    return f"Learned: {counts} of {max(len(seeds) for seeds in found.values())} seeds"


def draw_lookup(figure: Figure, results: Results) -> None:
    """Right answers of each seed at the end, and while training, beside a guess."""
    end, way = figure.subplots(1, 2, width_ratios=(1.1, 1.0), sharey=True)
    curves = {LABELS.get(name, name): 100 * np.array(seeds) for name, seeds in results["curves"].items()}
    steps = [results["every"] * (i + 1) for i in range(results["steps"] // results["every"])]
    last = {name: seeds[:, -1].tolist() for name, seeds in curves.items()}
    plots.draw_seed_bars(end, last, who_learned(results), "right answers (%)")
    colours = plots.COLOURS.values()  # those of the bars
    for (name, seeds), colour in zip(curves.items(), colours, strict=False):
        way.plot(steps, seeds.T, color=colour, label=[name] + ["_"] * (len(seeds) - 1))
    way.set_title("While training: a line for each seed")
    way.set_xlim(0, results["steps"])
    way.set_xlabel("step")
    for ax in (end, way):
        ax.axhline(100 * results["guess"], color="black", lw=1, ls="--", zorder=2.5)
        ax.set_ylim(0, 112)
    way.annotate("guess", (0, 100 * results["guess"]), (0, 3), textcoords="offset points")
    way.legend(loc="lower right", ncols=2)
