"""Our recipe of training against a plain one: time to the same loss on the same text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from tqdm import tqdm

from babygpt.config import ModelConfig, TrainConfig, finite_number
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.experiments.sweep import SEEDS, by_measurement, sweep, train_from_seed
from babygpt.models.base import LanguageModel
from babygpt.models.versions import build
from babygpt.objectives import MaskedDiffusion, NextToken, Objective
from babygpt.training import Step, train
from benchmarks.plain_gpt import PlainGPT, train_plain

BLOCK_SIZE, NEXT_BATCH, DIFFUSION_BATCH = 64, 12, 16
POLAR = ("v7-rope", "v7-polar", "v7")
# For a loss that is no record, a small model that makes many steps beats a large one (`shapes`).
NEXT_SHAPE = {"n_layer": 2, "n_head": 4, "n_embd": 64}
DIFFUSION_SHAPE = {"n_layer": 3, "n_head": 4, "n_embd": 64}
NEXT_PLAN = TrainConfig(steps=560, batch_size=NEXT_BATCH, lr_matrix=0.04)
DIFFUSION_PLAN = TrainConfig(steps=1160, batch_size=DIFFUSION_BATCH)
ROUNDS = 20  # how often the two runs of a race change places

Numbers = dict[str, float | int | bool | str]


def compare_next_token(
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
    large = ModelConfig(corpus.tokenizer.vocab_size, BLOCK_SIZE)
    small = large if same_shape else replace(large, **NEXT_SHAPE)
    torch.manual_seed(seed)
    models = build("v4", small), PlainGPT(large)
    plan = replace(NEXT_PLAN, steps=steps, seed=seed)
    return race(models, NextToken(corpus, BLOCK_SIZE), target, plan, plain_steps)


def compare_diffusion(
    corpus: Corpus, target: float, steps: int, plain_steps: int, same_shape: bool = False, seed: int = 1337
) -> Numbers:
    """Steps and seconds to a mean loss over masked tokens: RoPE diffusion, by our recipe and the plain one.

    corpus       the text, with a MASK token; the loss is of 60 x 64 windows of its validation part, or of
                 all if there are more, with a rate for each window and masks fixed by a seed
    returns      what `race` returns; the other arguments are those of `compare_next_token`
    """
    large = ModelConfig(corpus.tokenizer.vocab_size, BLOCK_SIZE)
    small = large if same_shape else replace(large, **DIFFUSION_SHAPE)
    torch.manual_seed(seed)
    models = build("v7-rope", small), build("v7-rope", large)
    plan = replace(DIFFUSION_PLAN, steps=steps, seed=seed)
    return race(models, MaskedDiffusion(corpus, BLOCK_SIZE), target, plan, plain_steps)


def compare_polar(
    corpus: Corpus, steps: int = 600, versions: Sequence[str] = POLAR, seeds: Sequence[int] = SEEDS
) -> dict[str, list[float]]:
    """Mean loss over masked tokens of RoPE and Polar diffusion after the same steps: one for each seed."""
    config = ModelConfig(corpus.tokenizer.vocab_size, BLOCK_SIZE)
    objective = MaskedDiffusion(corpus, BLOCK_SIZE)

    def run(version: str, seed: int) -> dict[str, float]:
        plan = TrainConfig(steps, DIFFUSION_BATCH, seed=seed)
        _, records = train_from_seed(version, config, objective, plan, f"{version}, seed {seed}")
        return {"val_loss": round(float(records[-1].val_loss or 0.0), 4)}

    return by_measurement(sweep(versions, seeds, run), "val_loss")["val_loss"]


def describe_shape(config: ModelConfig) -> str:
    """A model's depth and width in words."""
    return f"{config.n_layer} layers, {config.n_embd} wide"


# ---------------------------------------------------------------- two runs side by side


@dataclass
class Racer:
    """One of two training runs: where it is, and whether it has reached the target."""

    model: LanguageModel
    steps: Iterator[Step]
    total: int
    step: int = 0
    seconds: float = 0.0
    val_loss: float = float("inf")
    reached: bool = False

    def advance(self, objective: Objective, target: float) -> None:
        """Train for one round, then validate; do nothing once the target is reached."""
        if self.reached:
            return
        for _ in range(self.total // ROUNDS):
            record = next(self.steps)
            self.step, self.seconds = record.step, record.seconds
        self.val_loss = objective.validate(self.model)
        self.reached = self.val_loss <= target

    def result(self, name: str) -> Numbers:
        """Steps, loss and seconds so far, under keys that begin with a name."""
        return {
            f"{name}_steps": self.step,
            f"{name}_val": round(self.val_loss, 4),
            f"{name}_s": round(self.seconds, 2),
        }


def race(
    models: tuple[LanguageModel, LanguageModel],
    objective: Objective,
    target: float,
    plan: TrainConfig,
    plain_steps: int,
) -> Numbers:
    """Train two models in alternation until both have reached a loss, or come to the end of their runs.

    models       the first is trained by our recipe, the second by the plain one; both in place
    objective    trains and validates both
    target       loss to reach, in nats per character
    plan         of our run; the plain one has its batch size and seed
    plain_steps  length of the plain run
    returns      shape, steps, loss and seconds of both where they reached the target (or ended), and the
                 ratio of the seconds, plain over ours
    Raises BadInput if the target is no number, or the steps of a run are no multiple of ROUNDS.
    """
    finite_number("target", target)
    for name, steps in (("steps", plan.steps), ("plain_steps", plain_steps)):
        if steps < 1 or steps % ROUNDS:
            raise BadInput(f"{name} ({steps}) must be a multiple of {ROUNDS}: the runs take {ROUNDS} rounds")
    ours = Racer(models[0], train(models[0], objective, plan), plan.steps)
    plain_run = train_plain(models[1], objective, plain_steps, plan.batch_size, plan.seed)
    plain = Racer(models[1], plain_run, plain_steps)
    for _ in tqdm(range(ROUNDS), desc="rounds"):
        ours.advance(objective, target)
        plain.advance(objective, target)
    return {
        "target": target,
        "ours_shape": describe_shape(ours.model.config),
        "plain_shape": describe_shape(plain.model.config),
        **ours.result("ours"),
        **plain.result("plain"),
        "ratio": round(plain.seconds / ours.seconds, 2),
        "both_reached": ours.reached and plain.reached,
    }
