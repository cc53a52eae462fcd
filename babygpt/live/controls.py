"""What a learner can move: a slider, a choice, a line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import ipywidgets

from babygpt.errors import BadInput

DESCRIPTION = {"description_width": "9em"}
WIDE = {"width": "auto"}  # all of its column
COLUMNS = "repeat(auto-fit, minmax(min(24em, 100%), 1fr))"  # as many as fit


class Control:
    """A named value with a widget that sets it.

    name   of the argument that gets the value
    label  what stands beside it, with the unit; by default its name
    """

    name: str
    label: str
    widget_class: ClassVar[type[ipywidgets.Widget]]

    def widget(self) -> Any:
        """Make a new widget that sets this value, with the label beside it."""
        options = {"style": DESCRIPTION, "layout": WIDE, **self.options_of_widget()}
        return self.widget_class(description=self.label or self.name, **options)

    def options_of_widget(self) -> dict[str, Any]:
        """Return the arguments of the widget that differ from control to control."""
        raise NotImplementedError


def format_number(number: float) -> str:
    """Write a number with three digits and no powers of ten: 0.1, 31.6, 10,000."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def require_between(control: str, value: float, low: float, high: float) -> None:
    """Raise a BadInput naming the control if its value does not lie between its ends."""
    if not low < high:
        raise BadInput(f"{control} ends at {high}, which must lie above its beginning, {low}")
    if not low <= value <= high:
        raise BadInput(f"{control} starts at {value}, outside its ends {low} and {high}")


@dataclass(frozen=True)
class Slider(Control):
    """A whole number between two ends, both included.

    value  where it stands at first
    step   from one stop to the next
    Raises BadInput if value lies outside its ends, or value or high is no whole number of steps above
    `low`.
    """

    name: str
    value: int
    low: int
    high: int
    label: str = ""
    step: int = 1

    widget_class = ipywidgets.IntSlider

    def __post_init__(self) -> None:
        require_between(self.name, self.value, self.low, self.high)
        if self.step < 1:
            raise BadInput(f"{self.name} moves in steps of {self.step}; a step is at least 1")
        for number in (self.value, self.high):
            if (number - self.low) % self.step:
                raise BadInput(
                    f"{self.name} cannot stand at {number}: not {self.low} plus steps of {self.step}"
                )

    def options_of_widget(self) -> dict[str, Any]:
        return {"value": self.value, "min": self.low, "max": self.high, "step": self.step}


@dataclass(frozen=True)
class Scale(Control):
    """A number above zero on a logarithmic scale, ten stops for each power of ten.

    value  where it stands at first
    Raises BadInput if value lies outside its ends, or low is not above 0.
    """

    name: str
    value: float
    low: float
    high: float
    label: str = ""

    widget_class = ipywidgets.SelectionSlider

    def __post_init__(self) -> None:
        if not self.low > 0:
            raise BadInput(f"{self.name} begins at {self.low}; a logarithmic scale begins above 0")
        if not math.isfinite(self.high):
            raise BadInput(f"{self.name} ends at {self.high}; a scale has an end")
        require_between(self.name, self.value, self.low, self.high)

    def options_of_widget(self) -> dict[str, Any]:
        return {"value": self.value, "options": [(format_number(stop), stop) for stop in self.stops()]}

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
    Raises BadInput if there is nothing to choose from.
    """

    name: str
    options: Sequence[Any]
    label: str = ""

    widget_class = ipywidgets.Dropdown

    def __post_init__(self) -> None:
        if not self.options:
            raise BadInput(f"{self.name} has no options; a choice needs at least 1")

    def options_of_widget(self) -> dict[str, Any]:
        return {"options": list(self.options)}


@dataclass(frozen=True)
class Line(Control):
    """A line of text that the learner types.

    value  what stands there at first
    """

    name: str
    value: str
    label: str = ""

    widget_class = ipywidgets.Text

    def options_of_widget(self) -> dict[str, Any]:
        return {"value": self.value, "layout": {"width": "auto", "grid_column": "1 / -1"}}


def grid(widgets: Sequence[Any]) -> ipywidgets.GridBox:
    """Lay widgets out in as many columns as fit."""
    return ipywidgets.GridBox(
        list(widgets), layout={"width": "100%", "grid_template_columns": COLUMNS, "grid_gap": "0 1.5em"}
    )
