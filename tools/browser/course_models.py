"""The v4 of notebook 04a and the v7 of notebook 07b, for benchmarks and screenshots."""

import torch

from babygpt.config import TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.data.tokenizer import CharTokenizer
from babygpt.experiments.sweep import questions, small_config
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import build
from babygpt.objectives import MaskedDiffusion, NextToken
from babygpt.training import follow
from babygpt.training import train as train_quietly
from babygpt_course.explorers import heads, roles
from babygpt_live import Run, Scale, Watch, train

BLOCK_SIZE = 64
N_CHARS = 400_000  # characters of stories
THETA = Scale("theta", 10_000.0, 10.0, 1_000_000.0, "θ")


def untrained_v4(corpus: Corpus) -> LanguageModel:
    """Build the v4 of notebook 04a, untrained."""
    torch.manual_seed(1337)
    return build("v4", small_config(corpus, BLOCK_SIZE))


def train_live(model: LanguageModel, corpus: Corpus, steps: int) -> Run:
    """Train in the background as notebook 04a does.

    The dashboard shows the loss and its floors, right answers to two dozen questions about who did what, all
    heads on the first of them, and a slider for theta.
    """
    story_questions = questions(corpus, BLOCK_SIZE, 24)
    watches: list[Watch] = [
        roles(corpus.tokenizer, story_questions),
        heads(corpus.tokenizer, story_questions[0].prompt.strip("\n"), answer=story_questions[0].answer),
    ]
    floors = {"bigram floor": corpus.bigram_floor or 0.0, "entropy floor": corpus.floor or 0.0}
    objective, config = NextToken(corpus, BLOCK_SIZE), TrainConfig(steps=steps)
    return train(model, objective, config, "v4", floors, watches, [THETA])


def trained_v7(steps: int = 500) -> tuple[LanguageModel, CharTokenizer]:
    """Train a v7 to fill in (half a minute), and return it with its tokenizer."""
    corpus = load_corpus("plain-tales", N_CHARS, with_mask=True)
    torch.manual_seed(1337)
    model = build("v7", small_config(corpus, BLOCK_SIZE))
    objective = MaskedDiffusion(corpus, BLOCK_SIZE, val_windows=1)
    follow(train_quietly(model, objective, TrainConfig(steps)), steps, "v7", leave=False)
    return model, corpus.tokenizer
