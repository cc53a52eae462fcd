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
from babygpt.models.base import LanguageModel
from babygpt.models.transformer import Transformer
from babygpt.models.versions import build
from babygpt.positions import Positions
from babygpt.training import Step, finish, train
from babygpt_course.studies.lookup_task import Lookup
from babygpt_course.studies.results import Results
from babygpt_course.studies.sweep import SEEDS, sweep

# Small enough for a minute a model: only neighbours are asked for, and some strings are short.
TASK = {"letters": 8, "shortest": 3, "longest": 6, "furthest": 1, "questions": 8}
LABELS = {"pope": "PoPE", "signed": "no softplus", "v4": "RoPE", "v3": "sinusoidal"}
RATES = (0.001, 0.003, 0.01, 0.02)  # of lr_other, tried by every arm
TUNING_SEED = 7  # of those runs; no reported run has it
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
    names: Sequence[str] = tuple(LABELS),
    seeds: tuple[int, ...] = SEEDS,
    steps: int = 1000,
    rates: Sequence[float] = RATES,
) -> Results:
    """Tune the learning rate of each model alike, train it from fresh seeds at its best, and ask it.

    names    of LABELS, or other versions that read from left to right
    seeds    of the reported runs; each rate is tried from TUNING_SEED at the same length
    steps    a multiple of EVERY
    rates    of AdamW (lr_other); that of Muon is the course's for all
    returns  settings; "guess": share of right answers of who knows the string but not the place; "grid":
             name -> rate -> share at the end; "rate": name -> the best of them; "accuracy": name -> share at
             the end, one a seed; "curves": name -> for each seed, a share every EVERY steps
    Raises BadInput if steps is no multiple of EVERY, or TUNING_SEED is one of the seeds.
    """
    if steps < EVERY or steps % EVERY:
        raise BadInput(f"steps ({steps}) must be a multiple of {EVERY}")
    if TUNING_SEED in seeds:
        raise BadInput(f"seeds ({seeds}) must not hold {TUNING_SEED}, from which the rates are chosen")
    task = Lookup(**TASK)
    config = ModelConfig(task.vocab_size, task.block_size, n_layer=2, n_head=2, n_embd=64)

    def run(arm: tuple[str, float], seed: int) -> dict[str, list[float]]:
        plan = TrainConfig(steps, batch_size=32, lr_other=arm[1], seed=seed)
        return {"curve": accuracy_curve(arm[0], config, task, plan)}

    tried = sweep([(name, rate) for name in names for rate in rates], [TUNING_SEED], run)
    grid = {name: {rate: tried[name, rate]["curve"][0][-1] for rate in rates} for name in names}
    best = {name: max(rates, key=found.__getitem__) for name, found in grid.items()}
    found = sweep(best.items(), seeds, run)
    curves = {name: each["curve"] for (name, _), each in found.items()}
    accuracy = {name: [curve[-1] for curve in every] for name, every in curves.items()}
    guesses = {"guess": guess_accuracy(task), "guess_any": guess_accuracy(task, asked_too=True)}
    return {
        **{"task": TASK, "steps": steps, "every": EVERY, "seeds": list(seeds), "tuning_seed": TUNING_SEED},
        **guesses,
        "grid": {name: {str(rate): share for rate, share in g.items()} for name, g in grid.items()},
        "rate": best,
        "accuracy": accuracy,
        "curves": curves,
    }


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


def guess_accuracy(task: Lookup, asked_too: bool = False) -> float:
    """Share of right answers of who guesses evenly among the letters of the string, on the held-out rows.

    asked_too  whether the letter that is asked about is guessed as well; it is never the answer
    """
    idx, targets = task.held_out()
    letters = (idx[:, : task.longest] != task.blank).sum(dim=1) - int(not asked_too)
    asked = (targets != IGNORED).sum(dim=1)
    return round(float((asked / letters).sum() / asked.sum()), 4)


def who_learned(results: Results) -> str:
    """How many seeds of each model have learned the task, or, if none has, the highest share of all."""
    found = {LABELS.get(name, name): seeds for name, seeds in results["accuracy"].items()}
    solved = {name: sum(share >= SOLVED for share in seeds) for name, seeds in found.items()}
    if not any(solved.values()):
        return f"Nobody learns it: {max(max(seeds) for seeds in found.values()):.0%} at best"
    counts = ", ".join(f"{name} {n}" for name, n in solved.items())
    return f"Learned: {counts} of {max(len(seeds) for seeds in found.values())} seeds"


def draw_lookup(figure: Figure, results: Results) -> None:
    """Right answers at each learning rate that was tried; and while training at the best, a line a seed."""
    tried, way = figure.subplots(1, 2, width_ratios=(1.0, 1.4), sharey=True)
    steps = [results["every"] * (i + 1) for i in range(results["steps"] // results["every"])]
    for (name, grid), colour in zip(results["grid"].items(), plots.COLOURS.values(), strict=False):
        label, best = LABELS.get(name, name), results["rate"][name]
        tried.plot([float(rate) for rate in grid], [100 * x for x in grid.values()], "o-", color=colour)
        tried.plot(best, 100 * grid[str(best)], "o", ms=12, mfc="none", color=colour)
        seeds = 100 * np.array(results["curves"][name])
        labels = [label] + ["_"] * (len(seeds) - 1)
        way.plot(steps, seeds.T, color=colour, label=labels)
        way.plot([steps[-1]] * len(seeds), seeds[:, -1], "o", color=colour, clip_on=False)
    tried.set_xscale("log")
    tried.set_title("Every rate, from one seed (ring: the best)")
    tried.set_xlabel("learning rate of AdamW")
    tried.set_ylabel("right answers (%)")
    way.set_title(who_learned(results))
    way.set_xlim(0, results["steps"])
    way.set_xlabel("step, at the best rate; a line for each fresh seed")
    for ax in (tried, way):
        ax.axhline(100 * results["guess"], color="black", lw=1, ls="--", zorder=2.5)
        ax.set_ylim(0, 112)
    way.annotate("guess", (0, 100 * results["guess"]), (0, 3), textcoords="offset points")
    way.legend(loc="upper left")
