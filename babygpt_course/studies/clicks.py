"""Study of the time of the click: the step from which on a model answers, and from which on it spells.

Every `every` steps a model is asked few questions and reads few windows; after the last step it is asked
`n_questions`, and reads the whole validation text. All numbers of a run come from one schedule, so a model at
step 600 is not one that was trained for 600 steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from statistics import median_low
from typing import TYPE_CHECKING

import numpy as np
import torch

from babygpt import NextToken, TrainConfig, load_corpus, metrics
from babygpt.errors import BadInput
from babygpt.experiments.paired import format_mean_sd, mean_sd, table_head
from babygpt.experiments.sweep import (
    StudySize,
    Workers,
    questions,
    small_config,
    sweep,
    train_with_curve,
)
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import build
from babygpt.tables import markdown
from babygpt_course.studies.board import KNOWN, RUNGS, WORLD
from babygpt_course.studies.results import Results
from babygpt_live import ENCODING_COLOURS
from babygpt_live.figures import set_labels

if TYPE_CHECKING:  # A learner's first cell would wait for Matplotlib.
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MODELS = {
    "v4": "RoPE",
    "v3": "sinusoid",
    "v5 fixed": "kernel fixed",
    "v5": "kernel trained",
    "alibi": "ALiBi",
    "nope": "NoPE",
    "learned": "learned positions",
    "pope": "PoPE",
}
SCALE = StudySize(steps=1800)
EVERY = 50  # steps between two measurements
# With 100 questions a share is known to 3 to 5 points, and with 100 windows a loss to 0.02 nats.
FEW_QUESTIONS = FEW_WINDOWS = 100
LEAST = {"answers": KNOWN, "spells": 0.8}  # shares from which on a model is said to answer, and to spell
VERBS = {"answers": "answer", "spells": "spell"}
STOPS = (600, 1200, 1800)  # steps at which the table counts seeds
SETTINGS = ("device", "threads", "instructions", "steps", "seeds", "block_size", "at", "asked")


def measure_clicks(workers: Workers, scale: StudySize = SCALE, every: int = EVERY) -> Results:
    """Train the causal models of the board under one schedule, and measure them after every `every` steps.

    returns   settings; "at": steps of the measurements; "asked": numbers of questions and windows, between
              the steps and after the last; {"models": name -> "answers": share of questions to which the
              right one of two names is the likelier, "spells": share after which it is written, letter by
              letter, "loss": nats per character; each one list a seed}
    """
    corpus, block_size = load_corpus(WORLD, scale.n_chars), scale.block_size
    full_quiz, all_windows = questions(corpus, block_size, scale.n_questions), len(corpus.val) // block_size
    config, objective = small_config(corpus, block_size), NextToken(corpus, block_size)
    rungs = {rung.name: rung for rung in RUNGS}
    steps = [*range(every, scale.steps, every), scale.steps]

    def measure(model: LanguageModel, quiz: list, n_windows: int) -> tuple[float, float, float]:
        answers = metrics.role_accuracy(model, corpus.tokenizer, quiz)
        spells = metrics.whole_answer_accuracy(model, corpus.tokenizer, quiz)
        loss = metrics.loss_by_position(model, corpus.val, block_size, n_windows).mean()
        return round(answers, 4), round(spells, 4), round(float(loss), 4)

    def measure_few(model: LanguageModel) -> tuple[float, float, float]:
        return measure(model, full_quiz[:FEW_QUESTIONS], min(FEW_WINDOWS, all_windows))

    def run(name: str, seed: int) -> Results:
        torch.manual_seed(seed)
        model, plan = (
            build(rungs[name].version, config, **rungs[name].options),
            TrainConfig(scale.steps, seed=seed),
        )
        curve, _ = train_with_curve(model, objective, plan, f"{name}, seed {seed}", every, measure_few)
        curve = [*curve[: len(steps) - 1], measure(model, full_quiz, all_windows)]
        return dict(zip((*LEAST, "loss"), zip(*curve, strict=True), strict=True))

    numbers = {"questions": [FEW_QUESTIONS, scale.n_questions], "windows": [FEW_WINDOWS, all_windows]}
    models = sweep(MODELS, scale.seeds, run, workers)
    return {**scale.settings(), "at": steps, "asked": numbers, "models": models}


def count_spelling(names: Iterable[float]) -> int:
    """Return how many seeds spell, by the shares of names that they write."""
    return sum(share >= LEAST["spells"] for share in names)


def require_same_settings(stored: Results, new: Results, settings: Sequence[str] = SETTINGS) -> None:
    """Raise BadInput if two calls of a study differ in a setting, so that they may not be joined."""
    if wrong := [key for key in settings if stored.get(key) != new.get(key)]:
        raise BadInput(
            f"the stored models differ from the new ones in {', '.join(wrong)}: store them elsewhere"
        )


def join_models(stored: Results, new: Results) -> Results:
    """Return stored results with the models that another call of the command measured.

    Raises BadInput if the two differ in anything but their models.
    """
    require_same_settings(stored, new)
    models = stored["models"] | new["models"]
    models = {name: models[name] for name in MODELS if name in models}
    minutes = round(stored["minutes"] + new["minutes"], 1)
    return {**new, "command": new["command"].split(" --only")[0], "minutes": minutes, "models": models}


# ---------------------------------------------------------------- of stored results


def click_step(steps: Sequence[int], shares: Sequence[float], least: float) -> float:
    """Return the first of the measured steps from which on all shares are at least `least`; else infinity."""
    below = [i for i, share in enumerate(shares) if share < least]
    after = steps[below[-1] + 1 :] if below else steps
    return after[0] if after else inf


def click_steps(results: Results, what: str) -> dict[str, list[float]]:
    """Return the click of each seed: model -> step from which on it "answers" or "spells", or infinity."""
    return {
        name: [click_step(results["at"], shares, LEAST[what]) for shares in curves[what]]
        for name, curves in results["models"].items()
    }


def clicked(results: Results, what: str) -> dict[str, np.ndarray]:
    """Return how many seeds have clicked by each measured step: model -> (steps,)."""
    return {
        name: np.array([sum(click <= step for click in clicks) for step in results["at"]])
        for name, clicks in click_steps(results, what).items()
    }


def table(results: Results) -> str:
    """Return as Markdown when the seeds of each model begin to answer and to spell, and their last loss."""
    stops, steps = [stop for stop in STOPS if stop <= results["steps"]], f"{results['steps']:,} steps"
    heading = (
        "model",
        "seeds that",
        *(f"by step {stop:,}" for stop in stops),
        "half of them by",
        "each seed",
    )
    rows = []
    for name in results["models"]:
        for what, verb in VERBS.items():
            clicks = sorted(click_steps(results, what)[name])
            counts = [str(sum(click <= stop for click in clicks)) for stop in stops]
            half, *each = (f"{click:,}" if click < inf else "–" for click in (median_low(clicks), *clicks))
            rows.append((MODELS[name], verb, *counts, half, " ".join(each)))
    few, many = results["asked"]["questions"]
    head = (
        f"{table_head(results)}\n\nOne schedule of {steps}. A seed answers from the step from which on at "
        f"least {LEAST['answers']:.0%} of its answers are right, and spells from the step from which on it "
        f"writes at least {LEAST['spells']:.0%} of the names. Each measurement asks {few} questions, and the "
        f"last one {many}. A dash: not within these steps.\n\n"
    )
    losses = f"loss after {steps} (nats per character)", "of seeds that spell", "of seeds that do not"
    return head + markdown(heading, rows) + "\n" + markdown(("model", *losses), loss_rows(results))


def loss_rows(results: Results) -> list[tuple[str, ...]]:
    """Return each model's last loss: of all seeds, of those that spell, and of those that do not."""
    rows = []
    for name, clicks in click_steps(results, "spells").items():
        losses = [curve[-1] for curve in results["models"][name]["loss"]]
        spelling = [loss for loss, click in zip(losses, clicks, strict=True) if click < inf]
        others = [loss for loss, click in zip(losses, clicks, strict=True) if click == inf]
        rows.append((MODELS[name], *(format_mean_sd(mean_sd(group)) for group in (losses, spelling, others))))
    return rows


def click_title(results: Results, what: str) -> str:
    """Return a title: the first and the last step at which half of a model's seeds have clicked."""
    halves = {MODELS[name]: median_low(clicks) for name, clicks in click_steps(results, what).items()}
    reached = {name: step for name, step in halves.items() if step < inf}
    if not reached:
        return f"No encoding lets half of the seeds {VERBS[what]}"
    milestones = [f"{step:,} ({name})" for name, step in sorted(reached.items(), key=lambda item: item[1])]
    missing = [name for name, step in halves.items() if step == inf]
    span = " to ".join(dict.fromkeys((milestones[0], milestones[-1])))  # one of the two, if they are equal
    title = f"Half of the seeds {VERBS[what]} by step {span}"
    return title + (f",\nand fewer by the end with {', '.join(missing)}" if missing else "")


def draw_clicks(figure: Figure, results: Results) -> None:
    """Draw how many seeds answer, and how many spell, by step: a line for each encoding."""
    axes = figure.subplots(1, 2, sharey=True)
    for ax, what in zip(axes, VERBS, strict=True):
        draw_clicked(ax, results, what)
    axes[1].legend(loc="upper left", fontsize=10)


def draw_clicked(ax: Axes, results: Results, what: str) -> None:
    """Draw the seeds that have clicked by each step, with lines apart where they would hide each other."""
    for i, (name, counts) in enumerate(clicked(results, what).items()):
        raised = np.array([0, *counts]) + 0.09 * (i - (len(results["models"]) - 1) / 2)
        colour, label = ENCODING_COLOURS[name], MODELS[name]
        ax.step([0, *results["at"]], raised, where="post", lw=2.2, color=colour, label=label)
    n = len(results["seeds"])
    ax.set_ylim(-0.7, n + 0.7)
    share = f"at least {LEAST[what]:.0%} of {'answers right' if what == 'answers' else 'names written'}"
    set_labels(
        ax, click_title(results, what), "step", f"seeds that {VERBS[what]}, of {n}\n({share} to the end)"
    )
