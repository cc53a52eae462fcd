"""Two runs that take turns until both have reached a loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tqdm import tqdm

from babygpt.config import ModelConfig, TrainConfig
from babygpt.errors import BadInput
from babygpt.models.base import LanguageModel
from babygpt.objectives import Objective
from babygpt.training import Step, train
from benchmarks.plain_gpt import train_plain

TURNS = 20  # how often the two runs change places

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
    returns    shape, steps, loss and seconds of both where they reached the target (or ended), and the ratio
               of the seconds, plain over ours
    Raises ValueError if the steps of a run cannot be shared out evenly.
    """
    for name, runner in (("steps", ours), ("plain_steps", plain)):
        if runner.total < 1 or runner.total % TURNS:
            raise BadInput(
                f"{name} ({runner.total}) must be a multiple of {TURNS}: the runs take {TURNS} turns"
            )
    for _ in tqdm(range(TURNS), desc="turns"):
        ours.advance(objective, target)
        plain.advance(objective, target)
    return {
        "target": target,
        "ours_shape": shape(ours.model.config),
        "plain_shape": shape(plain.model.config),
        "ours_steps": ours.step,
        "ours_val": round(ours.val, 4),
        "ours_s": round(ours.seconds, 2),
        "plain_steps": plain.step,
        "plain_val": round(plain.val, 4),
        "plain_s": round(plain.seconds, 2),
        "ratio": round(plain.seconds / ours.seconds, 2),
        "both_reached": ours.reached and plain.reached,
    }


def shape(config: ModelConfig) -> str:
    """A shape in a few words."""
    return f"{config.n_layer} layers, {config.n_embd} wide"


def runners(
    models: tuple[LanguageModel, LanguageModel], objective: Objective, plan: TrainConfig, plain_steps: int
) -> tuple[Runner, Runner]:
    """Our run and the plain one, before their first step: models, our plan, length of the plain run."""
    ours = Runner(models[0], train(models[0], objective, plan), plan.steps)
    plain = train_plain(models[1], objective, plain_steps, plan.batch_size, plan.seed)
    return ours, Runner(models[1], plain, plain_steps)
