"""Explorer: a function under sliders, and a picture of what it returns; and the controls that it may have."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets

from babygpt.errors import BadInput
from babygpt.live.canvas import Canvas
from babygpt.live.view import View

DESCRIPTION = {"description_width": "10.5em"}
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


@dataclass(frozen=True)
class Range(Control):
    """Number between two ends, both included.

    value  at first
    Raises BadInput if value lies outside its ends.
    """

    name: str
    value: float
    low: float
    high: float
    label: str = ""

    def stops(self) -> Sequence[float]:
        """Return all values it can take, from low to high."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high or self.low == self.high:
            ends = f"its ends {self.low} and {self.high}"
            raise BadInput(f"{self.name} starts at {self.value}, which must lie between {ends}")


@dataclass(frozen=True)
class Slider(Range):
    """Whole number between two ends.

    step  from one stop to the next
    """

    step: int = 1

    def widget(self) -> Any:
        return ipywidgets.IntSlider(self.value, self.low, self.high, self.step, **self.look())

    def stops(self) -> list[float]:
        """Return all values it can take, from low to high."""
        return list(range(int(self.low), int(self.high) + 1, self.step))


@dataclass(frozen=True)
class Scale(Range):
    """Number above zero on a logarithmic scale, ten stops for each power of ten.

    doubling  the stops are the ends' powers of two, and one between two of these
    Raises BadInput if the ends are not finite and above 0.
    """

    doubling: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.low > 0 and math.isfinite(self.high)):
            raise BadInput(
                f"{self.name} goes from {self.low} to {self.high}; each must be above 0 and finite"
            )

    def widget(self) -> Any:
        options = [(format_number(stop), stop) for stop in self.stops()]
        return ipywidgets.SelectionSlider(value=self.value, options=options, **self.look())

    def stops(self) -> list[float]:
        """Return all values it can take, from low to high, the first one among them."""
        stops, i = {self.low, self.value, self.high}, 0
        if self.doubling:  # 1, 2, 3, 4, 6, 8, 12, ...
            twice = range(round(math.log2(self.high / self.low)) + 1)
            powers = [self.low * 2.0**i for i in twice]
            return sorted(stops.union(powers, (1.5 * power for power in powers[1:-1])))
        while (stop := float(f"{self.low * 10 ** (i / 10):.3g}")) < self.high:
            stops.add(max(stop, self.low))
            i += 1
        return sorted(stops)


@dataclass(frozen=True)
class Choice(Control):
    """One of several values.

    options  the values, one or more; the first one is chosen at first
    """

    name: str
    options: Sequence[Any]
    label: str = ""

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
        whole_row = {"layout": WIDE | {"grid_column": "1 / -1"}}
        return ipywidgets.Text(self.value, continuous_update=False, **self.look() | whole_row)


def grid(widgets: Sequence[Any]) -> ipywidgets.GridBox:
    """Lay widgets out in as many columns as fit."""
    layout = {"width": "100%", "grid_template_columns": COLUMNS, "grid_gap": "0 1.5em"}
    return ipywidgets.GridBox(list(widgets), layout=layout)


class Explorer(View):
    """Picture that follows its controls.

    title    of the explorer, in a word or two
    measure  takes the controls' values, by name, and returns what `draw` draws; may raise BadInput
    draw     draws the measurement on one or more Axes; called again, it moves what it drew
    controls that the learner can move
    widths   of the Axes, relative to each other
    height   of the picture, inches, at a width of WIDTH inches
    together names of the controls that a recording moves, in all their combinations; the others stand still
    Raises whatever `measure` and `draw` raise for the first values of the controls.
    """

    def __init__(
        self,
        title: str,
        measure: Callable[..., Any],
        draw: Callable[..., None],
        controls: Sequence[Control],
        widths: Sequence[float] = (1.0,),
        height: float = 3.4,
        together: Sequence[str] = (),
    ) -> None:
        self.together = tuple(together)
        self.measure, self.draw_on = measure, draw
        self.controls = {control.name: control.widget() for control in controls}
        self.initial = {name: widget.value for name, widget in self.controls.items()}
        reset = ipywidgets.Button(description="reset", icon="undo", layout={"width": "7em"})
        reset.on_click(self.reset)
        rows = [grid([*self.controls.values(), reset])]
        super().__init__(f"explorer: {title}", rows, Canvas(widths, height))
        for widget in self.controls.values():  # on whichever thread: the painter reads the widget's value
            widget.observe(self.wake, names="value")

    def reset(self, _: Any = None) -> None:
        """Set every control to its first value."""
        for name, widget in self.controls.items():
            widget.value = self.initial[name]

    def draw(self) -> None:
        self.draw_values({name: widget.value for name, widget in self.controls.items()})

    def draw_values(self, values: Mapping[str, Any]) -> None:
        """Draw the measurement for these values, by name, whatever the controls show."""
        self.draw_on(*self.canvas.axes, self.measure(**values))
