"""Runs that race to a loss, each by its own recipe and on its own clock."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from tqdm import tqdm

from babygpt.config import ModelConfig, TrainConfig
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import Objective
from babygpt.training import Step, Training
from babygpt.training.optimizers import Muon
from benchmarks.plain_gpt import train_plain

Bodies = Mapping[str, Callable[[ModelConfig], LanguageModel]]  # name -> makes a model of a shape
ROUNDS = 20  # how often the runs of a race change places
# Validations take most of a race, and no recipe comes near the target in the first half of its steps.
FIRST_VALIDATED = 11


@dataclass(frozen=True)
class Recipe:
    """One way to train one body.

    body         which of a race's bodies is trained, by name
    n_layer, n_embd  its shape
    steps        length of the run, a multiple of ROUNDS
    rate         peak learning rate: of the matrices, or of everything if AdamW moves it all
    rate_other   of all that is no matrix; None if AdamW moves it all, as in the plain recipe
    momentum     of Muon
    muon_rounds  of the iteration that makes an update of Muon orthogonal
    betas        of the plain recipe's AdamW
    """

    body: str
    n_layer: int
    n_embd: int
    steps: int
    rate: float
    rate_other: float | None = None
    momentum: float = 0.95
    muon_rounds: int = 5
    betas: tuple[float, float] = (0.9, 0.99)

    def __post_init__(self) -> None:
        if self.steps < 1 or self.steps % ROUNDS:
            raise BadInput(f"steps ({self.steps}) must be a multiple of {ROUNDS}, the rounds of a run")


@dataclass(frozen=True)
class Race:
    """Settings that all runs of a race share.

    bodies      name -> makes a model of a shape
    objective   trains and validates all
    vocab_size, block_size, batch_size  of all
    target      validation loss to reach, in nats
    """

    bodies: Bodies
    objective: Objective
    vocab_size: int
    block_size: int
    batch_size: int
    target: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.target):
            raise BadInput(f"target ({self.target}) must be a finite number")


class Racer:
    """One training run: where it is, and what processor time it has taken, without its validations."""

    def __init__(self, recipe: Recipe, race: Race, seed: int) -> None:
        self.recipe, self.race = recipe, race
        shape = {"n_layer": recipe.n_layer, "n_head": 4, "n_embd": recipe.n_embd}
        torch.manual_seed(seed)
        self.model = race.bodies[recipe.body](ModelConfig(race.vocab_size, race.block_size, **shape))
        self.steps = make_steps(self.model, race, recipe, seed)
        self.step, self.seconds, self.val_loss = 0, 0.0, float("inf")

    @property
    def reached(self) -> bool:
        """Whether the target is reached."""
        return self.val_loss <= self.race.target

    def advance(self) -> None:
        """Train for one round, then validate if it is not an early one; do nothing at the target."""
        if self.reached:
            return
        start = time.process_time()
        for _ in range(self.recipe.steps // ROUNDS):
            self.step = next(self.steps).step
        self.seconds += time.process_time() - start
        if self.step >= FIRST_VALIDATED * self.recipe.steps // ROUNDS:
            self.val_loss = self.race.objective.validate(self.model)

    def result(self) -> dict[str, Any]:
        """Return steps, loss and seconds so far, and whether the target was reached."""
        numbers = {"steps": self.step, "val": round(self.val_loss, 4), "seconds": round(self.seconds, 4)}
        return {**numbers, "reached": self.reached}


def make_steps(model: LanguageModel, race: Race, recipe: Recipe, seed: int) -> Iterator[Step]:
    """Return the steps of a run, one by one, without any validation."""
    if recipe.rate_other is None:
        sizes = (recipe.steps, race.batch_size, seed)
        return train_plain(model, race.objective, *sizes, recipe.rate, recipe.betas)
    plan = TrainConfig(recipe.steps, race.batch_size, recipe.rate, recipe.rate_other, seed=seed)
    training = Training(model, race.objective, plan)
    muon = training.optimizers[0]
    assert isinstance(muon, Muon)
    muon.momentum, muon.rounds = recipe.momentum, recipe.muon_rounds
    return (training.make_step() for _ in range(recipe.steps))


def run_race(recipes: Mapping[str, Recipe], race: Race, seed: int, title: str = "") -> dict[str, Any]:
    """Train by several recipes in turn, until each has reached the target or come to its end.

    returns  for each recipe by name "steps", "val", "seconds" of processor time, and "reached"
    """
    racers = {name: Racer(recipe, race, seed) for name, recipe in recipes.items()}
    for i in tqdm(range(ROUNDS), desc=title or f"seed {seed}", mininterval=1):
        for racer in list(racers.values())[:: -1 if i % 2 else 1]:
            racer.advance()
    return {name: racer.result() for name, racer in racers.items()}


def describe(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe as it is stored: without what the other kind of recipe has, and Muon's usual rounds."""
    left_out = ["rate_other", "momentum", "muon_rounds"] if recipe.rate_other is None else ["betas"]
    left_out += ["muon_rounds"] * (recipe.muon_rounds == Muon.rounds)
    settings = {name: setting for name, setting in asdict(recipe).items() if name not in left_out}
    return {
        name: list(setting) if isinstance(setting, tuple) else setting for name, setting in settings.items()
    }
