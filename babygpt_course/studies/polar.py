"""The note's gate and its repairs, one by one: what each is worth, beside RoPE and other rivals."""

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
from babygpt.metrics.diffusion import nelbo
from babygpt.objectives import MaskedDiffusion
from babygpt.objectives.diffusion import mask_token_id
from babygpt.sampling import fill_in
from babygpt_course.studies.results import Results
from babygpt_course.studies.sweep import SEEDS, by_measurement, small_config, sweep, train_from_seed

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


def measure_polar(
    versions: Sequence[str] = (*REPAIRS, *RIVALS),
    without_alpha: Sequence[str] = WITHOUT_ALPHA,
    seeds: tuple[int, ...] = SEEDS,
    steps: int = 400,
    block_size: int = 64,
    n_chars: int = 400_000,
) -> Results:
    """Train every version on the plain tales with the same windows and masks, from several seeds.

    returns  settings; "val_loss" (mean over masked tokens) and "nelbo": version -> nats per character, one
             a seed; "curves": version -> [step, training loss], means over EVERY steps and over seeds;
             "without alpha": version -> validation loss with alpha = 1, one a seed
    """
    corpus = load_corpus("plain-tales", n_chars, with_mask=True)
    config, objective = small_config(corpus, block_size), MaskedDiffusion(corpus, block_size)
    unsteered = {f"{v}, α = 1": v for v in without_alpha}

    def run(name: str, seed: int) -> dict[str, Any]:
        version, options = unsteered.get(name, name), {"alpha": 1.0} if name in unsteered else {}
        plan, title = TrainConfig(steps, batch_size=16, seed=seed), f"{name}, seed {seed}"
        model, history = train_from_seed(version, config, objective, plan, title, **options)
        losses = np.array([step.loss for step in history])[: steps // EVERY * EVERY]
        return {
            "val_loss": round(float(history[-1].val_loss or 0.0), 4),
            "nelbo": round(nelbo(model, corpus.val)[0], 4),
            "curve": losses.reshape(-1, EVERY).mean(axis=1),
        }

    found = sweep((*versions, *unsteered), seeds, run)
    of_versions = by_measurement({v: found[v] for v in versions}, "val_loss", "nelbo", "curve")
    curves = {v: np.mean(each, axis=0) for v, each in of_versions.pop("curve").items()}
    return {
        **{"steps": steps, "seeds": list(seeds), "block_size": block_size, "floor": corpus.floor},
        **of_versions,
        "curves": {
            v: [[EVERY * (i + 1), round(float(x), 4)] for i, x in enumerate(curve)]
            for v, curve in curves.items()
        },
        "without alpha": {version: found[name]["val_loss"] for name, version in unsteered.items()},
    }


def measure_trajectory(
    version: str = "v7", seed: int = SEEDS[0], steps: int = 600, block_size: int = 64, n_chars: int = 400_000
) -> Results:
    """Train a model, hide most of a text it has never seen, and note when each character comes back.

    returns  settings and "text"; for each of its characters "when" (step, 0 for what was given) and "sure"
             (the probability that the model gave it then)
    """
    corpus = load_corpus("plain-tales", n_chars, with_mask=True)
    objective = MaskedDiffusion(corpus, block_size, val_windows=1)
    plan = TrainConfig(steps, batch_size=16, seed=seed)
    model, _ = train_from_seed(version, small_config(corpus, block_size), objective, plan)
    draw = torch.Generator().manual_seed(0)
    hidden = torch.rand(block_size, generator=draw) < HIDDEN_SHARE
    idx = corpus.val[:block_size].masked_fill(hidden, mask_token_id(model))
    filled = fill_in(model, idx[None], temperature=0.0)
    return {
        "version": version,
        "steps": steps,
        "seed": seed,
        "original": corpus.tokenizer.decode(corpus.val[:block_size]),
        "text": corpus.tokenizer.decode(filled.tokens[0]),
        "when": filled.when[0].tolist(),
        "sure": [round(float(p), 4) for p in filled.confidence[0]],
    }


def draw_polar(figure: Figure, results: Results) -> None:
    """The note's gate repaired step by step, beside its rivals: loss of each seed, and while training."""
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
    """One text, a row for each of some steps: what has appeared, coloured by how sure the model was."""
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
