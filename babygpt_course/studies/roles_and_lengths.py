"""Two studies on the tales: *who* questions to models with and without position codes, and longer windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from babygpt import ModelConfig, NextToken, TrainConfig, load_corpus, metrics, plots
from babygpt_course.studies.paired import by_measurement, percent
from babygpt_course.studies.results import Results
from babygpt_course.studies.sweep import Scale, Workers, questions, small_config, sweep, train_from_seed

IN_WINDOW = ("nope", "learned", "v3", "v4")
BEYOND = (*IN_WINDOW, "alibi")
KNOWS = 0.8  # share of right answers from which a model counts as one that knows who did it
SCALE = Scale(steps=600, n_chars=1_000_000, block_size=192)
LENGTHS_SCALE = Scale(steps=300, n_chars=1_000_000)


def measure_roles(workers: Workers, scale: Scale = SCALE) -> Results:
    """Measure role accuracy and validation loss of each version and seed after the same steps.

    returns   settings, {"accuracy": version -> one number a seed}, {"val_loss": likewise}
    """
    corpus = load_corpus("tales", scale.n_chars)
    config = ModelConfig(corpus.tokenizer.vocab_size, scale.block_size)
    objective = NextToken(corpus, scale.block_size)
    asked = questions(corpus, scale.block_size, scale.n_questions)

    def run(version: str, seed: int) -> dict[str, float]:
        model, history = train_from_seed(version, config, objective, TrainConfig(scale.steps, seed=seed))
        accuracy = metrics.role_accuracy(model, corpus.tokenizer, asked)
        return {"accuracy": accuracy, "val_loss": history[-1].val_loss or objective.validate(model)}

    found = sweep(IN_WINDOW, scale.seeds, run, workers)
    return {**scale.settings(), "floor": corpus.floor, **by_measurement(found, "accuracy", "val_loss")}


def draw_roles(figure: Figure, results: Results) -> None:
    """Draw the role accuracy of each model, a dot for each seed."""
    accuracy = percent(results["accuracy"])
    knowing = {name: sum(share > 100 * KNOWS for share in seeds) for name, seeds in accuracy.items()}
    counted = ", ".join(f"{name}: {n}" for name, n in knowing.items())
    title = f"Who did it? Seeds of {len(next(iter(accuracy.values())))} that know, {counted}"
    label = "right name likelier than the wrong one (% of questions; dashed: chance)"
    plots.draw_seed_dots(figure.subplots(), accuracy, title, label, {"chance": 50.0}, (40.0, 102.0))


def measure_lengths(
    workers: Workers, scale: Scale = LENGTHS_SCALE, versions: Sequence[str] = BEYOND
) -> Results:
    """Measure the loss up to four windows, of small models trained on one.

    returns   settings, {"loss": version -> nats per token at each position, the mean of the seeds}, and
              {"change": version -> for each seed, what a longer text than the window changes, on the same
              characters}; a model that refuses positions past its window has its losses up to there, and no
              change
    """
    corpus, far = load_corpus("tales", scale.n_chars), 4 * scale.block_size
    config, objective = small_config(corpus, scale.block_size), NextToken(corpus, scale.block_size)

    def run(version: str, seed: int) -> dict[str, Any]:
        model, _ = train_from_seed(version, config, objective, TrainConfig(scale.steps, seed=seed))
        known = model.encoding.max_positions or far
        losses = metrics.loss_by_position(model, corpus.val, min(known, far), n_windows=256)
        if known < far:
            return {"loss": losses}
        change, _ = metrics.position_matched_change(model, corpus.val, far)
        return {"loss": losses, "change": round(change, 4)}

    found = by_measurement(sweep(versions, scale.seeds, run, workers), "loss", "change")
    loss = {version: np.mean(each, axis=0).round(4).tolist() for version, each in found["loss"].items()}
    return {**scale.settings(), "loss": loss, "change": found["change"]}


def draw_lengths(figure: Figure, results: Results) -> None:
    """Draw loss by position four times further than any model was trained, and the longer text's change."""
    curve, change = figure.subplots(1, 2, width_ratios=(1.2, 1.0))
    curves = {name: np.array(losses) for name, losses in results["loss"].items()}
    far = {name: np.mean(seeds) for name, seeds in results["change"].items()}
    calm = min(far, key=lambda name: abs(far[name]))
    plots.draw_by_position(curve, curves, results["block_size"], f"Past the window {calm} changes least")
    title = f"The same characters, read with more text: {calm} {far[calm]:+.2f} nats"
    label = "change of the loss (nats per character)"
    plots.draw_seed_dots(change, results["change"], title, label, {"": 0.0})
