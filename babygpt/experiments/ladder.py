"""All versions on one board: the same text, seeds, windows and steps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean, median, stdev
from typing import Any

import torch
from torch import Tensor

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.experiments.roles import SEEDS, questions
from babygpt.metrics.diffusion import answer_bounds, nelbo
from babygpt.metrics.losses import loss_by_position
from babygpt.metrics.roles import answer_log_probs, role_accuracy
from babygpt.models.base import LanguageModel
from babygpt.models.cache import KVCache
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import Branches, MaskedDiffusion, NextToken, Objective
from babygpt.positions import Positions
from babygpt.training import finish, train

WORLD = "plain-tales"
WINDOWS = (1, 2, 4)  # lengths, in windows of training


@dataclass(frozen=True)
class Rung:
    """A model of the board: its name there, which version it is, and what is chosen of its encoding."""

    name: str
    version: str
    options: dict[str, Any] = field(default_factory=dict)


RUNGS = (
    Rung("v1", "v1"),
    Rung("v2", "v2"),
    Rung("v3", "v3"),
    Rung("v4", "v4"),
    Rung("v5", "v5"),
    Rung("v5 fixed", "v5", {"learnable": False}),
    Rung("v6", "v6", {"stride": 128}),
    Rung("nope", "nope"),
    Rung("learned", "learned"),
    Rung("alibi", "alibi"),
    Rung("pope", "pope"),
    Rung("v7-polar", "v7-polar"),
    Rung("v7", "v7"),
    Rung("v7-pope", "v7-pope"),
    Rung("v7-rope", "v7-rope"),
    Rung("v7-nope", "v7-nope"),
)


class OneText(LanguageModel):
    """A model of parallel branches that is given one text, as branch 0."""

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model.config, model.encoding)
        self.model = model

    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        positions = positions or Positions.arange(idx.shape[1], device=idx.device)
        return self.model(idx, Positions(positions.time, torch.zeros_like(positions.time)), cache)


def board(
    rungs: Sequence[Rung] = RUNGS,
    seeds: tuple[int, ...] = SEEDS,
    steps: int = 600,
    block_size: int = 64,
    n_chars: int = 400_000,
    n_questions: int = 400,
) -> dict[str, Any]:
    """Train and measure every model of the ladder, and of those beside it, from several seeds.

    returns  settings and {"board": name -> "loss", "roles", "1x", "2x", "4x": one a seed, or None where the
             model refuses such a length, "parameters", "speed": steps a second as a share of v4's,
             "masks": whether "loss" and its kind are NELBOs}
    """
    corpora = {masks: load_corpus(WORLD, n_chars, with_mask=masks) for masks in (False, True)}
    asked = questions(corpora[False], block_size, n_questions)
    found: dict[str, dict[str, Any]] = {}
    for rung in rungs:
        masks = VERSIONS[rung.version].masks
        parameters = sum(p.numel() for p in make(rung, corpora[masks], block_size, 0).parameters())
        found[rung.name] = {"masks": masks, "parameters": parameters}
    for seed in seeds:
        for rung in rungs:
            corpus = corpora[found[rung.name]["masks"]]
            model = make(rung, corpus, block_size, seed)
            plan = TrainConfig(steps=steps, seed=seed)
            objective = objective_of(rung, corpus, block_size)
            finish(train(model, objective, plan), steps, f"{rung.name}, seed {seed}")
            for key, number in examine(rung, model, corpus, asked).items():
                found[rung.name].setdefault(key, []).append(number)
    for name, speed in speeds(rungs, corpora, block_size).items():
        found[name]["speed"] = speed
    settings = {"steps": steps, "seeds": list(seeds), "block_size": block_size}
    floors = {"floor": corpora[False].floor, "bigram_floor": corpora[False].bigram_floor}
    return {**settings, **floors, "board": found}


def make(rung: Rung, corpus: Corpus, block_size: int, seed: int) -> LanguageModel:
    """An untrained model of the board's size: 2 layers, 4 heads, width 96."""
    torch.manual_seed(seed)
    config = ModelConfig(corpus.tokenizer.vocab_size, block_size, n_layer=2, n_head=4, n_embd=96)
    return build(rung.version, config, **rung.options)


def objective_of(rung: Rung, corpus: Corpus, block_size: int) -> Objective:
    """What a version is trained to do; each reads batches of 12 windows."""
    if VERSIONS[rung.version].masks:
        return MaskedDiffusion(corpus, block_size, val_windows=1)  # its own mean is not on the board
    if VERSIONS[rung.version].branches:
        return Branches(corpus, block_size, (1, 4), length=block_size)
    return NextToken(corpus, block_size)


def examine(rung: Rung, model: LanguageModel, corpus: Corpus, asked: list[Any]) -> dict[str, float | None]:
    """Loss on windows of one, two and four times the length trained on, and right answers.

    returns  "1x", "2x", "4x": nats per character, a NELBO for models that fill in, None where refused;
             "roles": share of right answers
    """
    version, size = VERSIONS[rung.version], model.config.block_size
    if version.masks:
        lengths = {n: nelbo(model, corpus.val, n * size)[0] for n in WINDOWS}
        roles = role_accuracy(model, corpus.tokenizer, asked, answer_bounds)
    else:
        reader = OneText(model) if version.branches else model
        furthest = model.encoding.max_positions if not version.branches else None
        lengths = {
            n: float(loss_by_position(reader, corpus.val, n * size, len(corpus.val) // (n * size)).mean())
            for n in WINDOWS
            if furthest is None or n * size <= furthest
        }
        roles = role_accuracy(reader, corpus.tokenizer, asked, answer_log_probs)
    kept = {f"{n}x": round(lengths[n], 4) if n in lengths else None for n in WINDOWS}
    return {**kept, "roles": roles}


def speeds(
    rungs: Sequence[Rung], corpora: dict[bool, Corpus], block_size: int, turns: int = 24, each: int = 4
) -> dict[str, float]:
    """Training steps a second as a share of v4's: all models in turn, the median of each turn's share.

    turns  how often every model gets its turn
    each   steps of a turn
    """
    runs = {}
    for rung in (Rung("v4", "v4"), *(r for r in rungs if r.name != "v4")):
        corpus = corpora[VERSIONS[rung.version].masks]
        plan = TrainConfig(steps=each * turns + 1, warmup=0)
        runs[rung.name] = train(
            make(rung, corpus, block_size, 0), objective_of(rung, corpus, block_size), plan
        )
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(turns):
        for name, run in runs.items():
            start = time.perf_counter()
            for _ in range(each):
                next(run)
            taken[name].append(time.perf_counter() - start)
    return {
        name: round(median(v4 / own for v4, own in zip(taken["v4"], times, strict=True)), 2)
        for name, times in taken.items()
    }


def table(results: dict[str, Any]) -> str:
    """The board as Markdown, with the command that made it and the time it took."""
    told = (
        f"`{results['command']}`, {results['minutes']:.0f} minutes; 2 layers, 4 heads, width 96, windows of "
    )
    told += f"{results['block_size']} characters, {results['steps']} steps, mean ± standard deviation over "
    told += f"{len(results['seeds'])} seeds. Losses in nats per character; no model can pass "
    told += f"{results['floor']:.3f}. Speed: training steps a second as a share of v4's."
    heads = ("model", "loss", "at 2× length", "at 4× length", "right answers", "parameters", "speed")
    rows = [
        told,
        "",
        "|" + "|".join(f" {head} " for head in heads) + "|",
        "|" + " --- |" * len(heads),
    ]
    rows += ["|" + "|".join(f" {cell} " for cell in row(name, results)) + "|" for name in results["board"]]
    return "\n".join(rows) + "\n"


def row(name: str, results: dict[str, Any]) -> tuple[str, ...]:
    """Of stored results, one model's cells: name, three losses, right answers, parameters, speed."""
    found = results["board"][name]
    bound = "≤ " if found["masks"] else ""
    losses = [bound + spread(found[f"{n}x"]) if None not in found[f"{n}x"] else "refuses" for n in WINDOWS]
    answers = f"{mean(found['roles']):.0%} ± {stdev(found['roles']):.0%}"
    return (name, *losses, answers, f"{found['parameters']:,}", f"{found['speed']:.2f}")


def kind(results: dict[str, Any], masks: bool) -> dict[str, dict[str, Any]]:
    """Of stored results, the models that fill in, or those that write from left to right."""
    return {name: found for name, found in results["board"].items() if found["masks"] == masks}


def spread(numbers: Sequence[float]) -> str:
    """Mean ± standard deviation."""
    return f"{mean(numbers):.3f} ± {stdev(numbers):.3f}"


def paired(results: dict[str, Any], name: str, rival: str, key: str = "1x") -> list[float]:
    """Of stored results: by how much a model is above its rival, seed by seed.

    Raises ValueError for two models whose losses are not of one kind, or that refuse such a length.
    """
    one, other = (results["board"][which] for which in (name, rival))
    if one["masks"] != other["masks"] and key != "roles":
        raise BadInput(f"{name} and {rival}: a bound and a loss cannot be subtracted")
    if None in one[key] or None in other[key]:
        raise BadInput(f"{name} or {rival} has no {key}: it refuses such a length")
    return [a - b for a, b in zip(one[key], other[key], strict=True)]
