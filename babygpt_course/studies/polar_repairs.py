"""Study of note 000's gate: the loss after each of its repairs, and that of its rivals."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from babygpt import TrainConfig, load_corpus, plots
from babygpt.objectives import MaskedDiffusion
from babygpt_course.studies.results import Results
from babygpt_course.studies.sweep import Scale, Workers, small_config, sweep, train_from_seed

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


def measure_polar(workers: Workers, scale: Scale = SCALE) -> Results:
    """Train every version on the plain tales with the same windows and masks, from several seeds.

    returns  settings; "val_loss": version -> nats for each masked character, one a seed; "curves": version ->
             [step, training loss], means over EVERY steps and over seeds; "without alpha": version ->
             validation loss with alpha = 1, one a seed
    """
    corpus = load_corpus("plain-tales", scale.n_chars, with_mask=True)
    config, objective = small_config(corpus, scale.block_size), MaskedDiffusion(corpus, scale.block_size)
    versions, unsteered = (*REPAIRS, *RIVALS), {f"{v}, α = 1": v for v in WITHOUT_ALPHA}

    def run(name: str, seed: int) -> dict[str, Any]:
        version, options = unsteered.get(name, name), {"alpha": 1.0} if name in unsteered else {}
        plan, title = TrainConfig(scale.steps, batch_size=16, seed=seed), f"{name}, seed {seed}"
        _, history = train_from_seed(version, config, objective, plan, title, **options)
        losses = np.array([step.loss for step in history])[: scale.steps // EVERY * EVERY]
        curve = losses.reshape(-1, EVERY).mean(axis=1)
        return {"val_loss": round(float(history[-1].val_loss or 0.0), 4), "curve": curve}

    found = sweep((*versions, *unsteered), scale.seeds, run, workers)
    curves = {
        v: [
            [EVERY * i, round(float(x), 4)] for i, x in enumerate(np.mean(found[v]["curve"], axis=0), start=1)
        ]
        for v in versions
    }
    loss = {v: found[v]["val_loss"] for v in versions}
    plain = {version: found[name]["val_loss"] for name, version in unsteered.items()}
    settings = {**scale.settings(), "floor": corpus.floor}
    return {**settings, "val_loss": loss, "curves": curves, "without alpha": plain}


def draw_polar(figure: Figure, results: Results) -> None:
    """Draw the loss of each seed for the gate and its repairs, beside rivals; and the loss in training."""
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    names, found = {**REPAIRS, **RIVALS}, results["val_loss"]
    average = {version: np.mean(seeds) for version, seeds in found.items()}
    title = "As written {v7-polar:.2f}, repaired {v7:.2f}, RoPE {v7-rope:.2f}".format(**average)
    rows = {names[version]: seeds for version, seeds in found.items()}
    plots.draw_seed_dots(left, rows, title, "loss of masked characters (nats)", means=True)
    shown = {v: np.array(results["curves"][v]) for v in ("v7-polar", "v7-quadrature", "v7", "v7-rope")}
    steps, lines = shown["v7"][:, 0], {names[v]: points[:, 1] for v, points in shown.items()}
    sine, phase = -np.diff([average[v] for v in ("v7-keys", "v7-quadrature", "v7")])
    labels = (f"The sine gains {sine:.2f} nats, the phase {phase:.2f}", "step", "training loss (nats)")
    heights = np.concatenate(list(lines.values()))
    spans = (0.0, float(steps[-1])), (heights.min() - 0.1, heights.max() + 0.1)
    plots.draw_curves(right, steps, lines, *labels, *spans, "upper right")
