"""Explorer of the stored board: one measurement, one model, and its closest rivals."""

from collections.abc import Mapping
from functools import partial
from statistics import mean
from typing import Any

import numpy as np

from babygpt.errors import BadInput
from babygpt.live.explorer import Choice, Control, Explorer, Slider
from babygpt.plots import COLOURS, ENCODING_COLOURS, Axis, Curve, Level, Panel
from babygpt.plots.panel import Mark
from babygpt_course.studies.board import paired_differences
from babygpt_course.studies.paired import LEAST_LOSS, LEAST_SHARE, compare

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


def panels(found: dict[str, Any], values: Mapping[str, Any]) -> list[Panel]:
    """Show a row for each model, a dot for each seed, a line at their mean, and a level for the rival."""
    rows, rival = found["rows"], found["rival"]
    least = 100 * LEAST_SHARE if found["column"] == "right answers" else LEAST_LOSS
    sides = [compare(seeds, least).side for name, seeds in rows.items() if name != rival]
    counts = (f"{sides.count(side)} {side}" for side in ("below", "above", "undecided"))
    title = f"Compared with {rival}: {', '.join(counts)}"
    marks: list[Mark] = [Level(rival, 0.0, "x")]
    for row, (name, seeds) in enumerate(rows.items()):
        colour = ENCODING_COLOURS.get(name, COLOURS["blue"])
        marks.append(Curve("", colour, np.full(len(seeds), float(row)), np.array(seeds), "dots"))
        marks.append(Curve("", colour, np.array([row - 0.3, row + 0.3]), np.full(2, mean(seeds))))
    ends = [x for seeds in rows.values() for x in seeds]
    margin = 0.06 * (max(ends) - min(ends)) or 1.0
    label = f"{found['column']}: difference from {rival} ({found['unit']})"
    x = Axis(label, (min(ends) - margin, max(ends) + margin))
    names = [(float(row), name) for row, name in enumerate(rows)]
    return [Panel(title, marks, x, Axis(span=(len(rows) - 0.4, -0.6), ticks=names), width=2.0)]


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
    return Explorer("ladder", partial(measure, results), panels, controls, together=("column", "rival"))
