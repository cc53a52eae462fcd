"""Study of answers: which of two names is likelier, and whether the model writes it, letter by letter."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import babygpt_live as live
from babygpt import NextToken, TrainConfig, load_corpus, metrics
from babygpt.data.corpus import Corpus
from babygpt.experiments.paired import by_measurement, percent
from babygpt.experiments.sweep import (
    MORE_SEEDS,
    StudySize,
    Workers,
    questions,
    small_config,
    sweep,
    train_from_seed,
)
from babygpt.models.language_model import LanguageModel
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_dots

VERSION = "v4"
WORLD = "plain-tales"
SCALE = StudySize(steps=1800, seeds=MORE_SEEDS)


def measure_answers(model: LanguageModel, corpus: Corpus, n_questions: int) -> Results:
    """Measure both scores, the loss of each letter of an answer, and what each head adds.

    n_questions  the model is asked; half of them again for each head that is silenced
    returns      "accuracy", of the likelier name; "vowel" and "third", the same of ten times as many
                 questions where names begin alike and differ in the vowel only, or in the third letter;
                 "whole", of the name that is written; "letters", losses in nats; "without": accuracy for each
                 layer and head
    """
    many = questions(corpus, model.config.block_size, 10 * n_questions)
    alike = [q for q in many if q.answer[0] == q.rival[0]]
    vowel = [q for q in alike if q.answer[2:] == q.rival[2:]]
    third = [q for q in alike if q.answer[2:] != q.rival[2:]]
    quiz, fewer, tokenizer = many[:n_questions], many[: n_questions // 2], corpus.tokenizer
    right = metrics.role_accuracy
    return {
        "accuracy": right(model, tokenizer, quiz),
        "vowel": right(model, tokenizer, vowel) if vowel else None,
        "third": right(model, tokenizer, third) if third else None,
        "whole": metrics.whole_answer_accuracy(model, tokenizer, quiz),
        "letters": [round(float(x), 4) for x in metrics.answer_losses(model, tokenizer, quiz)],
        "without": metrics.ablate_heads(model, lambda m: right(m, tokenizer, fewer)).round(4).tolist(),
    }


def measure_names(workers: Workers, scale: StudySize = SCALE) -> Results:
    """Train v4 for few and for many steps; compare which name is likelier with what the model writes itself.

    The shape is that of notebook 04a: 2 layers, width 96, windows of 64.

    returns   settings, and measurement -> arm -> one value a seed, as `measure_answers` and val_loss
    """
    corpus = load_corpus(WORLD, scale.n_chars)
    steps_of = {f"{VERSION}, {WORLD}, {steps} steps": steps for steps in (scale.steps // 4, scale.steps)}
    config, objective = small_config(corpus, scale.block_size), NextToken(corpus, scale.block_size)

    def run(name: str, seed: int) -> Results:
        plan = TrainConfig(steps_of[name], seed=seed)
        model, history = train_from_seed(VERSION, config, objective, plan, name)
        numbers = measure_answers(model, corpus, scale.n_questions)
        return {**numbers, "val_loss": round(history[-1].val_loss or objective.validate(model), 4)}

    numbers = by_measurement(sweep(steps_of, scale.seeds, run, workers))
    settings = {"questions": scale.n_questions, "ablated": scale.n_questions // 2}
    return {
        "seeds": list(scale.seeds),
        **settings,
        "floor": {WORLD: round(corpus.floor or 0.0, 4)},
        **numbers,
    }


def draw_names(figure: Figure, results: Results) -> None:
    """Draw both scores of every run beside each other, and the loss of each letter of an answer."""
    scores, letters = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
    likelier, written = percent(results["accuracy"]), percent(results["whole"])
    first = next(iter(likelier))
    ranges = [f"{min(seeds[first]):.0f} to {max(seeds[first]):.0f}%" for seeds in (likelier, written)]
    title = f"{first}: {ranges[0]} known, {ranges[1]} written"
    label = "● right name the likelier of two, ○ right name written (% of questions)"
    draw_seed_dots(scores, likelier, title, label, span=(-2.0, 102.0), rings=written)
    draw_letters(letters, results["letters"])


def draw_letters(ax: Axes, letters: Mapping[str, Sequence[Sequence[float]]]) -> None:
    """Draw the loss of each letter of an answer, a line for each seed, and that of a guess among vowels."""
    for (name, seeds), colour in zip(letters.items(), live.COLOURS.values(), strict=False):
        for i, losses in enumerate(seeds):
            ax.plot(losses, "o-", lw=1.5, ms=5, alpha=0.8, color=colour, label=None if i else name)
    ax.axhline(np.log(5), color="black", lw=1, ls="--", label="a guess among five vowels: ln 5")
    hardest = np.mean(next(iter(letters.values())), axis=0)
    ax.set_xticks(range(len(hardest)), [*map(str, range(1, len(hardest))), "end"])
    title = f"Letter {1 + int(hardest.argmax())} of the name is the hardest"
    live.set_labels(ax, title, "letter of the answer, a line for each seed", "loss (nats)")
    ax.legend(fontsize=9, loc="upper right", bbox_to_anchor=(1, 0.93))
