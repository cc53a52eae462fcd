"""Study of all versions on one board: the same text, seeds, windows and steps."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, median, stdev
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from babygpt import Positions, TrainConfig, build, load_corpus, metrics, train
from babygpt.data.corpus import Corpus
from babygpt.device import pick_device
from babygpt.errors import BadInput
from babygpt.experiments.paired import (
    LEAST_LOSS,
    LEAST_SHARE,
    RULE,
    compare,
    differences,
    format_mean_sd,
    mean_sd,
    percent,
)
from babygpt.experiments.sweep import StudySize, Workers, questions, small_config, sweep, train_from_seed
from babygpt.models.cache import KVCache
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import VERSIONS
from babygpt.objectives import Objective, objective_for
from babygpt.tables import markdown
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_dots
from babygpt_course.studies.window_floor import floor_by_position

if TYPE_CHECKING:  # A learner's first cell would wait for Matplotlib.
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORLD = "plain-tales"
WINDOWS = (1, 2, 4)  # lengths, in windows of training
FLOOR_DRAWS = 8  # draws of windows for the floor, each from a seed of its own
Corpora = dict[bool, Corpus]  # with a MASK token, and without
SCALE = StudySize(steps=600)


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
    workers: Workers,
    scale: StudySize = SCALE,
    rungs: Sequence[Rung] = RUNGS,
    floor_windows: int = 250,
    rounds: int = 24,
) -> Results:
    """Train and measure every model of the ladder, and of those beside it, from several seeds.

    floor_windows  of each of FLOOR_DRAWS, for the floor of windows that begin anywhere
    rounds         of training, to measure speeds
    returns  settings, floors, and {"board": name -> what `evaluate` returns, one a seed; "parameters";
             "speed": steps a second as a share of v4's; "masks": whether its losses are NELBOs}
    """
    block_size = scale.block_size
    corpora = {masks: load_corpus(WORLD, scale.n_chars, with_mask=masks) for masks in (False, True)}
    quiz = questions(corpora[False], block_size, scale.n_questions)
    by_name = {rung.name: rung for rung in rungs}

    def run(name: str, seed: int) -> dict[str, float | None]:
        rung, plan = by_name[name], TrainConfig(steps=scale.steps, seed=seed)
        corpus, objective = corpora[rung.masks], rung.objective(corpora, block_size)
        config, title = small_config(corpus, block_size), f"{name}, seed {seed}"
        model, _ = train_from_seed(rung.version, config, objective, plan, title, **rung.options)
        return evaluate(rung, model, corpus, quiz)

    measurements = sweep(by_name, scale.seeds, run, workers)
    speed = relative_speeds(rungs, corpora, block_size, rounds)
    board: dict[str, dict[str, Any]] = {}
    for name in measurements:
        rung = by_name[name]
        parameters = sum(p.numel() for p in rung.build(corpora, block_size).parameters())
        board[name] = {
            "masks": rung.masks,
            "parameters": parameters,
            **measurements[name],
            "speed": speed[name],
        }
    plain = corpora[False]
    assert plain.grammar is not None
    draws = [floor_by_position(plain.grammar, block_size, floor_windows, n)[0] for n in range(FLOOR_DRAWS)]
    floors = [float(by_position.mean()) for by_position in draws]
    return {
        **scale.settings(),
        "floor": plain.floor,
        "bigram_floor": plain.bigram_floor,
        "window_floor": round(mean(floors), 4),
        "window_floor_se": round(stdev(floors) / FLOOR_DRAWS**0.5, 4),
        "board": board,
    }


def evaluate(rung: Rung, model: LanguageModel, corpus: Corpus, quiz: list[Any]) -> dict[str, float | None]:
    """Measure a trained model; None stands where it refuses such a length, or cannot do such a thing.

    returns  "1x", "2x", "4x": mean loss on windows of one, two and four times the length trained on, nats
             per character, a NELBO for models that fill in; "past": what reading four windows far changes, on
             the same targets as within one window; "roles": share of questions to which the right one of two
             names is the likelier; "whole": share after which the right name is written, letter by letter
    """
    block_size, tokenizer = model.config.block_size, corpus.tokenizer
    if rung.masks:
        bounds = {f"{n}x": round(metrics.nelbo(model, corpus.val, n * block_size)[0], 4) for n in WINDOWS}
        roles = metrics.role_accuracy(model, tokenizer, quiz, metrics.answer_bounds)
        return {**bounds, "past": None, "roles": roles, "whole": None}
    branches = VERSIONS[rung.version].branches
    furthest = None if branches else model.encoding.max_positions
    model = SingleBranch(model) if branches else model
    losses: dict[str, float | None] = {f"{n}x": None for n in WINDOWS}
    for n in WINDOWS:
        if furthest is None or n * block_size <= furthest:
            n_windows = len(corpus.val) // (n * block_size)
            loss = metrics.loss_by_position(model, corpus.val, n * block_size, n_windows)
            losses[f"{n}x"] = round(float(loss.mean()), 4)
    past = None
    if None not in losses.values():
        change, _ = metrics.position_matched_change(model, corpus.val, WINDOWS[-1] * block_size)
        past = round(change, 4) + 0.0  # A rounded −0 would be stored as -0.0.
    roles, whole = (f(model, tokenizer, quiz) for f in (metrics.role_accuracy, metrics.whole_answer_accuracy))
    return {**losses, "past": past, "roles": roles, "whole": whole}


def relative_speeds(
    rungs: Sequence[Rung], corpora: Corpora, block_size: int, rounds: int = 24, steps: int = 4
) -> dict[str, float]:
    """Return training steps a second as a share of v4's: the median over rounds of each round's share.

    rounds  how often every model trains, one model after the other
    steps   of every model in a round
    """
    plan, device = TrainConfig(steps=steps * rounds + 1, warmup=0), pick_device()
    rungs = (Rung("v4", "v4"), *(rung for rung in rungs if rung.name != "v4"))
    runs = {
        r.name: train(r.build(corpora, block_size).to(device), r.objective(corpora, block_size), plan)
        for r in rungs
    }
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            for _ in range(steps):
                next(run)
            taken[name].append(time.perf_counter() - start)
    shares = {name: np.divide(taken["v4"], times) for name, times in taken.items()}
    return {name: round(float(median(ratios)), 2) for name, ratios in shares.items()}


# ---------------------------------------------------------------- of stored results

COLUMNS = (
    "model",
    "loss",
    "at 2× length",
    "at 4× length",
    "change past the window",
    "right answers, each seed (%)",
    "whole names, each seed (%)",
    "parameters",
    "speed",
)
KNOWN = 0.9  # share of right answers from which a model is said to know who did it
TOO_FAR = 2.0  # A loss above this times the lowest is written as a number, or it would stretch the axis.


def of_kind(results: Results, masks: bool) -> dict[str, dict[str, Any]]:
    """Return the models that fill in masked characters, or those that write from left to right."""
    return {name: row for name, row in results["board"].items() if row["masks"] == masks}


def paired_differences(results: Results, name: str, rival: str, key: str = "1x") -> list[float]:
    """Return a model's number minus its rival's, seed by seed.

    Raises BadInput for two models whose losses are not of one kind, or that refuse such a length.
    """
    row, rival_row = (results["board"][which] for which in (name, rival))
    if row["masks"] != rival_row["masks"] and key != "roles":
        raise BadInput(f"{name} and {rival}: a bound and a loss cannot be subtracted")
    if None in row[key] or None in rival_row[key]:
        raise BadInput(f"{name} or {rival} has no {key}: it refuses such a length")
    return differences(row[key], rival_row[key])


def against(results: Results, rival: str, key: str = "1x") -> dict[str, str]:
    """Return which side of a rival each model of its kind is on, but for those that refuse such a length."""
    rows = of_kind(results, results["board"][rival]["masks"])
    named = [name for name, row in rows.items() if name != rival and None not in row[key]]
    least = LEAST_SHARE if key in ("roles", "whole") else LEAST_LOSS
    gaps = {name: paired_differences(results, name, rival, key) for name in named}
    return {name: compare(each, least).side for name, each in gaps.items()}


def table_row(results: Results, name: str) -> tuple[str, ...]:
    """Return a model's cells under COLUMNS; answers seed by seed, as their outcome is bimodal."""
    row = results["board"][name]
    bound = "≤ " if row["masks"] else ""
    losses = [
        "refuses" if None in seeds else bound + format_mean_sd(mean_sd(seeds))
        for seeds in (row[f"{n}x"] for n in WINDOWS)
    ]
    refused = "–" if row["masks"] else "refuses"
    past = refused if None in row["past"] else f"{mean(row['past']):+.3f} ± {stdev(row['past']):.3f}"
    answers = [each_seed(row[key]) for key in ("roles", "whole")]
    return (name, *losses, past, *answers, f"{row['parameters']:,}", f"{row['speed']:.2f}")


def each_seed(shares: Sequence[float | None]) -> str:
    """Return shares in per cent, the highest first; a dash if nothing was asked."""
    measured = sorted((share for share in shares if share is not None), reverse=True)
    return " ".join(f"{100 * share:.0f}" for share in measured) or "–"


def table(results: Results) -> str:
    """Return the board as Markdown, with the command that made it and the time it took."""
    head = (
        f"`{results['command']}`, {results['minutes']:.0f} minutes; 2 layers, 4 heads, width 96, windows "
        f"of {results['block_size']} characters, {results['steps']} steps, mean ± standard deviation "
        f"over {len(results['seeds'])} seeds. Losses in nats per character; "
        f"no model can pass {results['window_floor']:.3f} on windows that begin anywhere, as these do, "
        f"and {results['floor']:.3f} on whole stories. Change past the window: four windows far, minus "
        "the same targets within one window. Right answers: of two names; whole names: written letter "
        f"by letter. Speed: training steps a second as a share of v4's. {RULE}\n\n"
    )
    return head + markdown(COLUMNS, [table_row(results, name) for name in results["board"]])


def draw_ladder(figure: Figure, results: Results) -> None:
    """Draw losses and, on axes of their own, bounds; right answers; and the cost of longer windows."""
    rows = figure.subplots(2, 3, height_ratios=(11, 5))
    for (loss, roles, longer), masks in zip(rows, (False, True), strict=True):
        models = of_kind(results, masks)
        label = "bound (nats per character)" if masks else "loss (nats per character; line: the best reader)"
        losses = {name: row["1x"] for name, row in models.items()}
        title, highest = front_title(results, masks), TOO_FAR * min(map(min, losses.values()))
        draw_rows(loss, losses, title, label, highest, None if masks else results["window_floor"])
        draw_answers(roles, models)
        draw_longer(longer, models, masks)


def draw_answers(ax: Axes, models: Mapping[str, Mapping[str, Any]]) -> None:
    """Draw right answers: a dot where two names were compared, a ring where the whole name was written."""
    roles, whole = ({name: row[key] for name, row in models.items()} for key in ("roles", "whole"))
    written = {name: seeds for name, seeds in whole.items() if None not in seeds}
    label = "right answers (%); rings: whole names written" if written else "right answers (%)"
    span = (-3.0, 103.0)
    draw_seed_dots(ax, percent(roles), who_answers(roles), label, {"chance": 50.0}, span, percent(written))


def draw_longer(ax: Axes, models: Mapping[str, Mapping[str, Any]], masks: bool) -> None:
    """Draw the cost of four times longer windows; models that refuse them keep a row that says so."""
    if masks:
        costs = {name: differences(v["4x"], v["1x"]) for name, v in models.items()}
        title, label = "In longer windows {}'s bound rises by {:.1f}", "bound at 4× minus 1× length (nats)"
    else:
        costs = {name: [x for x in row["past"] if x is not None] for name, row in models.items()}
        title, label = "In longer windows {} loses {:.1f} nats more", "loss at 4× minus 1× (nats)"
    means = {name: float(np.mean(seeds)) for name, seeds in costs.items() if seeds}
    worst, highest = max(means, key=means.__getitem__), np.inf if masks else 1.0
    draw_rows(ax, costs, title.format(worst, means[worst]), label, highest, 0.0)


def draw_rows(
    ax: Axes,
    values: Mapping[str, Sequence[float]],
    title: str,
    label: str,
    highest: float,
    mark: float | None = None,
) -> None:
    """Draw a row of dots for each model; values beyond `highest` and refusals are written in its row."""
    far = {name: seeds for name, seeds in values.items() if len(seeds) and min(seeds) > highest}
    notes = {name: f"{np.mean(seeds):.2f} →" for name, seeds in far.items()}
    notes |= {name: "refuses" for name, seeds in values.items() if not len(seeds)}
    dots = {name: () if name in notes else seeds for name, seeds in values.items()}
    marks = {} if mark is None else {"mark": mark}
    draw_seed_dots(ax, dots, title, label, marks, notes=notes)


def front(results: Results, masks: bool) -> list[str]:
    """Return the models of a kind that no other is decidedly below."""
    names = of_kind(results, masks)
    return [name for name in names if "below" not in against(results, name).values()]


def front_title(results: Results, masks: bool) -> str:
    """Return a title: who leads, or how many are undecided, and the lowest mean loss among them."""
    names = front(results, masks)
    lowest = min(float(np.mean(results["board"][name]["1x"])) for name in names)
    what = f"lowest {'bound' if masks else 'loss'}, {lowest:.3f}"
    return f"{names[0]} has the {what}" if len(names) == 1 else f"The {what}, is undecided among {len(names)}"


def who_answers(roles: Mapping[str, Sequence[float]]) -> str:
    """Return a title: which models give right answers in every seed, or that none does."""
    sure = [name for name, seeds in roles.items() if min(seeds) >= KNOWN]
    n_partly = sum(max(seeds) >= KNOWN for seeds in roles.values()) - len(sure)
    if not sure and not n_partly:
        return f"No run answers who did it: {max(map(max, roles.values())):.0%} at best"
    models = f"{' and '.join(sure)} answer" if len(sure) > 1 else f"{sure[0] if sure else 'No model'} answers"
    return f"{models} from every seed, {n_partly} more from some"
