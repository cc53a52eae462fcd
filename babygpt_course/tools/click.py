"""Click: when the seeds of each encoding begin to answer and to spell, and what they lose by then."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from babygpt_course.studies.clicks import LEAST, MODELS, VERBS, click_steps, clicked
from babygpt_course.studies.results import Results
from babygpt_live import COLOURS, ENCODING_COLOURS, Axis, Choice, Curve, Explorer, Level, Panel, Slider
from babygpt_live.explorer import Control
from babygpt_live.panel import Mark

SHARES = {"answers": "its answers are right", "spells": "the names are written in full"}
WHAT = {"answers": "seeds that answer", "spells": "seeds that spell", "loss": "loss"}
Looks = tuple[str, str, Literal["dots", "rings"]]
SPELLS: Looks = ("seed that spells", COLOURS["blue"], "dots")
OTHERS: Looks = ("seed that does not", COLOURS["red"], "rings")


def click(results: Results, what: Sequence[str] = tuple(WHAT), seeds: bool = True) -> Explorer:
    """Explore when seeds answer, when they spell, and what they lose, step by step of one training.

    results  what `load_results("clicks")` reads
    what     the curves to choose from, the first ones first
    seeds    whether the losses of all seeds are shown beside the curves, if one of these counts who spells
    """
    step_numbers = results["at"]
    steps = Slider(
        "step",
        step_numbers[len(step_numbers) // 3 - 1],
        step_numbers[0],
        step_numbers[-1],
        "step",
        step=step_numbers[1] - step_numbers[0],
    )
    controls: list[Control] = [Choice("what", [(WHAT[kind], kind) for kind in what], "show"), steps]
    measure, panels = partial(measure_curves, results), partial(frames, results, seeds and "spells" in what)
    return Explorer("click", measure, panels, controls, frames_by="step", together=("what",))


def measure_curves(results: Results, what: str) -> dict[str, np.ndarray]:
    """Return seeds that have clicked by each measured step, or mean losses: model -> (steps,)."""
    if what == "loss":
        return {name: np.mean(runs["loss"], axis=0) for name, runs in results["models"].items()}
    return clicked(results, what)


def frames(
    results: Results, seeds: bool, curves: dict[str, np.ndarray], values: Mapping[str, Any]
) -> list[list[Panel]]:
    """Return the curves for each measured step, and the losses of all seeds if they are to be shown."""
    steps, what = range(len(results["at"])), values["what"]
    return [
        [curve_panel(results, curves, what, i), *([draw_seeds(results, i)] if seeds else [])] for i in steps
    ]


def curve_panel(results: Results, curves: dict[str, np.ndarray], what: str, i: int) -> Panel:
    """Draw a curve for each encoding; name the first and the last of them at the i-th measured step."""
    steps, n = np.array(results["at"], float), len(results["seeds"])
    ranking = sorted(
        ((float(curve[i]), MODELS[name]) for name, curve in curves.items()), key=lambda pair: -pair[0]
    )
    (most, first), (fewest, last) = ranking[0], ranking[-1]
    if what == "loss":
        title = (
            f"At step {steps[i]:,.0f} the mean loss is {fewest:.2f} nats with {last}, {most:.2f} with {first}"
        )
        top = max(float(curve.max()) for curve in curves.values())
        y, note = Axis("loss (nats per character)", (0, top)), f"Means over {n} seeds of each encoding."
    else:
        title = f"By step {steps[i]:,.0f}, {most:.0f} of {n} seeds {VERBS[what]} with "
        title += f"{first} and {fewest:.0f} of {n} with {last}" if fewest < most else "each encoding"
        note = f"A seed {what} from the step from which on at least {LEAST[what]:.0%} of {SHARES[what]}."
        y = Axis(
            f"seeds that {VERBS[what]}, of {n}",
            (0, n + 0.3),
            [(k, str(k)) for k in range(0, n + 1, 3)],
            digits=0,
        )
    marks: list[Mark] = [Level(f"step {steps[i]:,.0f}", steps[i], "x")]
    marks += [Curve(MODELS[name], ENCODING_COLOURS[name], curve, steps) for name, curve in curves.items()]
    return Panel(title, marks, Axis("step", (0, steps[-1]), digits=0), y, note, width=1.4)


def draw_seeds(results: Results, i: int) -> Panel:
    """Draw the loss of each seed at the i-th measured step, apart for seeds that spell and that do not.

    The title compares them within the encoding that has most of both: other encodings have other losses.
    """
    step, marks, comparisons, all_losses = (
        results["at"][i],
        list[Mark](),
        list[tuple[int, str]](),
        list[float](),
    )
    for row, (name, clicks) in enumerate(click_steps(results, "spells").items()):
        losses = np.array(results["models"][name]["loss"])[:, i]
        kinds = [losses[np.array(clicks) <= step], losses[np.array(clicks) > step]]
        for group, (words, colour, look) in zip(kinds, (SPELLS, OTHERS), strict=True):
            marks.append(Curve("" if row else words, colour, np.full(len(group), float(row)), group, look))
        (n_spelling, n_others), all_losses = map(len, kinds), [*all_losses, *losses]
        if n_spelling and n_others:
            lose = (
                f"seeds that spell ({n_spelling}) lose {kinds[0].mean():.3f} nats, "
                f"and the others ({n_others}) {kinds[1].mean():.3f}"
            )
            comparisons.append((min(n_spelling, n_others), f"At step {step:,} with {MODELS[name]}, {lose}"))
    title = (
        max(comparisons, key=lambda comparison: comparison[0])[1]
        if comparisons
        else f"At step {step:,} no encoding has both seeds that spell and others"
    )
    ticks = [(float(row), MODELS[name]) for row, name in enumerate(results["models"])]
    x = Axis("loss (nats per character)", (min(all_losses) - 0.01, max(all_losses) + 0.01), digits=3)
    y = Axis(span=(len(ticks) - 0.4, -0.6), ticks=ticks)
    return Panel(title, marks, x, y, "Each mark is a seed.", width=1.2)
