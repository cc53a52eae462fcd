"""Report of an ablation: statistics, paired differences, lines to print, two pictures."""

import io
import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from babygpt.errors import BadInput
from babygpt.files import write_atomically
from babygpt.plots import STYLE
from babygpt_course.studies.paired import UNDECIDED, decided_side, format_mean_sd, mean_sd
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_bars, draw_seed_curves

MEASURES = ("val_loss", "nelbo", "seconds_per_step")  # of every run
LOSSES = MEASURES[:2]
PICTURES = ("val_loss_curve.png", "summary_bars.png")
LABELS = ("masked-token loss (nats per character)", "NELBO (nats per character)", "time of a step (ms)")
Run = dict[str, Any]


def load_runs(path: Path) -> Results:
    """Read the results of an ablation. Raises BadInput naming the path if it does not hold any."""
    try:
        results = dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        results = {}
    with_statistics(results, path)
    return results


def with_statistics(results: Results, path: Path) -> Results:
    """Return results with statistics of their runs. Raises BadInput naming a file that holds no such runs."""
    try:
        np.array([point for run in results["runs"] for point in run["curve"]], float)  # refuses texts
        return {**results, "settings": {**results["settings"]}, **aggregate(results["runs"])}
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        raise BadInput(f"{path} holds no results of a comparison; choose another --out-dir") from None


def by_variant(runs: Sequence[Run], measure: str) -> dict[str, dict[int, Any]]:
    """Return one measurement of all runs: variant -> seed -> value."""
    found: dict[str, dict[int, Any]] = {}
    for run in runs:
        found.setdefault(run["variant"], {})[run["seed"]] = run[measure]
    return found


def summary(each: dict[int, float]) -> dict[str, float | None]:
    """Return "mean", "sd" and "n", the number of seeds."""
    return {**mean_sd(list(each.values())), "n": len(each)}


def paired_statistics(
    runs: Sequence[Run], name: str, base: str, measure: str = "val_loss"
) -> dict[str, Any] | None:
    """Return the difference name - base at every seed that both were trained from.

    returns  "mean", "sd", "n", and "each": seed -> difference; None if there is no such seed
    """
    found = by_variant(runs, measure)
    each = {s: v - found[base][s] for s, v in found.get(name, {}).items() if s in found.get(base, {})}
    return {**summary(each), "each": each} if each else None


def aggregate(runs: Sequence[Run]) -> dict[str, Any]:
    """Return statistics of every variant, and paired differences from the variant that was run first."""
    first, *others = names = list(by_variant(runs, "seed"))
    variants = {n: {m: summary(by_variant(runs, m)[n]) for m in MEASURES} for n in names}
    paired = {f"{n} - {first}": {m: paired_statistics(runs, n, first, m) for m in LOSSES} for n in others}
    return {"variants": variants, "paired": {k: d for k, d in paired.items() if all(d.values())}}


def conclusion(runs: Sequence[Run], measure: str = "val_loss") -> str:
    """Say in one line which variant ends lowest, and whether the shared seeds decide it.

    The rule is `paired.decided_side` on the best and the second best, seed by seed.
    """
    found = by_variant(runs, measure)
    shared = set.intersection(*(set(seeds) for seeds in found.values()))
    means = {name: mean(seeds[s] for s in shared or seeds) for name, seeds in found.items()}
    best, *others = sorted(means, key=lambda name: means[name])
    gap = paired_statistics(runs, others[0], best, measure) if others and shared else None
    if gap is None:
        return ", ".join(f"{name} ends at {value:.3f}" for name, value in means.items())
    seeds = f"{gap['n']} seeds" if gap["n"] > 1 else "one seed"
    if decided_side(list(gap["each"].values())) == UNDECIDED:
        return f"Undecided by {seeds}: {best} ends {gap['mean']:.4f} below {others[0]}"
    return f"{best} ends below {others[0]} at each of {seeds}, by {format_mean_sd(gap)}"


def compare_speed(runs: Sequence[Run]) -> str:
    """Say in one line which variant is fastest and which slowest."""
    means = {name: mean(seeds.values()) for name, seeds in by_variant(runs, "seconds_per_step").items()}
    slow, quick = max(means, key=lambda name: means[name]), min(means, key=lambda name: means[name])
    if slow == quick:
        return f"A step of {slow} takes {1000 * means[slow]:.0f} ms"
    return f"A step of {slow} takes {means[slow] / means[quick]:.2f} times as long as {quick}'s"


def report_lines(results: Results) -> list[str]:
    """Return the lines to print: one for each variant and paired difference, and the conclusion."""
    lines = []
    for name, stats in results["variants"].items():
        losses = f"loss {with_count(stats['val_loss'])}, NELBO {with_count(stats['nelbo'])}"
        pace = f"{1000 * stats['seconds_per_step']['mean']:.0f} ms a step"
        lines.append(f"{name}: masked-token validation {losses} nats per character, {pace}")
    for name, stats in results["paired"].items():
        loss, bound = with_count(stats["val_loss"]), with_count(stats["nelbo"])
        lines.append(f"{name}, paired: validation loss {loss}, NELBO {bound}")
    windows = f"{results['val_windows']} windows of {results['settings']['block_size']} characters"
    lines.append(f"validation loss on {windows}, NELBO on the whole validation text; mean ± sd over seeds")
    return [*lines, conclusion(results["runs"])]


def with_count(stats: dict[str, Any]) -> str:
    """Format a `summary` as text: mean ± deviation (n = number of seeds)."""
    return f"{format_mean_sd(stats, '.4f')} (n = {stats['n']})"


# ---------------------------------------------------------------- pictures


def draw_report(results: Results, folder: Path) -> list[Path]:
    """Draw the validation losses over steps, and bars of the final numbers; return the pictures' paths."""
    runs = results["runs"]
    with matplotlib.rc_context(STYLE):
        falling, bars = Figure(figsize=(8.0, 4.6)), Figure(figsize=(14.0, 4.4))
        curves = {
            name: np.array([[loss for _, loss in curve] for curve in seeds.values()])
            for name, seeds in by_variant(runs, "curve").items()
        }
        steps = [step for step, _ in runs[0]["curve"]]
        draw_seed_curves(falling.subplots(), steps, curves, conclusion(runs), LABELS[0])
        titles = (conclusion(runs), conclusion(runs, "nelbo"), compare_speed(runs))
        panels = zip(bars.subplots(1, 3), MEASURES, (1, 1, 1000), titles, LABELS, strict=True)
        for ax, measure, unit, title, label in panels:
            found = by_variant(runs, measure)
            values = {name: [unit * v for v in seeds.values()] for name, seeds in found.items()}
            draw_seed_bars(ax, values, textwrap.fill(title, 36), label)
        return [save_figure(f, folder / name) for name, f in zip(PICTURES, (falling, bars), strict=True)]


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG, whole or not at all, and return its path."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=150, metadata={"Software": None})
    write_atomically(path, content.getvalue())
    return path
