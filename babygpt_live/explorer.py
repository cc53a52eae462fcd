"""Explorers: something measured for the values of some controls, and panels of it; and the controls."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from babygpt.errors import BadInput
from babygpt_live.panel import Panel, as_plain
from babygpt_live.still import draw_still
from babygpt_live.view import PAGE, LiveOutput, Output, Still, script, style

Values = Mapping[str, Any]  # name of a control -> its value


class Control(ABC):
    """Named value that a reader can set on the page.

    name   of the value
    label  shown beside it, with the unit; by default the name
    """

    name: str
    label: str

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return what a page needs to know of the control, as JSON; "value" is the first one."""

    @abstractmethod
    def trait(self) -> Any:
        """Return a new trait that holds the value."""


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

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high or self.low == self.high:
            bounds = f"its ends {self.low} and {self.high}"
            raise BadInput(f"{self.name} starts at {self.value}, which must lie between {bounds}")

    @abstractmethod
    def stops(self) -> Sequence[float]:
        """Return all values it can take, from low to high."""

    def facts(self) -> dict[str, Any]:
        label = self.label or self.name
        return {"name": self.name, "label": label, "value": self.value, "stops": list(self.stops())}

    def trait(self) -> Any:
        return traitlets.Float(float(self.value), min=self.low, max=self.high)


@dataclass(frozen=True)
class Slider(Range):
    """Whole number between two ends.

    step  from one stop to the next
    """

    step: int = 1

    def stops(self) -> list[float]:
        """Return all values it can take, from low to high."""
        return list(range(int(self.low), int(self.high) + 1, self.step))

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "step": self.step}


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

    options  the values, or (label, value) of each
    value    at first; by default that of the first option
    """

    name: str
    options: Sequence[Any]
    label: str = ""
    value: Any = None

    def pairs(self) -> list[tuple[str, Any]]:
        """Return the label and the value of each option."""
        return [option if isinstance(option, tuple) else (str(option), option) for option in self.options]

    def facts(self) -> dict[str, Any]:
        labels, options = zip(*self.pairs(), strict=True)
        facts = {"name": self.name, "label": self.label or self.name, "value": self.start()}
        return {**facts, "options": list(options), "labels": list(labels)}

    def trait(self) -> Any:
        return traitlets.Enum([option for _, option in self.pairs()], self.start())

    def start(self) -> Any:
        """Return the value that is chosen at first."""
        return self.pairs()[0][1] if self.value is None else self.value


@dataclass(frozen=True)
class Line(Control):
    """Line of text that the learner types.

    value  at first
    """

    name: str
    value: str
    label: str = ""

    def facts(self) -> dict[str, Any]:
        return {"name": self.name, "label": self.label or self.name, "value": self.value, "text": True}

    def trait(self) -> Any:
        return traitlets.Unicode(self.value)


class Controlled(anywidget.AnyWidget):
    """Widget with controls. Each is a trait of its name: cells can read it, set it and observe it.

    title     in a word or two
    module    the script that draws it
    controls  sliders, scales, choices and lines
    Setting a value outside its control raises traitlets.TraitError, which names both.
    """

    _css = style(PAGE / "figure.css")
    title = traitlets.Unicode().tag(sync=True)
    controls: Any = traitlets.List().tag(sync=True)

    def __init__(self, title: str, module: Path, controls: Sequence[Control], **more: Any) -> None:
        facts = [control.facts() for control in controls]
        super().__init__(title=title, controls=facts, _esm=script(module), **more)
        self.add_traits(**{control.name: control.trait().tag(sync=True) for control in controls})

    output: Output  # shows it, and a still for readers without a kernel

    def _ipython_display_(self) -> None:
        self.output._ipython_display_()

    def __repr__(self) -> str:
        return f"<explorer: {self.title}>"

    def values(self) -> dict[str, Any]:
        """Return the present value of each control, by name."""
        return {facts["name"]: self.value_of(facts) for facts in self.controls}

    def value_of(self, facts: Values) -> Any:
        """Return the value of a control: of a slider, a whole number."""
        setting = getattr(self, facts["name"])
        return round(setting) if "step" in facts else setting

    def state(self) -> dict[str, Any]:
        """Return what a page needs, as JSON: title, controls, and the value of each control."""
        return {"title": self.title, "controls": self.controls, **self.values()}


class Explorer(Controlled):
    """Panels that follow their controls.

    title      of the explorer, in a word or two
    measure    takes the values of the controls that the kernel needs, by name; may raise BadInput
    panels     takes what was measured, and the values of all controls; returns panels, or, if `frames_by`
               names a control, a list of panels for each of its stops
    controls   that a reader can move
    in_page    names of controls that only the page needs: they choose a head, or a letter
    frames_by  name of the control that chooses among the lists of panels, in the page alone
    together   names of controls that a recording moves, in all their combinations; the others stand still
    limits     takes all values, and returns the highest value of controls that have one, by name
    Raises whatever `measure` and `panels` raise for the first values of the controls.
    """

    module: ClassVar = PAGE / "explorer.js"
    shown: Any = traitlets.Dict().tag(sync=True)  # frames, what they were measured for, limits, problem

    def __init__(
        self,
        title: str,
        measure: Callable[..., Any],
        panels: Callable[[Any, Values], Sequence[Any]],
        controls: Sequence[Control],
        in_page: Sequence[str] = (),
        frames_by: str = "",
        together: Sequence[str] = (),
        limits: Callable[[Values], Mapping[str, float]] | None = None,
    ) -> None:
        self.measure, self.panels, self.together = measure, panels, tuple(together)
        self.frames_by, self.limits = frames_by, limits or (lambda values: {})
        super().__init__(title, self.module, controls)
        self.asked = [control.name for control in controls if control.name not in (*in_page, frames_by)]
        self.shown = self.answer()
        self.observe(self.follow, names=self.asked)
        self.output = LiveOutput(self, repr(self), self.picture)
        self.add_class("babygpt-explorer")  # Tests and your own style sheet find it by this class.

    def kernel_values(self, values: Values) -> dict[str, Any]:
        """Return those of some values that the kernel needs, by name."""
        return {name: values[name] for name in self.asked}

    def follow(self, _: Any = None) -> None:
        """Measure for the present values; keep what is shown, and say why, if that is refused."""
        settings = self.kernel_values(self.values())
        if self.shown["asked"] == settings:
            return  # The change of one value already measured for all that changed together.
        try:
            self.shown = self.answer()
        except Exception as error:  # whatever a learner's own function raises belongs on the page
            kind = "" if isinstance(error, BadInput) else f"{type(error).__name__}: "
            self.shown = {**self.shown, "asked": settings, "problem": f"{kind}{error}"}

    def answer(self, **instead: Any) -> dict[str, Any]:
        """Measure for the present values, or for others, by name; return what the page shows then."""
        values = {**self.values(), **instead}
        packed_frames = [[as_plain(panel) for panel in frame] for frame in self.frames(values)]
        state = {
            "asked": self.kernel_values(values),
            "frames": packed_frames,
            "frames_by": self.frames_by,
            "problem": "",
        }
        return {**state, "limits": dict(self.limits(values))}

    def frames(self, values: Values) -> list[list[Panel]]:
        """Return the panels for some values: one list of them, or one for each stop of `frames_by`."""
        measurement = self.measure(**self.kernel_values(values))
        panels = self.panels(measurement, values)
        return [list(frame) for frame in panels] if self.frames_by else [list(panels)]

    def now(self) -> list[Panel]:
        """Return the panels for the present values."""
        values = self.values()
        frames = self.frames(values)
        if not self.frames_by:
            return frames[0]
        (stops,) = (facts["stops"] for facts in self.controls if facts["name"] == self.frames_by)
        return frames[min(stops.index(values[self.frames_by]), len(frames) - 1)]

    def picture(self) -> Still:
        """Return the panels for the present values as a picture."""
        return still_of(self.now(), f"explorer: {self.title}")


def still_of(panels: Sequence[Panel], title: str, strip: Panel | None = None) -> Still:
    """Return panels as a still picture.

    title  the first words of its description
    strip  drawn low below the others
    """
    svg, words, width = draw_still(panels, strip)
    return Still(svg.encode(), "image/svg+xml", f"{title}: {words}", width)
