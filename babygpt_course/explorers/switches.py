"""Switches: a grid of controls that are on or off, and the explorer whose page can draw them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import traitlets

from babygpt.errors import BadInput
from babygpt_live.explorer import Control, Explorer
from babygpt_live.view import PAGE, style

SCRIPTS = Path(__file__).with_name("page")
Cell = tuple[int, int]  # row and column of a switch, counted from 0


@dataclass(frozen=True)
class Switches(Control):
    """Grid of switches. The value lists those that are off, none at first.

    rows, columns  how many
    row, column    what a row and a column is, in a word
    shades         (rows, columns) from 0 to 1: how strong the colour of a switch is
    kinds          what a shade measures: one text, or (rows, columns) of them, each kind with its colour
    options        values that a recording answers
    Raises BadInput for shades or kinds of another shape, a shade beyond 0 and 1, or an unknown switch.
    """

    name: str
    rows: int
    columns: int
    label: str = ""
    row: str = "row"
    column: str = "column"
    shades: Sequence[Sequence[float]] | None = None
    kinds: str | Sequence[Sequence[str]] = ""
    options: Sequence[Sequence[Cell]] = ((),)

    def __post_init__(self) -> None:
        for words, grid in (("shades", self.shades), ("kinds", self.kinds)):
            shape = np.shape(grid)  # type: ignore[arg-type]
            if shape not in ((), (self.rows, self.columns)):
                raise BadInput(f"{words} of {self.name} are {shape}, not {(self.rows, self.columns)}")
        for shade in np.ravel([] if self.shades is None else self.shades):
            if not 0 <= shade <= 1:
                raise BadInput(f"shades of {self.name} have to be between 0 and 1; one is {shade}")
        for i, j in (cell for option in self.options for cell in option):
            if not (0 <= i < self.rows and 0 <= j < self.columns):
                size = f"{self.rows} {self.row}s of {self.columns} {self.column}s, counted from 0"
                raise BadInput(f"{self.column} {j} of {self.row} {i} does not exist: there are {size}")

    def facts(self) -> dict[str, Any]:
        kinds = np.broadcast_to(self.kinds, (self.rows, self.columns))
        names = list(dict.fromkeys(kinds.flat))
        shades = np.ones(kinds.shape) if self.shades is None else np.asarray(self.shades)
        most = max(map(len, self.options))
        refusal = f"Not measured: this page has {len(self.options)} combinations with at most {most} of the "
        refusal += f"{self.column}s off. The notebook measures any."
        return {
            **{name: getattr(self, name) for name in ("name", "rows", "columns", "row", "column")},
            **{"label": self.label or self.name, "value": [], "refusal": refusal},
            "options": [sorted(option) for option in self.options],
            "shades": shades.round(3).tolist(),
            "kinds": [[names.index(kind) for kind in row] for row in kinds],
            "names": [str(name) for name in names],
        }

    def trait(self) -> Any:
        indices = (traitlets.Int(min=0, max=count - 1) for count in (self.rows, self.columns))
        return traitlets.List(traitlets.Tuple(*indices))


class Switchboard(Explorer):
    """Explorer whose controls may be switches, and whose panel may be a table of trials."""

    module: ClassVar = SCRIPTS / "switchboard.js"
    _css = style(PAGE / "figure.css", SCRIPTS / "switches.css")
