"""Study of models that fill in holes: they do not answer *who* questions, which training seldom asks."""

from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import NextToken, TrainConfig, build, load_corpus, metrics, plots
from babygpt.data.batches import IGNORED
from babygpt.data.corpus import Corpus
from babygpt.data.stories import Question
from babygpt.data.tokenizer import CharTokenizer
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import MaskedDiffusion, Objective
from babygpt.objectives.diffusion import denoise, mask_token_id
from babygpt.objectives.objective import Batch
from babygpt_course.studies.paired import by_measurement, percent
from babygpt_course.studies.results import Results
from babygpt_course.studies.sweep import Scale, Workers, questions, small_config, sweep, train_with_curve

ARMS = {
    "letters": ("v7", "v7, holes are letters"),
    "letters, RoPE": ("v7-rope", "RoPE, holes are letters"),
    "words, RoPE": ("v7-rope", "RoPE, holes are words"),
    "next letter": ("v4", "RoPE, asked for the next letter: v4"),
}  # name -> version, label; the last is the control that needs no holes
POINTS = 6  # of a curve
SCALE = Scale(steps=3000, seeds=(1337,), n_questions=100)


class WordHoles(MaskedDiffusion):
    """Masked diffusion that loses whole words instead of letters.

    A word is a run of letters, and every other character is one of its own. A word is masked with its
    window's probability, so that as many characters are masked as otherwise; validation is unchanged.

    corpus, block_size, val_windows  as in `MaskedDiffusion`
    Source: Devlin et al. 2018, arXiv:1810.04805 (whole word masking, in its later release).
    """

    def __init__(self, corpus: Corpus, block_size: int, val_windows: int = 1) -> None:
        super().__init__(corpus, block_size, val_windows)
        self.is_letter = torch.tensor([char.isalpha() for char in corpus.tokenizer.characters])

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        """Draw windows at random, and mask words in them: inputs, targets, rates."""
        idx, targets, rates = super().batch(batch_size, generator)
        windows = torch.where(targets == IGNORED, idx, targets)
        masked = self.word_masks(windows, rates, generator)
        return windows.masked_fill(masked, self.mask_id), windows.masked_fill(~masked, IGNORED), rates

    def word_masks(self, windows: Tensor, rates: Tensor, generator: torch.Generator) -> Tensor:
        """Return which characters to mask, whole words at a time: (B, T) token ids, (B,) rates -> (B, T)."""
        letter = self.is_letter[windows]
        begins = torch.ones_like(letter)
        begins[:, 1:] = ~(letter[:, 1:] & letter[:, :-1])
        lots = torch.rand(windows.shape, generator=generator)
        return lots.gather(1, begins.cumsum(dim=1) - 1) < rates[:, None]


@torch.inference_mode()
def hidden_answers(model: LanguageModel, tokenizer: CharTokenizer, asked: Sequence[Question]) -> np.ndarray:
    """Return the log-probability of both answers, their letters' added up, if the whole answer is masked.

    A model that was trained to fill in whole words can be asked this; `answer_bounds` masks parts of a name.

    returns  (Q, 2)  nats; the right answer first
    """
    found = np.zeros((len(asked), 2))
    for row, q in enumerate(asked):
        text = tokenizer.encode(q.prompt + q.answer + q.end)
        at = slice(len(q.prompt), len(q.prompt) + len(q.answer))
        text[at] = mask_token_id(model)
        chances = denoise(model, text[None])[0, at].log_softmax(dim=-1)
        for column, name in enumerate((q.answer, q.rival)):
            found[row, column] = float(chances.gather(-1, tokenizer.encode(name)[:, None]).sum())
    return found


def share_of_asking(hidden: int, visible: int) -> float:
    """Return how often all of some units are masked and none of some others, if the rate is drawn evenly.

    The integral of t^hidden (1 - t)^visible over t from 0 to 1.

    hidden   number of units (letters or words) that have to be masked
    visible  number of units that have to be left
    """
    return 1 / ((hidden + visible + 1) * comb(hidden + visible, hidden))


def measure_who(workers: Workers, scale: Scale = SCALE, arms: Sequence[str] = tuple(ARMS)) -> Results:
    """Train models that fill in, and one that predicts the next letter, on as many losses; ask them *who*.

    steps    of the models that fill in, a multiple of 2 POINTS; the other has half of them, since each of
             its characters is asked for and of theirs every second
    returns  settings; "asked": losses at each point; "roles": arm -> for each seed, share of right answers
             at each point, by exact bounds where a model fills in; "hidden": the same at the end, if all
             letters of an answer are masked; "val_loss": arm -> one a seed, v4's of the next letter
    """
    length = scale.block_size
    corpora = {masks: load_corpus("plain-tales", scale.n_chars, with_mask=masks) for masks in (False, True)}
    asked = questions(corpora[False], length, scale.n_questions)
    letters = MaskedDiffusion(corpora[True], length, val_windows=1)
    by_arm: dict[str, Objective] = {
        "words, RoPE": WordHoles(corpora[True], length),
        "next letter": NextToken(corpora[False], length),
    }

    def run(arm: str, seed: int) -> dict[str, Any]:
        masks, objective = arm != "next letter", by_arm.get(arm, letters)
        corpus, steps = corpora[masks], scale.steps if masks else scale.steps // 2
        score = metrics.answer_bounds if masks else metrics.answer_log_probs

        def right(model: LanguageModel) -> float:
            return metrics.role_accuracy(model, corpus.tokenizer, asked, score)

        torch.manual_seed(seed)
        model, plan = build(ARMS[arm][0], small_config(corpus, length)), TrainConfig(steps, 16, seed=seed)
        title, every = f"{arm}, seed {seed}", steps // POINTS
        curve, history = train_with_curve(model, objective, plan, title, every, right)
        found = {"roles": curve, "val_loss": round(float(history[-1].val_loss or 0.0), 4)}
        if masks:
            found["hidden"] = metrics.role_accuracy(model, corpus.tokenizer, asked, hidden_answers)
        return found

    found = by_measurement(sweep(arms, scale.seeds, run, workers))
    points = [16 * length // 2 * scale.steps * (i + 1) // POINTS for i in range(POINTS)]
    return {**scale.settings(), "questions": len(asked), "asked": points, **found}


def draw_who(figure: Figure, results: Results) -> None:
    """Draw the right answers of each arm at the end, a dot for each seed.

    A model of whole words is drawn with its answers to wholly masked ones.
    """
    last = {arm: [curve[-1] for curve in seeds] for arm, seeds in results["roles"].items()}
    last |= {arm: results["hidden"][arm] for arm in last if arm.startswith("words")}
    rows = percent({ARMS[arm][1]: seeds for arm, seeds in last.items()})
    title = f"After {results['asked'][-1] / 1e6:.1f} million losses each"
    marks = {"chance": 50.0}
    span = (30.0, 103.0)
    plots.draw_seed_dots(figure.subplots(), rows, title, "right answers (%)", marks, span, means=True)
