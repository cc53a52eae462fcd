"""Explorer: a function under sliders, and a picture of what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets

from babygpt.errors import BadInput
from babygpt.live.canvas import Canvas
from babygpt.live.controls import Control, grid
from babygpt.live.view import View


class Explorer(View):
    """Picture that follows its controls.

    title    of the explorer, in a word or two
    measure  takes the controls' values, by name, and returns what `draw` draws; may raise BadInput
    draw     draws the measurement on one or more Axes; called again, it moves what it drew
    controls that the learner can move
    widths   of the Axes, relative to each other
    height   of the picture, inches, at a width of WIDTH inches
    together names of controls that belong together: a recording has all combinations of such a group, and
             every other control by itself
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
        together: Sequence[Sequence[str]] = (),
    ) -> None:
        if unknown := sorted({name for group in together for name in group} - {c.name for c in controls}):
            raise BadInput(f"{title} has no controls called {', '.join(unknown)}")
        self.together = tuple(tuple(group) for group in together)
        self.measure, self.draw_on = measure, draw
        self.controls = {control.name: control.widget() for control in controls}
        self.initial = {name: widget.value for name, widget in self.controls.items()}
        reset = ipywidgets.Button(description="reset", icon="undo", layout={"width": "7em"})
        reset.on_click(self.reset)
        rows = [grid([*self.controls.values(), reset])]
        super().__init__(f"explorer: {title}", rows, Canvas(widths, height))
        for widget in self.controls.values():  # on whichever thread: the painter reads the widget's value
            widget.observe(lambda _: self.painter.wake(), names="value")

    def reset(self, _: Any = None) -> None:
        """Set every control to its first value."""
        for name, widget in self.controls.items():
            widget.value = self.initial[name]

    def draw(self) -> None:
        self.draw_values({name: widget.value for name, widget in self.controls.items()})

    def draw_values(self, values: Mapping[str, Any]) -> None:
        """Draw the measurement for these values, by name, whatever the controls show."""
        self.draw_on(*self.canvas.axes, self.measure(**values))
