"""Benchmarks: two ways of doing one thing, in turn in one process, because machines are noisy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from tqdm import tqdm

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.experiments.plain import PlainGPT, train_plain
from babygpt.models.base import LanguageModel
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.training import Step, train

BATCH_SIZE, BLOCK_SIZE = 12, 64
TURNS = 20  # how often the two runs change places


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

    def advance(self, objective: NextToken, target: float) -> None:
        """One turn of training, then the validation loss; nothing more once the target is reached."""
        if self.reached:
            return
        for _ in range(self.total // TURNS):
            record = next(self.steps)
            self.step, self.seconds = record.step, record.seconds
        self.val = objective.validate(self.model)
        self.reached = self.val <= target


def recipe(
    corpus: Corpus, target: float, steps: int, plain_steps: int, seed: int = 1337
) -> dict[str, float | int | bool | str]:
    """Steps and seconds to a validation loss, for our recipe and for the plain one, run in turn.

    corpus       the text; the loss is of its whole validation part
    target       loss to reach, in nats per character
    steps        length of our run, a multiple of 20
    plain_steps  length of the plain run, a multiple of 20
    returns      steps, loss and seconds of both where they reached the target (or ended), and the
                 ratio of the seconds, plain over ours
    Raises ValueError if the steps cannot be shared out evenly.
    """
    for name, value in (("steps", steps), ("plain_steps", plain_steps)):
        if value < 1 or value % TURNS:
            raise ValueError(f"{name} ({value}) must be a multiple of {TURNS}: the runs take {TURNS} turns")
    objective = NextToken(corpus, BLOCK_SIZE)
    config = ModelConfig(corpus.tokenizer.vocab_size, BLOCK_SIZE)
    torch.manual_seed(seed)
    model, plain_model = build("v4", config), PlainGPT(config)
    plan = TrainConfig(steps=steps, batch_size=BATCH_SIZE, seed=seed)
    ours = Runner(model, train(model, objective, plan), steps)
    plain_run = train_plain(plain_model, objective, plain_steps, BATCH_SIZE, seed)
    plain = Runner(plain_model, plain_run, plain_steps)
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
