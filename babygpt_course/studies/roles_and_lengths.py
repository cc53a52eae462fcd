"""Two studies on the tales: who did it, by models with and without a code for order; and past the window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import QUESTION_SEED, Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.metrics.answers import role_accuracy
from babygpt.metrics.next_token import loss_by_position, position_matched_change
from babygpt.objectives import NextToken
from babygpt_course.studies.results import Results
from babygpt_course.studies.sweep import SEEDS, by_measurement, small_config, sweep, train_from_seed

IN_WINDOW = ("nope", "learned", "v3", "v4")
BEYOND = (*IN_WINDOW, "alibi")
KNOWS = 0.8  # share of right answers from which a model counts as one that knows who did it


def questions(corpus: Corpus, block_size: int, n: int) -> list[Any]:
    """The who questions that all models are asked: n of them, none longer than a window.

    Raises BadInput for a corpus that asks none.
    """
    if corpus.grammar is None:
        raise BadInput(f"{corpus.name} asks no who questions; tales and tales-zh do")
    return corpus.grammar.questions(n, QUESTION_SEED, block_size)


def measure_roles(
    versions: tuple[str, ...] = IN_WINDOW,
    seeds: tuple[int, ...] = SEEDS,
    steps: int = 600,
    n_chars: int = 1_000_000,
    n_questions: int = 400,
) -> Results:
    """Role accuracy and validation loss of each version and seed after the same steps.

    returns   settings, {"accuracy": version -> one number a seed}, {"val_loss": likewise}
    """
    corpus = load_corpus("tales", n_chars)
    config = ModelConfig(corpus.tokenizer.vocab_size, block_size=192)
    objective, asked = NextToken(corpus, config.block_size), questions(corpus, config.block_size, n_questions)

    def run(version: str, seed: int) -> dict[str, float]:
        model, history = train_from_seed(version, config, objective, TrainConfig(steps=steps, seed=seed))
        accuracy = role_accuracy(model, corpus.tokenizer, asked)
        return {"accuracy": accuracy, "val_loss": history[-1].val_loss or objective.validate(model)}

    settings = {"steps": steps, "seeds": seeds, "block_size": config.block_size, "floor": corpus.floor}
    return {**settings, **by_measurement(sweep(versions, seeds, run), "accuracy", "val_loss")}


def draw_roles(figure: Figure, results: Results) -> None:
    """Role accuracy of each model, a dot for each seed."""
    accuracy = {name: [100 * share for share in seeds] for name, seeds in results["accuracy"].items()}
    knowing = {name: sum(share > 100 * KNOWS for share in seeds) for name, seeds in accuracy.items()}
    counted = ", ".join(f"{name}: {n}" for name, n in knowing.items())
    title = f"Who did it? Seeds of {len(next(iter(accuracy.values())))} that know, {counted}"
    label = "right name likelier than the wrong one (% of questions; dashed: chance)"
    plots.draw_seed_dots(figure.subplots(), accuracy, title, label, {"chance": 50.0}, (40.0, 102.0))


def measure_lengths(
    versions: Sequence[str] = BEYOND,
    seeds: Sequence[int] = SEEDS,
    steps: int = 300,
    block_size: int = 64,
    n_chars: int = 1_000_000,
) -> Results:
    """Loss up to 4 x block_size, of small models trained on windows of block_size.

    returns   settings, {"loss": version -> nats per token at each position, the mean of the seeds}, and
              {"change": version -> for each seed, what a longer text than the window changes, on the same
              characters}; a model that refuses positions past its window has its losses up to there, and no
              change
    """
    corpus = load_corpus("tales", n_chars)
    config, objective = small_config(corpus, block_size), NextToken(corpus, block_size)

    def run(version: str, seed: int) -> dict[str, Any]:
        model, _ = train_from_seed(version, config, objective, TrainConfig(steps=steps, seed=seed))
        known = model.encoding.max_positions or 4 * block_size
        losses = loss_by_position(model, corpus.val, min(known, 4 * block_size), n_windows=256)
        if known < 4 * block_size:
            return {"loss": losses}
        change, _ = position_matched_change(model, corpus.val, 4 * block_size)
        return {"loss": losses, "change": round(change, 4)}

    found = by_measurement(sweep(versions, seeds, run), "loss", "change")
    loss = {version: np.mean(seeds, axis=0).round(4).tolist() for version, seeds in found["loss"].items()}
    return {
        "steps": steps,
        "seeds": list(seeds),
        "block_size": block_size,
        "loss": loss,
        "change": found["change"],
    }


def draw_lengths(figure: Figure, results: Results) -> None:
    """Loss by position four times further than any model was trained, and what the longer text changes."""
    curve, change = figure.subplots(1, 2, width_ratios=(1.2, 1.0))
    curves = {name: np.array(losses) for name, losses in results["loss"].items()}
    far = {name: np.mean(seeds) for name, seeds in results["change"].items()}
    calm = min(far, key=lambda name: abs(far[name]))
    title = f"Past the window {calm} changes least"
    plots.draw_by_position(curve, curves, results["block_size"], title)
    title = f"The same characters, read with more text: {calm} {far[calm]:+.2f} nats"
    plots.draw_seed_dots(
        change, results["change"], title, "change of the loss (nats per character)", {"": 0.0}
    )
