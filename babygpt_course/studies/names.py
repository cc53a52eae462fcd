"""Studies of answers: which of two names is likelier, and whether the model writes it, letter by letter."""

import random
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from babygpt import ModelConfig, NextToken, TrainConfig, load_corpus, metrics, plots
from babygpt.data.batches import cut
from babygpt.data.corpus import Corpus
from babygpt.data.grammar import Grammar
from babygpt.data.stories import END, Slot
from babygpt.memory import portions
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import cross_entropy
from babygpt_course.studies.paired import by_measurement, percent
from babygpt_course.studies.results import Results
from babygpt_course.studies.sweep import (
    MORE_SEEDS,
    Scale,
    Workers,
    questions,
    small_config,
    sweep,
    train_from_seed,
)

TEXT_SEED = 3  # of the text whose loss is split into parts
VERSION, WORLD = "v4", "plain-tales"
SCALE = Scale(steps=1800, seeds=MORE_SEEDS)
KNOWS = 0.8  # share of right answers from which a model counts as one that knows who did it
ROLES_SCALE = Scale(steps=600, n_chars=1_000_000, block_size=192)


def measure_roles(
    workers: Workers, scale: Scale = ROLES_SCALE, versions: Sequence[str] = ("nope", "learned", "v3", "v4")
) -> Results:
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

    found = by_measurement(sweep(versions, scale.seeds, run, workers))
    return {**scale.settings(), "floor": corpus.floor, **found}


def draw_roles(figure: Figure, results: Results) -> None:
    """Draw the role accuracy of each model, a dot for each seed."""
    accuracy = percent(results["accuracy"])
    knowing = {name: sum(share > 100 * KNOWS for share in seeds) for name, seeds in accuracy.items()}
    counted = ", ".join(f"{name}: {n}" for name, n in knowing.items())
    title = f"Who did it? Seeds of {len(next(iter(accuracy.values())))} that know, {counted}"
    label = "right name likelier than the wrong one (% of questions; dashed: chance)"
    plots.draw_seed_dots(figure.subplots(), accuracy, title, label, {"chance": 50.0}, (40.0, 102.0))


def parts_of_stories(grammar: Grammar, n_chars: int, seed: int) -> tuple[str, np.ndarray, np.ndarray]:
    """Write stories, and label each character with its part and the beginning of its story.

    A *new word* is one that its story has not bound yet; a *repeated word* stood there before; an *answer*
    is a word that a question asks for; all else is the *frame*.

    n_chars  at least that many characters
    returns  the text, (N,) names of parts, (N,) the position at which each one's story begins
    """
    rng, text = random.Random(seed), ""
    parts: list[str] = []
    begins: list[int] = []
    while len(text) < n_chars:
        story, known, begin = grammar.sample(rng), set[str](), len(text)
        for item, piece in (*story.pieces, (END, END)):
            part = "frame"
            if isinstance(item, Slot):
                part = "answer" if item.rival else "repeated word" if piece in known else "new word"
                known.add(piece)
            text += piece
            parts += [part] * len(piece)
        begins += [begin] * (len(text) - begin)
    return text, np.array(parts), np.array(begins)


@torch.inference_mode()
def loss_by_part(model: LanguageModel, corpus: Corpus, n_windows: int = 256) -> dict[str, float]:
    """Split the loss of windows that are cut anywhere among the parts of the stories in them.

    returns   part -> nats that it adds to the mean loss of a character, and "story cut off" for all parts of
              the story that the window's beginning has cut; they sum to the loss
    """
    assert corpus.grammar is not None
    length = model.config.block_size
    text, parts, begins = parts_of_stories(corpus.grammar, 40 * n_windows + length, TEXT_SEED)
    starts = torch.linspace(0, len(text) - length - 1, n_windows).long()
    windows = cut(corpus.tokenizer.encode(text), starts, length + 1)
    each = [cross_entropy(model(w[:, :-1]), w[:, 1:]) for (w,) in portions(model, windows, at_most=16)]
    losses = torch.cat(each).double().numpy()
    at = starts[:, None].numpy() + 1 + np.arange(length)  # (n_windows, length), where each target stands
    part = np.where(begins[at] < starts[:, None].numpy(), "story cut off", parts[at])
    return {str(name): float(losses[part == name].sum() / losses.size) for name in np.unique(part)}


def measure_answers(model: LanguageModel, corpus: Corpus, n_questions: int) -> Results:
    """Measure both scores, the loss of each letter of an answer and of each part, and what each head adds.

    n_questions  the model is asked; a quarter of them again for each head that is silenced
    returns      "accuracy", of the likelier name; "alike", the same where both names begin with one letter,
                 of ten times as many questions; "whole", of the name that is written; "letters" and "parts",
                 losses in nats; "without": accuracy for each layer and head that is silenced
    """
    many = questions(corpus, model.config.block_size, 10 * n_questions)
    alike = [q for q in many if q.answer[0] == q.rival[0]]
    asked, fewer, tokenizer = many[:n_questions], many[: n_questions // 4], corpus.tokenizer
    right = metrics.role_accuracy
    return {
        "accuracy": right(model, tokenizer, asked),
        "alike": right(model, tokenizer, alike) if alike else None,
        "whole": metrics.whole_answer_accuracy(model, tokenizer, asked),
        "letters": [round(float(x), 4) for x in metrics.answer_losses(model, tokenizer, asked)],
        "parts": {name: round(x, 4) for name, x in loss_by_part(model, corpus).items()},
        "without": metrics.ablate_heads(model, lambda m: right(m, tokenizer, fewer)).round(4).tolist(),
    }


def measure_names(workers: Workers, scale: Scale = SCALE) -> Results:
    """Train v4 for few and for many steps; compare which name is likelier with what the model writes itself.

    The shape is that of notebook 04: 2 layers, width 96, windows of 64.

    returns   settings, and measurement -> arm -> one value a seed, as `measure_answers` and val_loss
    """
    corpus = load_corpus(WORLD, scale.n_chars)
    steps_of = {f"{VERSION}, {WORLD}, {steps} steps": steps for steps in (scale.steps // 4, scale.steps)}
    config, objective = small_config(corpus, scale.block_size), NextToken(corpus, scale.block_size)

    def run(name: str, seed: int) -> Results:
        plan = TrainConfig(steps_of[name], seed=seed)
        model, history = train_from_seed(VERSION, config, objective, plan, name)
        found = measure_answers(model, corpus, scale.n_questions)
        return {**found, "val_loss": round(history[-1].val_loss or objective.validate(model), 4)}

    found = by_measurement(sweep(steps_of, scale.seeds, run, workers))
    asked = {"questions": scale.n_questions, "ablated": scale.n_questions // 4}
    return {"seeds": list(scale.seeds), **asked, "floor": {WORLD: round(corpus.floor or 0.0, 4)}, **found}


def draw_names(figure: Figure, results: Results) -> None:
    """Draw both scores of every run beside each other, and the loss of each letter of an answer."""
    scores, letters = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
    known, written = percent(results["accuracy"]), percent(results["whole"])
    first = next(iter(known))
    ranges = [f"{min(seeds[first]):.0f} to {max(seeds[first]):.0f}%" for seeds in (known, written)]
    title = f"{first}: {ranges[0]} known, {ranges[1]} written"
    label = "● right name the likelier of two, ○ right name written (% of questions)"
    plots.draw_seed_dots(scores, known, title, label, span=(-2.0, 102.0), rings=written)
    draw_letters(letters, results["letters"])


def draw_letters(ax: Axes, letters: Mapping[str, Sequence[Sequence[float]]]) -> None:
    """Draw the loss of each letter of an answer, a line for each seed, and that of a guess among vowels."""
    for (name, seeds), colour in zip(letters.items(), plots.COLOURS.values(), strict=False):
        for i, losses in enumerate(seeds):
            ax.plot(losses, "o-", lw=1.5, ms=5, alpha=0.8, color=colour, label=None if i else name)
    ax.axhline(np.log(5), color="black", lw=1, ls="--", label="a guess among five vowels: ln 5")
    hardest = np.mean(next(iter(letters.values())), axis=0)  # of the first arm
    ax.set_xticks(range(len(hardest)), [*map(str, range(1, len(hardest))), "end"])
    title = f"Letter {1 + int(hardest.argmax())} of the name is the hardest"
    plots.artists.set_labels(ax, title, "letter of the answer, a line for each seed", "loss (nats)")
    ax.legend(fontsize=9, loc="center right")
