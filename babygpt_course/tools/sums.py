"""Sums: a row of a table of tokens and a row of a table of positions, added."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from babygpt_live import Axis, Cells, Choice, Explorer, Panel, Slider, Trials
from babygpt_live.explorer import Control
from babygpt_live.panel import name_ticks

PARTS = ("row of the token", "row of the position", "their sum")


def sums(
    tokens: Mapping[str, np.ndarray],
    positions: np.ndarray,
    columns: Sequence[str],
    write: Callable[[np.ndarray], str],
) -> Explorer:
    """Explore what a model sees that adds a vector of the token and one of its position.

    tokens     character -> its row (D,); the first one is chosen at first
    positions  (T, D)
    columns    names of the D channels
    write      turns a row into words, for the table
    """
    controls: list[Control] = [Choice("token", list(tokens)), Slider("position", 0, 0, len(positions) - 1)]

    def measure(token: str, position: int) -> np.ndarray:  # (3, D)
        return np.array([tokens[token], positions[position], tokens[token] + positions[position]])

    top = max(float(np.abs(rows).max()) for rows in (*tokens.values(), positions))
    start: dict[str, Any] = {"token": next(iter(tokens)), "position": 0}
    draw = partial(panels, measure(**start), start, columns, write, top)
    return Explorer("sums", measure, draw, controls, together=("token", "position"))


def panels(
    first: np.ndarray,
    start: Mapping[str, Any],
    columns: Sequence[str],
    write: Callable[[np.ndarray], str],
    top: float,
    rows: np.ndarray,
    values: Mapping[str, Any],
) -> list[Panel]:
    """Show both rows and their sum, in colours and in words, beside those of the first choice."""
    name = "{token} at position {position}".format
    choices = {name(**start): (dict(start), first)} | {name(**values): (dict(values), rows)}
    settings, row_sets = zip(*choices.values(), strict=True)
    answers = [[write(row) for row in row_set] for row_set in row_sets]
    table = Trials([Axis(part) for part in PARTS], list(choices), answers, settings, "code")
    cells = Cells(rows, top, -top, "{row}, {column}: {value}", PARTS, columns, label="value")
    x, y = (Axis(ticks=name_ticks(names)) for names in (columns, PARTS))
    title = f"{name(**values)}: {write(rows[2])}"
    return [
        Panel(title, [table], width=1.6),
        Panel("Both rows, and their sum", [cells], x, y, width=1.2),
    ]
