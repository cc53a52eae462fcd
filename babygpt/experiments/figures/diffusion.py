"""Figures of models that fill in: the gate and its repairs, and a text on its way."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.data.tokenizer import MASK
from babygpt.experiments.polar import REPAIRS, RIVALS

Results = dict[str, Any]
SHOWN = 9  # moments of a trajectory


def draw_polar(figure: Figure, results: Results) -> None:
    """The note's gate repaired step by step, beside its rivals: loss of each seed, and while training."""
    losses, curves = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    names, found = {**REPAIRS, **RIVALS}, results["val_loss"]
    written, repaired, rope = (np.mean(found[v]) for v in ("v7-polar", "v7", "v7-rope"))
    title = f"As written {written:.2f}, repaired {repaired:.2f}, RoPE {rope:.2f}"
    rows = {names[version]: seeds for version, seeds in found.items()}
    plots.draw_rows(losses, rows, title, "loss of masked characters (nats)")
    shown = {v: results["curves"][v] for v in ("v7-polar", "v7-quadrature", "v7", "v7-rope")}
    steps = np.array([step for step, _ in shown["v7"]])
    lines = {names[v]: np.array([loss for _, loss in points]) for v, points in shown.items()}
    faster = "The sine and the phase do the work"
    span = (0.0, float(steps[-1]))
    ends = [f(line) for line in lines.values() for f in (np.min, np.max)]
    labels = (faster, "step", "training loss (nats)")
    plots.draw_curves(curves, steps, lines, *labels, span, (min(ends) - 0.1, max(ends) + 0.1), "upper right")


def draw_trajectory(figure: Figure, results: Results) -> None:
    """One text, a row for each of some steps: what has appeared, coloured by how sure the model was."""
    text, steps = results["text"], max(results["when"])
    when, sure = np.array(results["when"]), np.array(results["sure"])
    moments = np.unique(np.linspace(0, steps, SHOWN).round().astype(int))
    shown, colours = [], []
    for now in moments:
        shown += [c if at <= now else MASK for c, at in zip(text, when, strict=True)]
        colours.append(np.where((when <= now) & (when > 0), sure, np.nan))
    ax = figure.subplots()
    title = f"{(when > 0).sum()} characters in {steps} steps, the surest first"
    note = "colour: probability that the model gave the character when it appeared"
    plots.draw_text(ax, shown, np.concatenate(colours), title, note, len(text), size=11)
    ax.set_yticks(range(len(moments)), [f"step {now}" for now in moments])
