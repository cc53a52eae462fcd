"""What is done in the copy of a process before its command: no test can wait for a study of minutes."""

from __future__ import annotations

import resource
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import from_text
from babygpt.objectives import NextToken
from babygpt.training import Training
from babygpt_course.notes import scorer
from babygpt_course.studies import figures
from babygpt_course.studies.results import Results
from babygpt_course.studies.sweep import sweep, train_from_seed

TEXT = "the cat sat on the mat. " * 40
FIGURE_STEPS = 3  # of each model of the small figure


def small_pictures() -> None:
    """Let every picture be one blank inch, for to draw takes a second."""
    savefig = Figure.savefig
    Figure.savefig = lambda self, *to, **how: savefig(Figure((1, 1)), *to, **how)  # type: ignore


def starve(step: int = 3) -> None:
    """Let the memory be too small for a step's tensors from the given one on, by the system's own limit."""
    make_step = Training.make_step

    def make_step_in_need(self: Training, *given: Any) -> Any:
        if self.step + 1 >= step:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + 2**24, used + 2**24))
            torch.empty(2**28)
        return make_step(self, *given)

    Training.make_step = make_step_in_need  # type: ignore[method-assign]


def one_claim() -> None:
    """Let a note claim but one thing."""
    claims = import_module("babygpt_course.commands.claims")
    every = claims.claims_of
    claims.claims_of = lambda *note: every(*note)[:1]  # type: ignore[attr-defined]


def small_judge() -> None:
    """Let the judge be as small as the other models."""
    scorer.ModelConfig = partial(ModelConfig, n_layer=1, n_head=2, n_embd=16)  # type: ignore[misc]
    scorer.BLOCK_SIZE = 16


def small_figure(steps: int = FIGURE_STEPS) -> None:
    """Let a figure's models be the smallest there are, and its picture too."""
    corpus = from_text("text", TEXT)
    config = ModelConfig(corpus.tokenizer.vocab_size, block_size=16, n_layer=1, n_head=2, n_embd=16)

    def run(version: str, seed: int) -> dict[str, Any]:
        plan = TrainConfig(steps, batch_size=4, seed=seed)
        _, history = train_from_seed(version, config, NextToken(corpus, 16), plan)
        return {"loss": history[-1].val_loss}

    def draw(figure: Figure, results: Results) -> None:
        assert results["v4"]["loss"]

    small_pictures()
    study = figures.Study(draw, lambda workers: sweep(("v3", "v4"), (1, 2), run, workers))
    figures.FIGURES["roles"] = study


def endless_figure() -> None:
    """The same, with steps that never end."""
    small_figure(10**9)
