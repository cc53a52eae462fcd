"""Controls that a learner can move: a slider, a choice, a line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets

from babygpt.errors import BadInput

DESCRIPTION = {"description_width": "9em"}
WIDE = {"width": "auto"}  # all of its column
COLUMNS = "repeat(auto-fit, minmax(min(24em, 100%), 1fr))"  # as many as fit


class Control:
    """Named value with a widget that sets it.

    name   of the argument that gets the value
    label  shown beside the widget, with the unit; by default the name
    """

    name: str
    label: str

    def widget(self) -> Any:
        """Make a new widget that sets this value, with the label beside it."""
        raise NotImplementedError

    def look(self) -> dict[str, Any]:
        """Return the options that all widgets share."""
        return {"description": self.label or self.name, "style": DESCRIPTION, "layout": WIDE}


def format_number(number: float) -> str:
    """Write a number with three digits and no powers of ten: 0.1, 31.6, 10,000."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def require_between(control: str, value: float, low: float, high: float) -> None:
    """Raise a BadInput naming the control unless low < high and low <= value <= high."""
    if not low < high:
        raise BadInput(f"{control} ends at {high}, which must lie above its beginning, {low}")
    if not low <= value <= high:
        raise BadInput(f"{control} starts at {value}, outside its ends {low} and {high}")


@dataclass(frozen=True)
class Slider(Control):
    """Whole number between two ends, both included.

    value  at first
    step   from one stop to the next
    Raises BadInput if value lies outside its ends, or value or high is not a whole number of steps above low.
    """

    name: str
    value: int
    low: int
    high: int
    label: str = ""
    step: int = 1

    def __post_init__(self) -> None:
        require_between(self.name, self.value, self.low, self.high)
        if self.step < 1:
            raise BadInput(f"{self.name} moves in steps of {self.step}; a step is at least 1")
        for number in (self.value, self.high):
            if (number - self.low) % self.step:
                raise BadInput(f"{self.name} cannot be {number}: not {self.low} plus steps of {self.step}")

    def widget(self) -> Any:
        return ipywidgets.IntSlider(self.value, self.low, self.high, self.step, **self.look())


@dataclass(frozen=True)
class Scale(Control):
    """Number above zero on a logarithmic scale, ten stops for each power of ten.

    value  at first
    Raises BadInput if value lies outside its ends, or the ends are not finite and above 0.
    """

    name: str
    value: float
    low: float
    high: float
    label: str = ""

    def __post_init__(self) -> None:
        if not (self.low > 0 and math.isfinite(self.high)):
            raise BadInput(
                f"{self.name} goes from {self.low} to {self.high}; both must be above 0 and finite"
            )
        require_between(self.name, self.value, self.low, self.high)

    def widget(self) -> Any:
        options = [(format_number(stop), stop) for stop in self.stops()]
        return ipywidgets.SelectionSlider(value=self.value, options=options, **self.look())

    def stops(self) -> list[float]:
        """Return all values it can take, from low to high, the first one among them."""
        stops, i = {self.low, self.value, self.high}, 0
        while (stop := float(f"{self.low * 10 ** (i / 10):.3g}")) < self.high:
            stops.add(max(stop, self.low))
            i += 1
        return sorted(stops)


THETA = Scale("theta", 10_000.0, 10.0, 1_000_000.0, "θ")  # of RoPE's and the sinusoid's frequencies


@dataclass(frozen=True)
class Choice(Control):
    """One of several values.

    options  the values; the first one is chosen at first
    Raises BadInput if there are no options.
    """

    name: str
    options: Sequence[Any]
    label: str = ""

    def __post_init__(self) -> None:
        if not self.options:
            raise BadInput(f"{self.name} has no options; a choice needs at least 1")

    def widget(self) -> Any:
        return ipywidgets.Dropdown(options=list(self.options), **self.look())


@dataclass(frozen=True)
class Line(Control):
    """Line of text that the learner types.

    value  at first
    """

    name: str
    value: str
    label: str = ""

    def widget(self) -> Any:
        return ipywidgets.Text(
            self.value, **self.look() | {"layout": {"width": "auto", "grid_column": "1 / -1"}}
        )


def grid(widgets: Sequence[Any]) -> ipywidgets.GridBox:
    """Lay widgets out in as many columns as fit."""
    layout = {"width": "100%", "grid_template_columns": COLUMNS, "grid_gap": "0 1.5em"}
    return ipywidgets.GridBox(list(widgets), layout=layout)
