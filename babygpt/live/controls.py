"""What a learner can move: a slider, a choice, a line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import ipywidgets

from babygpt.errors import BadInput

DESCRIPTION = {"description_width": "9em"}
WIDE = {"width": "auto"}  # all of its column
COLUMNS = "repeat(auto-fit, minmax(min(24em, 100%), 1fr))"  # as many as there is room for


class Control(Protocol):
    """A named value with a widget that sets it."""

    @property
    def name(self) -> str: ...

    def widget(self) -> Any: ...


def readable(number: float) -> str:
    """Three digits, and no powers of ten: 0.1, 31.6, 10,000."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def require_inside(control: str, value: float, low: float, high: float) -> None:
    """Raise a ValueError naming the control if its value does not lie between its ends."""
    if not low < high:
        raise BadInput(f"{control} ends at {high}, which must lie above its beginning, {low}")
    if not low <= value <= high:
        raise BadInput(f"{control} starts at {value}, outside its ends {low} and {high}")


@dataclass(frozen=True)
class Slider:
    """A whole number between two ends, both included.

    name   the argument it is handed over as
    value  where it stands at first
    label  what stands beside it, with the unit
    Raises ValueError if value lies outside its ends, or value or high is no whole number of steps above
    `low`.
    """

    name: str
    value: int
    low: int
    high: int
    label: str = ""
    step: int = 1

    def __post_init__(self) -> None:
        require_inside(self.name, self.value, self.low, self.high)
        if self.step < 1:
            raise BadInput(f"{self.name} moves in steps of {self.step}; a step is at least 1")
        for number in (self.value, self.high):
            if (number - self.low) % self.step:
                raise BadInput(
                    f"{self.name} cannot stand at {number}: not {self.low} plus steps of {self.step}"
                )

    def widget(self) -> ipywidgets.IntSlider:
        """The slider itself."""
        return ipywidgets.IntSlider(
            self.value,
            self.low,
            self.high,
            self.step,
            description=self.label or self.name,
            style=DESCRIPTION,
            layout=WIDE,
        )


@dataclass(frozen=True)
class Scale:
    """A number above zero on a logarithmic scale, ten stops for each power of ten.

    name   the argument it is handed over as
    value  where it stands at first
    label  what stands beside it, with the unit
    Raises ValueError if value lies outside its ends, or low is not above 0.
    """

    name: str
    value: float
    low: float
    high: float
    label: str = ""

    def __post_init__(self) -> None:
        if not self.low > 0:
            raise BadInput(f"{self.name} begins at {self.low}; a logarithmic scale begins above 0")
        if not math.isfinite(self.high):
            raise BadInput(f"{self.name} ends at {self.high}; a scale has an end")
        require_inside(self.name, self.value, self.low, self.high)

    def widget(self) -> ipywidgets.SelectionSlider:
        """The slider itself."""
        return ipywidgets.SelectionSlider(
            value=self.value,
            options=[(readable(stop), stop) for stop in self.stops()],
            description=self.label or self.name,
            style=DESCRIPTION,
            layout=WIDE,
        )

    def stops(self) -> list[float]:
        """All values it can take, from low to high, the first one among them."""
        stops, i = {self.low, self.value, self.high}, 0
        while (stop := float(f"{self.low * 10 ** (i / 10):.3g}")) < self.high:
            stops.add(max(stop, self.low))
            i += 1
        return sorted(stops)


@dataclass(frozen=True)
class Choice:
    """One of several values.

    name     the argument it is handed over as
    options  the values; the first one is chosen at first
    label    what stands beside it
    Raises ValueError if there is nothing to choose from.
    """

    name: str
    options: Sequence[Any]
    label: str = ""

    def __post_init__(self) -> None:
        if not self.options:
            raise BadInput(f"{self.name} has no options; a choice needs at least 1")

    def widget(self) -> ipywidgets.Dropdown:
        """The menu itself."""
        return ipywidgets.Dropdown(
            options=list(self.options), description=self.label or self.name, style=DESCRIPTION, layout=WIDE
        )


@dataclass(frozen=True)
class Line:
    """A line of text that the learner types.

    name   the argument it is handed over as
    value  what stands there at first
    label  what stands beside it
    """

    name: str
    value: str
    label: str = ""

    def widget(self) -> ipywidgets.Text:
        """The field itself."""
        return ipywidgets.Text(
            self.value,
            description=self.label or self.name,
            style=DESCRIPTION,
            layout={"width": "auto", "grid_column": "1 / -1"},
        )


def grid(widgets: Sequence[Any]) -> ipywidgets.GridBox:
    """Controls in columns."""
    return ipywidgets.GridBox(
        list(widgets), layout={"width": "100%", "grid_template_columns": COLUMNS, "grid_gap": "0 1.5em"}
    )
