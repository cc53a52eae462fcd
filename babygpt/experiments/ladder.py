"""All versions on one board: the same text, seeds, windows and steps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import plots
from babygpt.config import TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.experiments.results import Results
from babygpt.experiments.roles_and_lengths import questions
from babygpt.experiments.sweep import SEEDS, small_config, sweep, train_from_seed
from babygpt.metrics.diffusion import answer_bounds, nelbo
from babygpt.metrics.next_token import answer_log_probs, loss_by_position, role_accuracy
from babygpt.models.base import KVCache, LanguageModel
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import Objective, objective_for
from babygpt.positions import Positions
from babygpt.tables import format_mean_sd, markdown, mean_sd
from babygpt.training import train

WORLD = "plain-tales"
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
    seeds: tuple[int, ...] = SEEDS,
    steps: int = 600,
    block_size: int = 64,
    n_chars: int = 400_000,
    n_questions: int = 400,
) -> Results:
    """Train and measure every model of the ladder, and of those beside it, from several seeds.

    returns  settings and {"board": name -> "roles", "1x", "2x", "4x": one a seed, or None where the
             model refuses such a length, "parameters", "speed": steps a second as a share of v4's,
             "masks": whether its losses are NELBOs}
    """
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

    found, speed = sweep(by_name, seeds, run), relative_speeds(rungs, corpora, block_size)
    board = {
        name: {
            "masks": rung.masks,
            "parameters": sum(p.numel() for p in build_model(rung, corpora, block_size).parameters()),
            **found[name],
            "speed": speed[name],
        }
        for name, rung in by_name.items()
    }
    settings = {"steps": steps, "seeds": list(seeds), "block_size": block_size}
    floors = {"floor": corpora[False].floor, "bigram_floor": corpora[False].bigram_floor}
    return {**settings, **floors, "board": board}


def build_model(rung: Rung, corpora: dict[bool, Corpus], block_size: int) -> LanguageModel:
    """A model of the board before any training, for the characters with a MASK or those without."""
    torch.manual_seed(0)
    return build(rung.version, small_config(corpora[rung.masks], block_size), **rung.options)


def evaluate(rung: Rung, model: LanguageModel, corpus: Corpus, asked: list[Any]) -> dict[str, float | None]:
    """Loss on windows of one, two and four times the length trained on, and right answers.

    returns  "1x", "2x", "4x": nats per character, a NELBO for models that fill in, None where refused;
             "roles": share of right answers
    """
    branches, size = VERSIONS[rung.version].branches, model.config.block_size
    if rung.masks:
        lengths = {n: nelbo(model, corpus.val, n * size)[0] for n in WINDOWS}
        roles = role_accuracy(model, corpus.tokenizer, asked, answer_bounds)
    else:
        furthest = model.encoding.max_positions if not branches else None
        model = SingleBranch(model) if branches else model
        lengths = {
            n: float(loss_by_position(model, corpus.val, n * size, len(corpus.val) // (n * size)).mean())
            for n in WINDOWS
            if furthest is None or n * size <= furthest
        }
        roles = role_accuracy(model, corpus.tokenizer, asked, answer_log_probs)
    losses = {f"{n}x": round(lengths[n], 4) if n in lengths else None for n in WINDOWS}
    return {**losses, "roles": roles}


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


# ---------------------------------------------------------------- of stored results


def of_kind(results: Results, masks: bool) -> dict[str, dict[str, Any]]:
    """The models that fill in masked characters, or those that write from left to right."""
    return {name: found for name, found in results["board"].items() if found["masks"] == masks}


def paired_differences(results: Results, name: str, rival: str, key: str = "1x") -> list[float]:
    """By how much a model is above its rival, seed by seed.

    Raises BadInput for two models whose losses are not of one kind, or that refuse such a length.
    """
    one, other = (results["board"][which] for which in (name, rival))
    if one["masks"] != other["masks"] and key != "roles":
        raise BadInput(f"{name} and {rival}: a bound and a loss cannot be subtracted")
    if None in one[key] or None in other[key]:
        raise BadInput(f"{name} or {rival} has no {key}: it refuses such a length")
    return [a - b for a, b in zip(one[key], other[key], strict=True)]


def table_row(results: Results, name: str) -> tuple[str, ...]:
    """One model's cells: name, three losses, right answers, parameters, speed."""
    found = results["board"][name]
    bound = "≤ " if found["masks"] else ""
    losses = [
        "refuses" if None in seeds else bound + format_mean_sd(mean_sd(seeds))
        for seeds in (found[f"{n}x"] for n in WINDOWS)
    ]
    answers = format_mean_sd(mean_sd(found["roles"]), ".0%")
    return (name, *losses, answers, f"{found['parameters']:,}", f"{found['speed']:.2f}")


def markdown_table(results: Results) -> str:
    """The board as Markdown, with the command that made it and the time it took."""
    head = f"`{results['command']}`, {results['minutes']:.0f} minutes; 2 layers, 4 heads, width 96, windows "
    head += f"of {results['block_size']} characters, {results['steps']} steps, mean ± standard deviation "
    head += f"over {len(results['seeds'])} seeds. Losses in nats per character; no model can pass "
    head += f"{results['floor']:.3f}. Speed: training steps a second as a share of v4's.\n\n"
    columns = ("model", "loss", "at 2× length", "at 4× length", "right answers", "parameters", "speed")
    return head + markdown(columns, [table_row(results, name) for name in results["board"]])


def draw_ladder(figure: Figure, results: Results) -> None:
    """The board: losses and, on axes of their own, bounds; right answers; and what longer windows cost."""
    rows = figure.subplots(2, 3, height_ratios=(10, 5))
    for (loss, roles, longer), masks in zip(rows, (False, True), strict=True):
        draw_kind(loss, roles, longer, of_kind(results, masks), masks)


def draw_kind(loss: Axes, roles: Axes, longer: Axes, found: Results, bound: bool) -> None:
    """One kind of models: what they lose, what they answer, what four times longer windows cost them."""
    what, unit = "bound on the loss" if bound else "loss", "(nats per character)"
    title = f"{'Filling in' if bound else 'Left to right'}: {leaders(found)}"
    plots.draw_seed_rows(loss, {v: one["1x"] for v, one in found.items()}, title, f"{what} {unit}")
    title = who_answers({v: one["roles"] for v, one in found.items()})
    answers = {v: [100 * share for share in one["roles"]] for v, one in found.items()}
    plots.draw_seed_rows(roles, answers, title, "right answers (%)", {"chance": 50.0}, (0.0, 105.0))
    costs = {
        v: [far - near for far, near in zip(one["4x"], one["1x"], strict=True)]
        for v, one in found.items()
        if None not in one["4x"]
    }
    worst = max(costs, key=lambda v: np.mean(costs[v]))
    title = f"Four times longer: {worst} pays {np.mean(costs[worst]):+.2f}"
    plots.draw_seed_rows(longer, costs, title, f"change of the {what} {unit}", {"no change": 0.0})


def leaders(found: Results) -> str:
    """The models that no other beats by every seed, and the lowest mean loss among them."""
    losses = {v: np.array(one["1x"]) for v, one in found.items()}
    front = [v for v in losses if not any((other < losses[v]).all() for other in losses.values())]
    lowest = f"{min(np.mean(losses[v]) for v in front):.2f}"
    return f"{front[0]} leads, {lowest}" if len(front) == 1 else f"{', '.join(front)} level, {lowest}"


def who_answers(roles: dict[str, list[float]], known: float = 0.9) -> str:
    """Which models give right answers in every seed, or that none does."""
    sure = [v for v, seeds in roles.items() if min(seeds) >= known]
    some = sum(max(seeds) >= known for seeds in roles.values()) - len(sure)
    if not sure and not some:
        return f"Who did it? Nobody knows: {max(map(max, roles.values())):.0%} at best"
    return f"Who did it? In every seed: {', '.join(sure) or 'nobody'}; in some: {some}"
