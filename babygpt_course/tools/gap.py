"""Gap: the loss of an encoding minus that of RoPE, step by step, and what twelve seeds decide."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from babygpt.experiments.paired import UNDECIDED, compare, differences
from babygpt_course.studies.clicks import MODELS
from babygpt_course.studies.results import Results
from babygpt_live import COLOURS, ENCODING_COLOURS, Axis, Choice, Curve, Explorer, Level, Panel, Slider
from babygpt_live.explorer import Control
from babygpt_live.panel import Mark

RIVAL = "v4"
FIRST = 2  # measurement that is shown first: earlier losses would need another scale
# Nobody named all of these steps beforehand, so a picture of them decides nothing.
SIDES = {
    "above": "the interval leaves out 0, it loses more",
    "below": "the interval leaves out 0, it loses less",
    UNDECIDED: UNDECIDED,
}
LINES = {"mean": "mean", "low": "99% interval", "high": ""}


def gap(results: Results) -> Explorer:
    """Explore the loss of an encoding minus that of RoPE, paired by seed, at each step of one training.

    results  what `load_results("clicks")` reads
    """
    step_numbers, names = results["at"], [name for name in results["models"] if name != RIVAL]
    names.sort(key=lambda name: name != "v3")
    steps = Slider(
        "step",
        step_numbers[5],
        step_numbers[FIRST],
        step_numbers[-1],
        "step",
        step=step_numbers[1] - step_numbers[0],
    )
    controls: list[Control] = [Choice("name", [(MODELS[name], name) for name in names], "encoding"), steps]
    measure, panels = partial(measure_losses, results), partial(gap_frames, results["at"])
    return Explorer("gap", measure, panels, controls, frames_by="step", together=("name",))


def measure_losses(results: Results, name: str) -> dict[str, np.ndarray]:
    """Return the losses of an encoding and of RoPE: name -> (steps, seeds)."""
    return {model: np.transpose(results["models"][model]["loss"]) for model in (name, RIVAL)}


def gap_frames(
    steps: Sequence[int], losses: dict[str, np.ndarray], values: Mapping[str, Any]
) -> list[list[Panel]]:
    """Return mean losses, and differences from RoPE, up to each measured step: a reader guesses the rest."""
    ours, rivals = losses.values()
    label, x = MODELS[values["name"]], Axis("step", (0, 1.03 * steps[-1]), digits=0)
    xs = np.array(steps, float)
    gaps = [differences(*pair) for pair in zip(ours, rivals, strict=True)]
    intervals = [compare(sample) for sample in gaps]
    bounds = {end: np.array([getattr(interval, end) for interval in intervals]) for end in LINES}
    means = {name: sample.mean(axis=1) for name, sample in losses.items()}
    top = max(float(mean[FIRST]) for mean in means.values())
    all_gaps = np.concatenate([np.ravel(gaps[FIRST:]), bounds["low"][FIRST:], bounds["high"][FIRST:]])
    y = Axis(
        f"{label} minus {MODELS[RIVAL]} (nats)", (all_gaps.min() - 0.01, all_gaps.max() + 0.01), digits=3
    )

    def frame(i: int) -> list[Panel]:
        level, so_far = Level(f"step {steps[i]:,}", steps[i], "x"), slice(FIRST, i + 1)
        comparison = " and ".join(f"{mean[i]:.3f} nats with {MODELS[name]}" for name, mean in means.items())
        curves: list[Mark] = [level]
        marks: list[Mark] = [Level("equal", 0.0)]
        for name, mean in means.items():
            curves.append(Curve(MODELS[name], ENCODING_COLOURS[name], mean[so_far], xs[so_far]))
        for end, words in LINES.items():
            colour = COLOURS["red" if end == "mean" else "grey"]
            marks.append(Curve(words, colour, bounds[end][so_far], xs[so_far]))
        marks.append(
            Curve("a seed", COLOURS["blue"], np.array(gaps[i]), np.full(len(gaps[i]), xs[i]), "dots")
        )
        verdict = (
            f"The {len(gaps[i])} seeds at step {steps[i]:,}: {intervals[i].mean:+.3f} nats "
            f"({intervals[i].low:+.3f} to {intervals[i].high:+.3f}): {SIDES[intervals[i].side]}"
        )
        loss = Axis("loss (nats per character)", (0.45, top + 0.02))
        return [
            Panel(
                f"At step {steps[i]:,} the mean loss is {comparison}",
                curves,
                x,
                loss,
                "From 100 windows of text, at the last step from all.",
            ),
            Panel(verdict, marks, x, y, "Each seed is a pair of runs; the interval is that of the mean."),
        ]

    return [frame(i) for i in range(FIRST, len(steps))]
