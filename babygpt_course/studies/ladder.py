"""All versions on one board: the same text, seeds, windows and steps."""

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
from babygpt.metrics.diffusion import answer_bounds, nelbo
from babygpt.metrics.next_token import loss_by_position, position_matched_change
from babygpt.models.base import KVCache, LanguageModel
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import Objective, objective_for
from babygpt.positions import Positions
from babygpt.training import train
from babygpt_course.studies.results import Results
from babygpt_course.studies.roles_and_lengths import questions
from babygpt_course.studies.sweep import SEEDS, small_config, sweep, train_from_seed
from babygpt_course.studies.window_floor.floors import floor_by_position

WORLD = "plain-tales"
BOARD_SEEDS = (*SEEDS, 4711, 31)
WINDOWS = (1, 2, 4)  # lengths, in windows of training


@dataclass(frozen=True)
class Rung:
    """A model of the board: its name there, which version it is, and what is chosen of its encoding."""

    name: str
    version: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def masks(self) -> bool:
        """Whether it fills in masked characters, so that its losses are bounds."""
        return VERSIONS[self.version].masks

    def objective(self, corpus: Corpus, block_size: int) -> Objective:
        """What it is trained to do, on batches of 12 windows; validation is not on the board."""
        options: dict[str, Any] = {"val_windows": 1, "n_branches": (1, 4), "length": block_size}
        return objective_for(self.version, corpus, block_size, **options)


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
    rungs: Sequence[Rung] = RUNGS,
    seeds: tuple[int, ...] = BOARD_SEEDS,
    fill_seeds: tuple[int, ...] = SEEDS,
    steps: int = 600,
    block_size: int = 64,
    n_chars: int = 400_000,
    n_questions: int = 400,
    floor_windows: int = 250,
) -> Results:
    """Train and measure every model of the ladder, and of those beside it, from several seeds.

    seeds          of the models that write from left to right
    fill_seeds     of those that fill in: the first of the others
    floor_windows  for the floor of windows that begin anywhere
    returns  settings, floors, and {"board": name -> what `evaluate` returns, one a seed; "parameters";
             "speed": steps a second as a share of v4's; "masks": whether its losses are NELBOs}
    Raises BadInput if the seeds of those that fill in are not the first of the others.
    """
    if fill_seeds != seeds[: len(fill_seeds)]:
        raise BadInput(f"fill_seeds ({fill_seeds}) must be the first of seeds ({seeds}): runs are paired")
    corpora = {masks: load_corpus(WORLD, n_chars, with_mask=masks) for masks in (False, True)}
    asked = questions(corpora[False], block_size, n_questions)
    by_name = {rung.name: rung for rung in rungs}

    def run(name: str, seed: int) -> dict[str, float | None]:
        rung = by_name[name]
        corpus, plan = corpora[rung.masks], TrainConfig(steps=steps, seed=seed)
        config, objective = small_config(corpus, block_size), rung.objective(corpus, block_size)
        title = f"{name}, seed {seed}"
        model, _ = train_from_seed(rung.version, config, objective, plan, title, **rung.options)
        return evaluate(rung, model, corpus, asked)

    found = sweep([rung.name for rung in rungs if not rung.masks], seeds, run)
    found |= sweep([rung.name for rung in rungs if rung.masks], fill_seeds, run)
    speed = relative_speeds(rungs, corpora, block_size)
    board = {
        name: {
            "masks": rung.masks,
            "parameters": sum(p.numel() for p in build_model(rung, corpora, block_size).parameters()),
            **found[name],
            "speed": speed[name],
        }
        for name, rung in by_name.items()
    }
    settings: Results = {"steps": steps, "block_size": block_size}
    settings |= {"seeds": list(seeds), "fill_seeds": list(fill_seeds)}
    floors = {"floor": corpora[False].floor, "bigram_floor": corpora[False].bigram_floor}
    return {**settings, **floors, **window_floor(corpora[False], block_size, floor_windows), "board": board}


def window_floor(corpus: Corpus, block_size: int, n_windows: int, draws: int = 8) -> dict[str, float]:
    """The least mean loss on windows that begin anywhere, as those of the board do.

    n_windows  windows of each draw
    returns    "window_floor", nats per character, and "window_floor_se", its standard error over draws
    Raises BadInput for a corpus that no grammar wrote.
    """
    if corpus.grammar is None:
        raise BadInput(f"{corpus.name} has no grammar, and so no floor")
    means = [
        float(floor_by_position(corpus.grammar, block_size, n_windows, seed)[0].mean())
        for seed in range(draws)
    ]
    return {
        "window_floor": round(mean(means), 4),
        "window_floor_se": round(stdev(means) / draws**0.5, 4),
    }


def build_model(rung: Rung, corpora: dict[bool, Corpus], block_size: int) -> LanguageModel:
    """A model of the board before any training, for the characters with a MASK or those without."""
    torch.manual_seed(0)
    return build(rung.version, small_config(corpora[rung.masks], block_size), **rung.options)


def evaluate(rung: Rung, model: LanguageModel, corpus: Corpus, asked: list[Any]) -> dict[str, float | None]:
    """What is measured of a trained model; None where it refuses such a length, or cannot do such a thing.

    returns  "1x", "2x", "4x": mean loss on windows of one, two and four times the length trained on, nats
             per character, a NELBO for models that fill in; "past": what reading four windows far changes, on
             the same targets as within one window; "roles": share of questions to which the right one of two
             names is the likelier; "whole": share after which the right name is written, letter by letter
    """
    if rung.masks:
        losses = {n: nelbo(model, corpus.val, n * model.config.block_size)[0] for n in WINDOWS}
        found = {"roles": role_accuracy(model, corpus.tokenizer, asked, answer_bounds), "whole": None}
        return {**rounded_losses(losses), "past": None, **found}
    furthest = None if VERSIONS[rung.version].branches else model.encoding.max_positions
    model = SingleBranch(model) if VERSIONS[rung.version].branches else model
    known = [n * model.config.block_size for n in WINDOWS]
    known = [length for length in known if furthest is None or length <= furthest]
    losses = {length // known[0]: mean_loss(model, corpus, length) for length in known}
    past = position_matched_change(model, corpus.val, known[-1])[0] if len(known) == len(WINDOWS) else None
    return {
        **rounded_losses(losses),
        "past": None if past is None else round(past, 4) + 0.0,
        "roles": role_accuracy(model, corpus.tokenizer, asked),
        "whole": whole_answer_accuracy(model, corpus.tokenizer, asked),
    }


def mean_loss(model: LanguageModel, corpus: Corpus, length: int) -> float:
    """Mean loss over as many windows of a length as the validation text has."""
    return float(loss_by_position(model, corpus.val, length, len(corpus.val) // length).mean())


def rounded_losses(losses: dict[int, float]) -> dict[str, float | None]:
    """Losses by how many windows long the text is, under the names of the board."""
    return {f"{n}x": round(losses[n], 4) if n in losses else None for n in WINDOWS}


def relative_speeds(
    rungs: Sequence[Rung], corpora: dict[bool, Corpus], block_size: int, rounds: int = 24, steps: int = 4
) -> dict[str, float]:
    """Training steps a second as a share of v4's: the median over rounds of each round's share.

    rounds  how often every model trains, one model after the other
    steps   of every model in a round
    """
    plan = TrainConfig(steps=steps * rounds + 1, warmup=0)
    runs = {
        rung.name: train(
            build_model(rung, corpora, block_size), rung.objective(corpora[rung.masks], block_size), plan
        )
        for rung in (Rung("v4", "v4"), *(r for r in rungs if r.name != "v4"))
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
