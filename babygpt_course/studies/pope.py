"""Study of PoPE beside RoPE from left to right, with and without normalised queries and keys."""

from __future__ import annotations

from statistics import mean
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import plots
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.metrics.answers import role_accuracy
from babygpt.metrics.losses import loss_by_position
from babygpt.models.language_model import LanguageModel
from babygpt.models.transformer import SHARPNESS, Attention, Block, Context
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.training import finish, train
from babygpt_course.studies.paired import by_measurement
from babygpt_course.studies.results import Results
from babygpt_course.studies.roles_and_lengths import questions
from babygpt_course.studies.sweep import Scale, Workers, in_turn, small_config, sweep

ENCODINGS = {"v4": "RoPE", "pope": "PoPE"}
SCALE = Scale(steps=600, n_questions=200)


class Unnormalised(Attention):
    """Queries and keys straight from their matrices, at the plain scale of 1/sqrt(D)."""

    def qkv(self, x: Tensor, context: Context) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = (
            project(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2)  # (B, H, T, D)
            for project in (self.to_q, self.to_k, self.to_v)
        )
        q, k = context.encoding.transform_qk(q, k, context.positions)
        return q / SHARPNESS, k, v


BODIES: dict[str, type[Attention]] = {"normalised": Attention, "unnormalised": Unnormalised}
LABELS = {"normalised": "as here", "unnormalised": "no norm of q, k"}


def build_with_body(version: str, body: str, config: ModelConfig) -> LanguageModel:
    """Return an untrained model of a version, with the attention of one of BODIES and the same weights."""
    model = build(version, config)
    for block in [part for part in model.modules() if isinstance(part, Block)]:
        attention = BODIES[body](config)
        attention.load_state_dict(block.attention.state_dict())
        block.attention = attention
    return model


def measure_pope(workers: Workers = in_turn, scale: Scale = SCALE) -> Results:
    """Train each encoding in each kind of attention, as on the board: the same windows, steps and rates.

    returns  settings; "loss" (nats per character of the validation text, in windows) and "roles" (share of
             right answers): body -> version -> one a seed
    """
    corpus = load_corpus("plain-tales", scale.n_chars)
    config, objective = small_config(corpus, scale.block_size), NextToken(corpus, scale.block_size)
    asked = questions(corpus, scale.block_size, scale.n_questions)

    def run(arm: tuple[str, str], seed: int) -> dict[str, Any]:
        plan = TrainConfig(scale.steps, seed=seed)
        torch.manual_seed(seed)
        model = build_with_body(arm[1], arm[0], config)
        finish(train(model, objective, plan), plan.steps, f"{arm[1]}, {arm[0]}, seed {seed}")
        n = (len(corpus.val) - 1) // scale.block_size
        return {
            "loss": round(float(loss_by_position(model, corpus.val, scale.block_size, n).mean()), 4),
            "roles": role_accuracy(model, corpus.tokenizer, asked),
        }

    found = sweep([(body, version) for body in BODIES for version in ENCODINGS], scale.seeds, run, workers)
    settings = {"steps": scale.steps, "seeds": list(scale.seeds), "block_size": scale.block_size}
    measured = {
        name: {body: {v: each[body, v] for v in ENCODINGS} for body in BODIES}
        for name, each in by_measurement(found, "loss", "roles").items()
    }
    return {**settings, "floor": corpus.floor, **measured}


def pope_gaps(results: Results) -> dict[str, list[float]]:
    """Return how much higher PoPE's loss is than RoPE's: body -> nats per character, one a seed."""
    return {
        body: [round(pope - rope, 4) for rope, pope in zip(each["v4"], each["pope"], strict=True)]
        for body, each in results["loss"].items()
    }


def draw_pope(figure: Figure, results: Results) -> None:
    """Draw the loss of each seed: both encodings in each kind of attention."""
    rows = {
        f"{ENCODINGS[version]}, {LABELS[body]}": seeds
        for body, each in results["loss"].items()
        for version, seeds in each.items()
    }
    found = {body: mean(each) for body, each in pope_gaps(results).items()}
    title = "PoPE minus RoPE: " + ", ".join(f"{LABELS[body]} {gap:+.2f}" for body, gap in found.items())
    plots.draw_seed_rows(figure.subplots(), rows, title, "loss (nats per character)")
