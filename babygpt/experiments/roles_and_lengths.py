"""Two studies on the tales: who did it, by models with and without a code for order; and past the window."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import QUESTION_SEED, Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.experiments.results import Results
from babygpt.experiments.sweep import SEEDS, by_measurement, sweep, train_from_seed
from babygpt.metrics.next_token import loss_by_position, role_accuracy
from babygpt.objectives import NextToken

IN_WINDOW = ("nope", "learned", "v3", "v4")
BEYOND = (*IN_WINDOW, "alibi")


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
    title = "Who did it? Without a code for order, a model can hardly tell"
    plots.draw_accuracy_bars(figure.subplots(), results["accuracy"], title)


def measure_lengths(
    versions: tuple[str, ...] = BEYOND,
    steps: int = 300,
    block_size: int = 64,
    seed: int = 1337,
    n_chars: int = 1_000_000,
) -> Results:
    """Loss at every position up to 4 x block_size, of models trained on windows of block_size.

    returns   settings and {"loss": version -> nats per token at each position}; the list of a model
              that refuses positions past its window ends there
    """
    corpus = load_corpus("tales", n_chars)
    config = ModelConfig(corpus.tokenizer.vocab_size, block_size)
    objective = NextToken(corpus, block_size)

    def run(version: str, seed: int) -> dict[str, list[float]]:
        model, _ = train_from_seed(version, config, objective, TrainConfig(steps=steps, seed=seed))
        known = model.encoding.max_positions or 4 * block_size
        losses = loss_by_position(model, corpus.val, min(known, 4 * block_size))
        return {"loss": [round(float(x), 4) for x in losses]}

    loss = {version: found["loss"][0] for version, found in sweep(versions, (seed,), run).items()}
    return {"steps": steps, "seed": seed, "block_size": block_size, "loss": loss}


def draw_lengths(figure: Figure, results: Results) -> None:
    """Loss by position, four times further than any model was trained."""
    curves = {name: np.array(losses) for name, losses in results["loss"].items()}
    title = "Past the window, only a code that forgets stays calm"
    plots.draw_by_position(figure.subplots(), curves, results["block_size"], title)
