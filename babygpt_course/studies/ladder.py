"""Measurement of all versions on one board: the same text, seeds, windows and steps; `board` draws it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean, median, stdev
from typing import Any

import torch
from torch import Tensor

from babygpt.config import TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.metrics.answers import role_accuracy, whole_answer_accuracy
from babygpt.metrics.denoising import answer_bounds, nelbo
from babygpt.metrics.losses import loss_by_position, position_matched_change
from babygpt.models.language_model import KVCache, LanguageModel
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import Objective, objective_for
from babygpt.positions import Positions
from babygpt.training import train
from babygpt_course.studies.results import Results
from babygpt_course.studies.roles_and_lengths import questions
from babygpt_course.studies.sweep import SEEDS, Scale, Workers, in_turn, small_config, sweep, train_from_seed
from babygpt_course.studies.window_floor import floor_by_position

WORLD = "plain-tales"
BOARD_SEEDS = (*SEEDS, 4711, 31)
WINDOWS = (1, 2, 4)  # lengths, in windows of training
Corpora = dict[bool, Corpus]  # with a MASK token, and without
SCALE = Scale(steps=600, seeds=BOARD_SEEDS)


@dataclass(frozen=True)
class Rung:
    """A model of the board: its name there, its version, and options of its encoding."""

    name: str
    version: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def masks(self) -> bool:
        """Whether it fills in masked characters, so that its losses are bounds."""
        return VERSIONS[self.version].masks

    def objective(self, corpora: Corpora, block_size: int) -> Objective:
        """Return its objective, on batches of 12 windows; validation is not on the board."""
        options: dict[str, Any] = {"val_windows": 1, "n_branches": (1, 4), "length": block_size}
        return objective_for(self.version, corpora[self.masks], block_size, **options)

    def build(self, corpora: Corpora, block_size: int) -> LanguageModel:
        """Return the model before any training."""
        torch.manual_seed(0)
        return build(self.version, small_config(corpora[self.masks], block_size), **self.options)


RUNGS = (
    *(Rung(version, version) for version in ("v1", "v2", "v3", "v4", "v5")),
    Rung("v5 fixed", "v5", {"learnable": False}),
    Rung("v6", "v6", {"stride": 128}),
    *(Rung(version, version) for version in ("nope", "learned", "alibi", "pope")),
    *(Rung(version, version) for version in ("v7-polar", "v7", "v7-pope", "v7-rope", "v7-nope")),
)


class SingleBranch(LanguageModel):
    """A model of parallel branches that is given one text, as branch 0."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model.config, model.encoding)
        self.model = model

    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        positions = positions or Positions.arange(idx.shape[1], device=idx.device)
        return self.model(idx, Positions(positions.time, torch.zeros_like(positions.time)), cache)


def measure_ladder(
    workers: Workers = in_turn,
    scale: Scale = SCALE,
    rungs: Sequence[Rung] = RUNGS,
    n_fill: int = len(SEEDS),
    floor_windows: int = 250,
    rounds: int = 24,
) -> Results:
    """Train and measure every model of the ladder, and of those beside it, from several seeds.

    n_fill         seeds of the models that fill in: the first of the others, so that runs are paired
    floor_windows  for the floor of windows that begin anywhere
    rounds         of training, to measure speeds
    returns  settings, floors, and {"board": name -> what `evaluate` returns, one a seed; "parameters";
             "speed": steps a second as a share of v4's; "masks": whether its losses are NELBOs}
    """
    seeds, fill_seeds = scale.seeds, scale.seeds[:n_fill]
    corpora = {masks: load_corpus(WORLD, scale.n_chars, with_mask=masks) for masks in (False, True)}
    asked = questions(corpora[False], scale.block_size, scale.n_questions)
    by_name = {rung.name: rung for rung in rungs}

    def run(name: str, seed: int) -> dict[str, float | None]:
        rung, plan = by_name[name], TrainConfig(steps=scale.steps, seed=seed)
        config, objective = (
            small_config(corpora[rung.masks], scale.block_size),
            rung.objective(corpora, scale.block_size),
        )
        title = f"{name}, seed {seed}"
        model, _ = train_from_seed(rung.version, config, objective, plan, title, **rung.options)
        return evaluate(rung, model, corpora[rung.masks], asked)

    found = sweep([rung.name for rung in rungs if not rung.masks], seeds, run, workers)
    found |= sweep([rung.name for rung in rungs if rung.masks], fill_seeds, run, workers)
    speed = relative_speeds(rungs, corpora, scale.block_size, rounds)
    board: dict[str, dict[str, Any]] = {}
    for name, rung in by_name.items():
        parameters = sum(p.numel() for p in rung.build(corpora, scale.block_size).parameters())
        board[name] = {"masks": rung.masks, "parameters": parameters, **found[name], "speed": speed[name]}
    settings = {
        "steps": scale.steps,
        "block_size": scale.block_size,
        "seeds": list(seeds),
        "fill_seeds": list(fill_seeds),
    }
    floors = {"floor": corpora[False].floor, "bigram_floor": corpora[False].bigram_floor}
    return {
        **settings,
        **floors,
        **window_floor(corpora[False], scale.block_size, floor_windows),
        "board": board,
    }


def window_floor(corpus: Corpus, block_size: int, n_windows: int, draws: int = 8) -> dict[str, float]:
    """Return the least mean loss on windows that begin anywhere, as those of the board do.

    n_windows  windows of each draw
    returns    "window_floor", nats per character, and "window_floor_se", its standard error over draws
    Raises BadInput for a corpus that no grammar wrote.
    """
    if corpus.grammar is None:
        raise BadInput(f"{corpus.name} has no grammar, and so no floor")
    floors = [floor_by_position(corpus.grammar, block_size, n_windows, seed)[0] for seed in range(draws)]
    means = [float(floor.mean()) for floor in floors]
    return {"window_floor": round(mean(means), 4), "window_floor_se": round(stdev(means) / draws**0.5, 4)}


def evaluate(rung: Rung, model: LanguageModel, corpus: Corpus, asked: list[Any]) -> dict[str, float | None]:
    """Measure a trained model; None stands where it refuses such a length, or cannot do such a thing.

    returns  "1x", "2x", "4x": mean loss on windows of one, two and four times the length trained on, nats
             per character, a NELBO for models that fill in; "past": what reading four windows far changes, on
             the same targets as within one window; "roles": share of questions to which the right one of two
             names is the likelier; "whole": share after which the right name is written, letter by letter
    """
    block_size, tokenizer = model.config.block_size, corpus.tokenizer
    if rung.masks:
        bounds = {f"{n}x": round(nelbo(model, corpus.val, n * block_size)[0], 4) for n in WINDOWS}
        roles = role_accuracy(model, tokenizer, asked, answer_bounds)
        return {**bounds, "past": None, "roles": roles, "whole": None}
    branches = VERSIONS[rung.version].branches
    furthest = None if branches else model.encoding.max_positions
    model = SingleBranch(model) if branches else model
    losses: dict[str, float | None] = {f"{n}x": None for n in WINDOWS}
    for n in WINDOWS:
        if furthest is None or n * block_size <= furthest:
            n_windows = len(corpus.val) // (n * block_size)
            loss = loss_by_position(model, corpus.val, n * block_size, n_windows)
            losses[f"{n}x"] = round(float(loss.mean()), 4)
    past = None
    if None not in losses.values():
        past = round(position_matched_change(model, corpus.val, WINDOWS[-1] * block_size)[0], 4) + 0.0
    whole = whole_answer_accuracy(model, tokenizer, asked)
    return {**losses, "past": past, "roles": role_accuracy(model, tokenizer, asked), "whole": whole}


def relative_speeds(
    rungs: Sequence[Rung], corpora: Corpora, block_size: int, rounds: int = 24, steps: int = 4
) -> dict[str, float]:
    """Return training steps a second as a share of v4's: the median over rounds of each round's share.

    rounds  how often every model trains, one model after the other
    steps   of every model in a round
    """
    plan = TrainConfig(steps=steps * rounds + 1, warmup=0)
    rungs = (Rung("v4", "v4"), *(rung for rung in rungs if rung.name != "v4"))
    runs = {
        r.name: train(r.build(corpora, block_size), r.objective(corpora, block_size), plan) for r in rungs
    }
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            for _ in range(steps):
                next(run)
            taken[name].append(time.perf_counter() - start)
    return {
        name: round(median(v4 / own for v4, own in zip(taken["v4"], times, strict=True)), 2)
        for name, times in taken.items()
    }
