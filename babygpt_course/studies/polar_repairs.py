"""Studies of note 000's gate: what each of its repairs is worth, and PoPE, the last one, beside RoPE."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import mean
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import ModelConfig, NextToken, TrainConfig, build, load_corpus, metrics, plots
from babygpt.models.language_model import LanguageModel
from babygpt.models.transformer import SHARPNESS, Attention, Block, Context
from babygpt.objectives import MaskedDiffusion
from babygpt_course.studies.paired import by_measurement
from babygpt_course.studies.results import Results
from babygpt_course.studies.sweep import Scale, Workers, questions, small_config, sweep, train_from_seed

REPAIRS = {
    "v7-polar": "as written",
    "v7-exact": "exact phase",
    "v7-random": "random phase",
    "v7-last": "gates after the norm",
    "v7-keys": "α on keys only",
    "v7-quadrature": "quadrature",
    "v7": "learned phase",
}  # in the order of the walk; each has the repairs before it
RIVALS = {"v7-nope": "no encoding", "v7-alibi": "ALiBi", "v7-rope": "RoPE", "v7-pope": "PoPE"}
WITHOUT_ALPHA = ("v7-keys", "v7-quadrature", "v7")  # trained once more with alpha = 1
EVERY = 20  # steps of which a curve's point is the mean
SCALE = Scale()


def measure_polar(
    workers: Workers,
    scale: Scale = SCALE,
    versions: Sequence[str] = (*REPAIRS, *RIVALS),
    without_alpha: Sequence[str] = WITHOUT_ALPHA,
) -> Results:
    """Train every version on the plain tales with the same windows and masks, from several seeds.

    returns  settings; "val_loss" (mean over masked tokens) and "nelbo": version -> nats per character, one
             a seed; "curves": version -> [step, training loss], means over EVERY steps and over seeds;
             "without alpha": version -> validation loss with alpha = 1, one a seed
    """
    corpus = load_corpus("plain-tales", scale.n_chars, with_mask=True)
    config, objective = small_config(corpus, scale.block_size), MaskedDiffusion(corpus, scale.block_size)
    unsteered = {f"{v}, α = 1": v for v in without_alpha}

    def run(name: str, seed: int) -> dict[str, Any]:
        version, options = unsteered.get(name, name), {"alpha": 1.0} if name in unsteered else {}
        plan, title = TrainConfig(scale.steps, batch_size=16, seed=seed), f"{name}, seed {seed}"
        model, history = train_from_seed(version, config, objective, plan, title, **options)
        losses = np.array([step.loss for step in history])[: scale.steps // EVERY * EVERY]
        return {
            "val_loss": round(float(history[-1].val_loss or 0.0), 4),
            "nelbo": round(metrics.nelbo(model, corpus.val)[0], 4),
            "curve": losses.reshape(-1, EVERY).mean(axis=1),
        }

    found = sweep((*versions, *unsteered), scale.seeds, run, workers)
    of_versions = by_measurement({v: found[v] for v in versions}, "val_loss", "nelbo", "curve")
    curves = {
        version: [[EVERY * i, round(float(x), 4)] for i, x in enumerate(np.mean(each, axis=0), start=1)]
        for version, each in of_versions.pop("curve").items()
    }
    plain = {version: found[name]["val_loss"] for name, version in unsteered.items()}
    settings = {**scale.settings(), "floor": corpus.floor}
    return {**settings, **of_versions, "curves": curves, "without alpha": plain}


def draw_polar(figure: Figure, results: Results) -> None:
    """Draw the loss of each seed for the gate and its repairs, beside rivals; and the loss in training."""
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    names, found = {**REPAIRS, **RIVALS}, results["val_loss"]
    average = {version: np.mean(seeds) for version, seeds in found.items()}
    title = "As written {v7-polar:.2f}, repaired {v7:.2f}, RoPE {v7-rope:.2f}".format(**average)
    rows = {names[version]: seeds for version, seeds in found.items()}
    plots.draw_seed_rows(left, rows, title, "loss of masked characters (nats)")
    shown = {v: np.array(results["curves"][v]) for v in ("v7-polar", "v7-quadrature", "v7", "v7-rope")}
    steps, lines = shown["v7"][:, 0], {names[v]: points[:, 1] for v, points in shown.items()}
    sine, phase = -np.diff([average[v] for v in ("v7-keys", "v7-quadrature", "v7")])
    labels = (f"The sine gains {sine:.2f} nats, the phase {phase:.2f}", "step", "training loss (nats)")
    heights = np.concatenate(list(lines.values()))
    spans = (0.0, float(steps[-1])), (heights.min() - 0.1, heights.max() + 0.1)
    plots.draw_curves(right, steps, lines, *labels, *spans, "upper right")


# ---------------------------------------------------------------- PoPE, with and without the norm of q and k

ENCODINGS = {"v4": "RoPE", "pope": "PoPE"}
POPE_SCALE = Scale(steps=600, n_questions=200)


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


def measure_pope(workers: Workers, scale: Scale = POPE_SCALE) -> Results:
    """Train each encoding in each kind of attention, as on the board: the same windows, steps and rates.

    returns  settings; "loss" (nats per character of the validation text, in windows) and "roles" (share of
             right answers): body -> version -> one a seed
    """
    corpus = load_corpus("plain-tales", scale.n_chars)
    config, objective = small_config(corpus, scale.block_size), NextToken(corpus, scale.block_size)
    asked = questions(corpus, scale.block_size, scale.n_questions)
    n_windows = (len(corpus.val) - 1) // scale.block_size

    def run(arm: tuple[str, str], seed: int) -> dict[str, Any]:
        (body, version), plan = arm, TrainConfig(scale.steps, seed=seed)
        model, _ = train_from_seed(partial(build_with_body, version, body), config, objective, plan, f"{arm}")
        loss = metrics.loss_by_position(model, corpus.val, scale.block_size, n_windows).mean()
        return {"loss": round(float(loss), 4), "roles": metrics.role_accuracy(model, corpus.tokenizer, asked)}

    found = sweep([(body, version) for body in BODIES for version in ENCODINGS], scale.seeds, run, workers)
    measured = {
        name: {body: {v: found[body, v][name] for v in ENCODINGS} for body in BODIES}
        for name in ("loss", "roles")
    }
    return {**scale.settings(), "floor": corpus.floor, **measured}


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
    gaps = ", ".join(f"{LABELS[body]} {mean(each):+.2f}" for body, each in pope_gaps(results).items())
    plots.draw_seed_rows(figure.subplots(), rows, f"PoPE minus RoPE: {gaps}", "loss (nats per character)")
