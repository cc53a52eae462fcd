"""PoPE beside RoPE from left to right, with the course's normalised queries and keys and without."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import plots
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.metrics.answers import role_accuracy
from babygpt.metrics.next_token import loss_by_position
from babygpt.models.base import LanguageModel
from babygpt.models.transformer import SHARPNESS, Attention, Block, Context
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.training import finish, train
from babygpt_course.studies.results import Results
from babygpt_course.studies.roles_and_lengths import questions
from babygpt_course.studies.sweep import SEEDS, by_measurement, small_config, sweep

ENCODINGS = {"v4": "RoPE", "pope": "PoPE"}


class Unnormalised(Attention):
    """Queries and keys straight from their matrices, at the plain scale of 1/sqrt(D)."""

    def qkv(self, x: Tensor, context: Context) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = (
            project(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2)  # (B, H, T, D)
            for project in (self.to_q, self.to_k, self.to_v)
        )
        q, k = context.encoding.transform_qk(q, k, context.positions)
        return q / SHARPNESS, k, v


BODIES: dict[str, type[Attention]] = {
    "normalised": Attention,
    "unnormalised": Unnormalised,
}
LABELS = {"normalised": "as here", "unnormalised": "no norm of q, k"}


def build_model(version: str, body: str, config: ModelConfig) -> LanguageModel:
    """An untrained model of a version, with the attention of one of BODIES and the same weights."""
    model = build(version, config)
    for block in [part for part in model.modules() if isinstance(part, Block)]:
        attention = BODIES[body](config)
        attention.load_state_dict(block.attention.state_dict())
        block.attention = attention
    return model


def measure_pope(
    versions: Sequence[str] = tuple(ENCODINGS),
    bodies: Sequence[str] = tuple(BODIES),
    seeds: tuple[int, ...] = SEEDS,
    steps: int = 600,
    block_size: int = 64,
    n_chars: int = 400_000,
    n_questions: int = 200,
) -> Results:
    """Train each encoding in each kind of attention, as on the board: the same windows, steps and rates.

    returns  settings; "loss" (nats per character of the validation text, in windows) and "roles" (share of
             right answers): body -> version -> one a seed
    """
    corpus = load_corpus("plain-tales", n_chars)
    config, objective = small_config(corpus, block_size), NextToken(corpus, block_size)
    asked = questions(corpus, block_size, n_questions)

    def run(arm: tuple[str, str], seed: int) -> dict[str, Any]:
        plan = TrainConfig(steps, seed=seed)
        torch.manual_seed(seed)
        model = build_model(arm[1], arm[0], config)
        finish(train(model, objective, plan), steps, f"{arm[1]}, {arm[0]}, seed {seed}")
        n = (len(corpus.val) - 1) // block_size
        return {
            "loss": round(float(loss_by_position(model, corpus.val, block_size, n).mean()), 4),
            "roles": role_accuracy(model, corpus.tokenizer, asked),
        }

    found = sweep([(body, version) for body in bodies for version in versions], seeds, run)
    settings = {"steps": steps, "seeds": list(seeds), "block_size": block_size, "floor": corpus.floor}
    measured = {
        name: {body: {v: each[body, v] for v in versions} for body in bodies}
        for name, each in by_measurement(found, "loss", "roles").items()
    }
    return {**settings, **measured}


def gaps(results: Results) -> dict[str, list[float]]:
    """How much higher PoPE's loss is than RoPE's: body -> nats per character, one a seed."""
    return {
        body: [round(pope - rope, 4) for rope, pope in zip(each["v4"], each["pope"], strict=True)]
        for body, each in results["loss"].items()
    }


def draw_pope(figure: Figure, results: Results) -> None:
    """The loss of each seed: both encodings in each kind of attention."""
    rows = {
        f"{ENCODINGS[version]}, {LABELS[body]}": seeds
        for body, each in results["loss"].items()
        for version, seeds in each.items()
    }
    found = {body: mean(each) for body, each in gaps(results).items()}
    title = "PoPE minus RoPE: " + ", ".join(f"{LABELS[body]} {gap:+.2f}" for body, gap in found.items())
    plots.draw_seed_rows(figure.subplots(), rows, title, "loss (nats per character)")
