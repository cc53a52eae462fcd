"""A study of answers: does a model that knows who did it also write the name, letter by letter?"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.config import TrainConfig
from babygpt.data.batches import cut
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.data.grammar import Grammar
from babygpt.data.stories import END, Slot
from babygpt.memory import portions
from babygpt.metrics import ablate_heads
from babygpt.metrics.answers import answer_losses, role_accuracy, whole_answer_accuracy
from babygpt.models.base import LanguageModel
from babygpt.objectives import NextToken
from babygpt_course.studies.results import Results
from babygpt_course.studies.roles_and_lengths import questions
from babygpt_course.studies.sweep import SEEDS, by_measurement, small_config, sweep, train_from_seed

TEXT_SEED = 3  # of the text whose loss is split into parts
MEASURED = ("accuracy", "alike", "whole", "letters", "parts", "val_loss", "without", "whole_without")


@dataclass(frozen=True)
class Arm:
    """One way to train: a version, on which tales, for how many steps."""

    version: str
    world: str
    steps: int

    @property
    def name(self) -> str:
        return f"{self.version}, {self.world}, {self.steps} steps"


ARMS = (
    Arm("v4", "plain-tales", 450),
    Arm("v4", "plain-tales", 1800),
)


def parts_of_stories(grammar: Grammar, n_chars: int, seed: int) -> tuple[str, np.ndarray, np.ndarray]:
    """Write stories, and say of each character what it belongs to and where its story began.

    A *new word* is one that its story has not bound yet; a *repeated word* stood there before; an *answer*
    is a word that a question asks for; all else is the *frame*.

    n_chars  at least that many characters
    returns  the text, (N,) names of parts, (N,) the place of the first character of each one's story
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
    some_losses = [
        F.cross_entropy(model(some[:, :-1]).transpose(1, 2), some[:, 1:], reduction="none")
        for (some,) in portions(model, windows, at_most=16)
    ]
    losses = torch.cat(some_losses).double().numpy()
    at = starts[:, None].numpy() + 1 + np.arange(length)  # (n_windows, length), where each target stands
    part = np.where(begins[at] < starts[:, None].numpy(), "story cut off", parts[at])
    return {str(name): float(losses[part == name].sum() / losses.size) for name in np.unique(part)}


def measure_answers(model: LanguageModel, corpus: Corpus, n_questions: int, n_ablated: int) -> Results:
    """Both scores, the loss of each letter of an answer, where the loss lies, and both scores without a head.

    n_questions  the model is asked
    n_ablated    of them are asked again for each head that is silenced
    returns      "alike" is the accuracy where the two names begin with the same letter, of ten times as many
                 questions; the others are named as in MEASURED
    """
    many = questions(corpus, model.config.block_size, 10 * n_questions)
    alike = [q for q in many if q.answer[0] == q.rival[0]]
    asked, fewer, tokenizer = many[:n_questions], many[:n_ablated], corpus.tokenizer
    without = {
        "without": ablate_heads(model, lambda m: role_accuracy(m, tokenizer, fewer)),
        "whole_without": ablate_heads(model, lambda m: whole_answer_accuracy(m, tokenizer, fewer)),
    }
    return {
        "accuracy": role_accuracy(model, tokenizer, asked),
        "alike": role_accuracy(model, tokenizer, alike) if alike else None,
        "whole": whole_answer_accuracy(model, tokenizer, asked),
        "letters": [round(float(x), 4) for x in answer_losses(model, tokenizer, asked)],
        "parts": {name: round(x, 4) for name, x in loss_by_part(model, corpus).items()},
        **{name: scores.round(4).tolist() for name, scores in without.items()},
    }


def measure_names(
    arms: Sequence[Arm] = ARMS,
    seeds: Sequence[int] = SEEDS,
    n_chars: int = 400_000,
    n_questions: int = 400,
    n_ablated: int = 100,
) -> Results:
    """Train each arm from each seed; compare which name is likelier with what the model writes itself.

    The shape is that of notebook 04: 2 layers, width 96, windows of 64.

    n_chars   of each world's text
    returns   settings, and measurement -> arm -> one value a seed, as `measure_answers` and val_loss
    """
    worlds = {arm.world: load_corpus(arm.world, n_chars) for arm in arms}
    by_name = {arm.name: arm for arm in arms}

    def run(name: str, seed: int) -> Results:
        arm, corpus = by_name[name], worlds[by_name[name].world]
        config, plan = small_config(corpus, block_size=64), TrainConfig(steps=arm.steps, seed=seed)
        objective = NextToken(corpus, config.block_size)
        model, history = train_from_seed(arm.version, config, objective, plan, name)
        found = measure_answers(model, corpus, n_questions, n_ablated)
        return {**found, "val_loss": round(history[-1].val_loss or objective.validate(model), 4)}

    floors = {world: round(corpus.floor or 0.0, 4) for world, corpus in worlds.items()}
    settings = {"seeds": list(seeds), "questions": n_questions, "ablated": n_ablated, "floor": floors}
    return {**settings, **by_measurement(sweep(by_name, seeds, run), *MEASURED)}


def draw_names(figure: Figure, results: Results) -> None:
    """Both scores of every run beside each other, and the loss of each letter of an answer."""
    scores, letters = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
    known, written = (
        {name: [100 * share for share in seeds] for name, seeds in results[key].items()}
        for key in ("accuracy", "whole")
    )
    first = next(iter(known))
    ranges = [f"{min(seeds[first]):.0f} to {max(seeds[first]):.0f}%" for seeds in (known, written)]
    title = f"{first}: {ranges[0]} known, {ranges[1]} written"
    label = "● right name the likelier of two, ○ right name written (% of questions)"
    plots.draw_seed_dots(scores, known, title, label, span=(-2.0, 102.0), rings=written)
    draw_letters(letters, results["letters"])


def draw_letters(ax: Axes, letters: Mapping[str, Sequence[Sequence[float]]]) -> None:
    """Loss of each letter of an answer, a line for each seed, and where a guess among five vowels lies."""
    for (name, seeds), colour in zip(letters.items(), plots.COLOURS.values(), strict=False):
        for i, losses in enumerate(seeds):
            ax.plot(losses, "o-", lw=1.5, ms=5, alpha=0.8, color=colour, label=None if i else name)
    ax.axhline(np.log(5), color="black", lw=1, ls="--", label="a guess among five vowels: ln 5")
    hardest = np.mean(next(iter(letters.values())), axis=0)  # of the first arm
    ax.set_xticks(range(len(hardest)), [*map(str, range(1, len(hardest))), "end"])
    ax.set_title(f"Letter {1 + int(hardest.argmax())} of the name is the hardest")
    ax.set(xlabel="letter of the answer, a line for each seed", ylabel="loss (nats)")
    ax.legend(fontsize=9, loc="center right")
