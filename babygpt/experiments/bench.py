"""Benchmarks: two ways of doing one thing, in turn in one process, because machines are noisy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from tqdm import tqdm

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.experiments.plain import PlainGPT, train_plain
from babygpt.experiments.roles import SEEDS
from babygpt.models.base import LanguageModel
from babygpt.models.versions import build
from babygpt.objectives import MaskedDiffusion, NextToken, Objective
from babygpt.training import Step, finish, train

BLOCK_SIZE, NEXT_BATCH, DIFFUSION_BATCH = 64, 12, 16
TURNS = 20  # how often the two runs change places
POLAR = ("v7-rope", "v7-polar", "v7")

Numbers = dict[str, float | int | bool | str]


@dataclass
class Runner:
    """One of the two runs: where it is, and when it reached the target."""

    model: LanguageModel
    steps: Iterator[Step]
    total: int
    step: int = 0
    seconds: float = 0.0
    val: float = field(default=float("inf"))
    reached: bool = False

    def advance(self, objective: Objective, target: float) -> None:
        """One turn of training, then the validation loss; nothing more once the target is reached."""
        if self.reached:
            return
        for _ in range(self.total // TURNS):
            record = next(self.steps)
            self.step, self.seconds = record.step, record.seconds
        self.val = objective.validate(self.model)
        self.reached = self.val <= target


def race(ours: Runner, plain: Runner, objective: Objective, target: float) -> Numbers:
    """Let two runs take turns until both have reached the target, or ended.

    objective  measures both
    target     loss to reach, in nats per character
    returns    steps, loss and seconds of both where they reached the target (or ended), and the ratio of
               the seconds, plain over ours
    Raises ValueError if the steps of a run cannot be shared out evenly.
    """
    for name, runner in (("steps", ours), ("plain_steps", plain)):
        if runner.total < 1 or runner.total % TURNS:
            raise ValueError(
                f"{name} ({runner.total}) must be a multiple of {TURNS}: the runs take {TURNS} turns"
            )
    for _ in tqdm(range(TURNS), desc="turns"):
        ours.advance(objective, target)
        plain.advance(objective, target)
    return {
        "target": target,
        "ours_steps": ours.step,
        "ours_val": round(ours.val, 4),
        "ours_s": round(ours.seconds, 2),
        "plain_steps": plain.step,
        "plain_val": round(plain.val, 4),
        "plain_s": round(plain.seconds, 2),
        "ratio": round(plain.seconds / ours.seconds, 2),
        "both_reached": ours.reached and plain.reached,
    }


def recipe(corpus: Corpus, target: float, steps: int, plain_steps: int, seed: int = 1337) -> Numbers:
    """Steps and seconds to a validation loss, for v4 by our recipe and for the plain one.

    corpus       the text; the loss is of its whole validation part
    target       loss to reach, in nats per character
    steps        length of our run, a multiple of 20
    plain_steps  length of the plain run, a multiple of 20
    returns      what `race` returns
    """
    objective, config = NextToken(corpus, BLOCK_SIZE), ModelConfig(corpus.tokenizer.vocab_size, BLOCK_SIZE)
    torch.manual_seed(seed)
    models = build("v4", config), PlainGPT(config)
    return race(*runners(models, objective, NEXT_BATCH, (steps, plain_steps), seed), objective, target)


def diffusion(corpus: Corpus, target: float, steps: int, plain_steps: int, seed: int = 1337) -> Numbers:
    """Steps and seconds to a mean loss over masked tokens: RoPE diffusion, by our recipe and the plain one.

    Both train the same model, so that the recipes alone differ.

    corpus       the text, with a MASK token; the loss is of 60 x 64 windows of its validation part, or of
                 all if there are more, with a rate for each window and masks fixed by a seed
    returns      what `race` returns; the other arguments are those of `recipe`
    """
    objective = MaskedDiffusion(corpus, BLOCK_SIZE)
    config = ModelConfig(corpus.tokenizer.vocab_size, BLOCK_SIZE)
    torch.manual_seed(seed)
    models = build("v7-rope", config), build("v7-rope", config)
    return race(*runners(models, objective, DIFFUSION_BATCH, (steps, plain_steps), seed), objective, target)


def runners(
    models: tuple[LanguageModel, LanguageModel],
    objective: Objective,
    batch_size: int,
    steps: tuple[int, int],
    seed: int,
) -> tuple[Runner, Runner]:
    """Our run and the plain one, before their first step: model and number of steps of each."""
    plan = TrainConfig(steps=steps[0], batch_size=batch_size, seed=seed)
    ours = Runner(models[0], train(models[0], objective, plan), steps[0])
    plain_run = train_plain(models[1], objective, steps[1], batch_size, seed)
    return ours, Runner(models[1], plain_run, steps[1])


def polar(
    corpus: Corpus, steps: int, versions: Sequence[str] = POLAR, seeds: Sequence[int] = SEEDS
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
