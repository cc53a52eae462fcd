"""The v4 of notebook 04 and the v7 of notebook 07, for benchmarks and screenshots: the small world of short
stories, and the models."""

from __future__ import annotations

import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.data.tokenizer import CharTokenizer
from babygpt.experiments.roles import questions
from babygpt.live import Run, Scale, Watch, heads, roles, train
from babygpt.models.base import LanguageModel
from babygpt.models.versions import build
from babygpt.objectives import MaskedDiffusion, NextToken
from babygpt.training import follow
from babygpt.training import train as train_quietly

BLOCK_SIZE = 64
THETA = Scale("theta", 10_000.0, 10.0, 1_000_000.0, "θ")


def plain_tales(n_chars: int = 400_000) -> Corpus:
    """The stories of notebook 04."""
    return load_corpus("plain-tales", n_chars)


def fresh(corpus: Corpus) -> LanguageModel:
    """The model before its first step."""
    torch.manual_seed(1337)
    size = ModelConfig(corpus.tokenizer.vocab_size, BLOCK_SIZE, n_layer=2, n_head=4, n_embd=96)
    return build("v4", size)


def watches(corpus: Corpus) -> list[Watch]:
    """Right answers to two dozen questions, and all heads on the first of them."""
    asked = questions(corpus, BLOCK_SIZE, 24)
    return [roles(corpus.tokenizer, asked), heads(corpus.tokenizer, asked[0].prompt.strip())]


def under_a_dashboard(model: LanguageModel, corpus: Corpus, steps: int) -> Run:
    """Train it as the notebook does, with a dial for theta."""
    floors = {"bigram floor": corpus.bigram_floor or 0.0, "entropy floor": corpus.floor or 0.0}
    objective, config = NextToken(corpus, BLOCK_SIZE), TrainConfig(steps=steps)
    return train(model, objective, config, "v4", floors, watches(corpus), [THETA])


def filler(steps: int = 500) -> tuple[LanguageModel, CharTokenizer]:
    """A v7 that has learned to fill in (half a minute), and its tokenizer."""
    corpus = load_corpus("plain-tales", 400_000, with_mask=True)
    torch.manual_seed(1337)
    size = ModelConfig(corpus.tokenizer.vocab_size, BLOCK_SIZE, n_layer=2, n_head=4, n_embd=96)
    model, objective = build("v7", size), MaskedDiffusion(corpus, BLOCK_SIZE, val_windows=1)
    follow(train_quietly(model, objective, TrainConfig(steps)), steps, "v7", leave=False)
    return model, corpus.tokenizer
