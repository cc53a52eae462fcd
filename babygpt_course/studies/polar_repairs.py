"""Studies of note 000's gate: what each of its repairs is worth, and how a text fills in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.config import TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.data.tokenizer import MASK
from babygpt.metrics.denoising import nelbo
from babygpt.objectives import MaskedDiffusion
from babygpt.objectives.diffusion import mask_token_id
from babygpt.sampling import fill_in
from babygpt_course.studies.paired import by_measurement
from babygpt_course.studies.results import Results
from babygpt_course.studies.sweep import Scale, Workers, in_turn, small_config, sweep, train_from_seed

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
HIDDEN_SHARE = 0.75  # of the text of a trajectory
EVERY = 20  # steps of which a curve's point is the mean
MOMENTS = 9  # of a trajectory, in its figure
SCALE = Scale()
TRAJECTORY_SCALE = Scale(steps=600)


def measure_polar(
    workers: Workers = in_turn,
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
            "nelbo": round(nelbo(model, corpus.val)[0], 4),
            "curve": losses.reshape(-1, EVERY).mean(axis=1),
        }

    found = sweep((*versions, *unsteered), scale.seeds, run, workers)
    of_versions = by_measurement({v: found[v] for v in versions}, "val_loss", "nelbo", "curve")
    curves = {}
    for version, each in of_versions.pop("curve").items():
        means = enumerate(np.mean(each, axis=0), start=1)
        curves[version] = [[EVERY * i, round(float(x), 4)] for i, x in means]
    return {
        **{
            "steps": scale.steps,
            "seeds": list(scale.seeds),
            "block_size": scale.block_size,
            "floor": corpus.floor,
        },
        **of_versions,
        "curves": curves,
        "without alpha": {version: found[name]["val_loss"] for name, version in unsteered.items()},
    }


def measure_trajectory(
    workers: Workers = in_turn, scale: Scale = TRAJECTORY_SCALE, version: str = "v7"
) -> Results:
    """Train a model, hide most of a text it has never seen, and record when each character appears.

    workers  not used: one model is trained
    returns  settings and "text"; for each of its characters "when" (step, 0 for what was given) and "sure"
             (the probability that the model gave it then)
    """
    corpus, seed = load_corpus("plain-tales", scale.n_chars, with_mask=True), scale.seeds[0]
    objective = MaskedDiffusion(corpus, scale.block_size, val_windows=1)
    plan = TrainConfig(scale.steps, batch_size=16, seed=seed)
    model, _ = train_from_seed(version, small_config(corpus, scale.block_size), objective, plan)
    draw = torch.Generator().manual_seed(0)
    hidden = torch.rand(scale.block_size, generator=draw) < HIDDEN_SHARE
    idx = corpus.val[: scale.block_size].masked_fill(hidden, mask_token_id(model))
    filled = fill_in(model, idx[None], temperature=0.0)
    return {
        **{"version": version, "steps": scale.steps, "seed": seed},
        "original": corpus.tokenizer.decode(corpus.val[: scale.block_size]),
        "text": corpus.tokenizer.decode(filled.tokens[0]),
        "when": filled.when[0].tolist(),
        "sure": [round(float(p), 4) for p in filled.confidence[0]],
    }


def draw_polar(figure: Figure, results: Results) -> None:
    """Draw the loss of each seed for the gate and its repairs, beside rivals; and the loss in training."""
    losses, curves = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    names, found = {**REPAIRS, **RIVALS}, results["val_loss"]
    written, repaired, rope = (np.mean(found[v]) for v in ("v7-polar", "v7", "v7-rope"))
    title = f"As written {written:.2f}, repaired {repaired:.2f}, RoPE {rope:.2f}"
    rows = {names[version]: seeds for version, seeds in found.items()}
    plots.draw_seed_rows(losses, rows, title, "loss of masked characters (nats)")
    shown = {v: results["curves"][v] for v in ("v7-polar", "v7-quadrature", "v7", "v7-rope")}
    steps = np.array([step for step, _ in shown["v7"]])
    lines = {names[v]: np.array([loss for _, loss in points]) for v, points in shown.items()}
    keys, even = (np.mean(found[v]) for v in ("v7-keys", "v7-quadrature"))
    title = f"The sine gains {keys - even:.2f} nats, the phase {even - repaired:.2f}"
    labels = (title, "step", "training loss (nats)")
    span = (0.0, float(steps[-1]))
    ends = [f(line) for line in lines.values() for f in (np.min, np.max)]
    plots.draw_curves(curves, steps, lines, *labels, span, (min(ends) - 0.1, max(ends) + 0.1), "upper right")


def draw_trajectory(figure: Figure, results: Results) -> None:
    """Draw a text in a row for each of some steps, its characters coloured by their probability."""
    text, steps = results["text"], max(results["when"])
    when, sure = np.array(results["when"]), np.array(results["sure"])
    moments = np.unique(np.linspace(0, steps, MOMENTS).round().astype(int))
    shown, colours = [], []
    for now in moments:
        shown += [c if at <= now else MASK for c, at in zip(text, when, strict=True)]
        colours.append(np.where((when <= now) & (when > 0), sure, np.nan))
    ax = figure.subplots()
    title = f"{(when > 0).sum()} characters in {steps} steps, the surest first"
    note = "colour: probability that the model gave the character when it appeared"
    plots.draw_text(ax, shown, np.concatenate(colours), title, note, len(text), size=11)
    ax.set_yticks(range(len(moments)), [f"step {now}" for now in moments])
