"""Explorer of the stored board: one measurement, one model, and its closest rivals."""

from functools import partial
from statistics import mean
from typing import Any

from matplotlib.axes import Axes

from babygpt.errors import BadInput
from babygpt.live.explorer import Choice, Control, Explorer, Slider
from babygpt_course.studies.board import paired_differences
from babygpt_course.studies.paired import decided_side
from babygpt_course.studies.seed_plots import draw_seed_dots

COLUMNS = {
    "loss": ("1x", 1.0, "nats per character"),
    "loss at 2× length": ("2x", 1.0, "nats per character"),
    "loss at 4× length": ("4x", 1.0, "nats per character"),
    "right answers": ("roles", 100.0, "percentage points"),
}  # name -> key of the results, factor, unit


def measure(results: dict[str, Any], column: str, rival: str, closest: int) -> dict[str, Any]:
    """Return every comparable model's number minus its rival's, seed by seed.

    results   of the ladder, as stored
    column    one of COLUMNS
    rival     one of the models
    closest   how many models, the rival among them: those that differ least from it
    returns   "rows": name -> a difference for each seed, the better mean first; rival, column, unit
    Raises BadInput if the rival refuses such lengths.
    """
    key, factor, unit = COLUMNS[column]
    rows: dict[str, list[float]] = {}
    if None in results["board"][rival][key]:
        raise BadInput(f"{rival} refuses such a length: choose another model to compare with")
    for name, found in results["board"].items():
        comparable = key == "roles" or found["masks"] == results["board"][rival]["masks"]
        if comparable and None not in found[key]:
            rows[name] = [factor * x for x in paired_differences(results, name, rival, key)]
    near = sorted(rows, key=lambda name: (abs(mean(rows[name])), name != rival))[:closest]
    ordered = sorted(near, key=lambda name: mean(rows[name]), reverse=key == "roles")
    return {"rows": {n: rows[n] for n in ordered}, "rival": rival, "column": column, "unit": unit}


def draw(ax: Axes, found: dict[str, Any]) -> None:
    """Draw a row for each model, a dot for each seed, and a line for the rival."""
    rows, rival = found["rows"], found["rival"]
    others = {name: seeds for name, seeds in rows.items() if name != rival}
    sides = [decided_side(seeds) for seeds in others.values()]
    counts = (f"{sides.count(side)} {side}" for side in ("below", "above", "undecided"))
    title = f"Compared with {rival}: {', '.join(counts)}"
    ends = [x for seeds in rows.values() for x in seeds]
    margin = 0.06 * (max(ends) - min(ends)) or 1.0
    span = (min(ends) - margin, max(ends) + margin)
    label = f"{found['column']}: difference from {rival} ({found['unit']})"
    draw_seed_dots(ax, rows, title, label, {"rival": 0.0}, span, means=True)


def explore_ladder(results: dict[str, Any]) -> Explorer:
    """Explore the results of all versions: one measurement, one model and its closest rivals.

    A model that refuses long windows can be compared, but nothing is compared with it.

    results  what `load_results("ladder")` reads
    """
    rivals = [name for name, found in results["board"].items() if None not in found["4x"]]
    controls: list[Control] = [
        Choice("column", tuple(COLUMNS)),
        Choice("rival", sorted(rivals, key=lambda name: name != "v4"), "compared with"),
        Slider("closest", 9, 2, len(results["board"]), "closest models"),
    ]
    return Explorer(
        "ladder", partial(measure, results), draw, controls, height=3.9, together=("column", "rival")
    )
