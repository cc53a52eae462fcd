"""Record what a live picture shows for many positions of its controls: pictures on disk, and which is which.

Not every combination is drawn. Controls that belong together (`Explorer.together`) are drawn in all their
combinations; every other one alone, while the rest stand where they stood.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ipywidgets
import numpy as np

from babygpt.errors import BadInput
from babygpt.live.canvas import DRAWING_LOCK, Canvas
from babygpt.live.dashboard import Dashboard
from babygpt.live.explorer import Explorer
from tools.book.panels import Panels

PIXELS = 1540  # of a picture's width: a third of it fills a telephone
MOST = 100  # pictures of one group of controls
STOPS = 17  # of one control
FEW = 6  # stops that are all kept
STEPS = 24  # pictures of a training
STEP = "step"  # the only control of a recorded training


@dataclass
class Recording:
    """Pictures, and which of them belongs to which position of the controls.

    title     in a word or two
    controls  name, label, kind ("range" or "select"), the words of each stop, and the stop at rest
    fixed     (label, words) of what a page cannot change
    beyond    what only the notebook can do, in a sentence
    groups    which controls (by number) are drawn in all combinations, and the number of the picture of each
              combination, the last control's stops following each other
    pictures  the file names of its panels and what it says in words; or, of a combination that is refused,
              only why
    sizes     (width, height) of each panel, pixels
    """

    title: str
    controls: list[dict[str, Any]]
    fixed: list[tuple[str, str]] = field(default_factory=list)
    beyond: str = "In the notebook everything moves at once, and in finer steps."
    groups: list[dict[str, list[int]]] = field(default_factory=list)
    pictures: list[dict[str, Any]] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)

    def number_of(self, picture: dict[str, Any]) -> int:
        """Return a picture's number, and keep it if it is new."""
        if picture not in self.pictures:
            self.pictures.append(picture)
        return self.pictures.index(picture)


def thinned(n: int, most: int, rest: int) -> list[int]:
    """Return at most `most` of the numbers below n, evenly spread: both ends and `rest` are among them."""
    chosen = {int(i) for i in np.linspace(0, n - 1, min(n, max(most, 2))).round()}
    if rest not in chosen:
        inner = chosen - {0, n - 1}
        chosen -= {min(inner, key=lambda i: abs(i - rest))} if inner else set()
    return sorted(chosen | {rest})


def stops_of(widget: Any) -> list[tuple[str, Any]]:
    """Return the words and the value of all that a control can be set to; nothing for a line of text."""
    if isinstance(widget, ipywidgets.IntSlider):
        return [(f"{i:,}", i) for i in range(widget.min, widget.max + 1, widget.step)]
    return [
        (str(option[0]), option[1]) if isinstance(option, tuple) else (str(option), option)
        for option in getattr(widget, "options", ())
    ]


def groups_of(names: Sequence[str], together: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the groups of controls to be recorded: those that belong together, and each other one alone."""
    grouped = {name for group in together for name in group}
    return [*map(tuple, together), *((name,) for name in names if name not in grouped)]


def stops_in(
    groups: Sequence[Sequence[str]], options: Mapping[str, int], sliders: set[str]
) -> dict[str, int]:
    """Return how many stops of each control are recorded, so that no group has more than MOST pictures.

    groups   of controls
    options  how many stops each control has
    sliders  the controls whose stops may be thinned out
    """
    most = dict(options)
    for group in groups:
        moving = [name for name in group if name in sliders and options[name] > FEW]
        fixed = math.prod(options[name] for name in group if name not in moving)
        share = int((MOST / fixed) ** (1 / max(1, len(moving))) + 1e-9)
        most.update({name: min(most[name], STOPS, max(2, share)) for name in moving})
    return most


def record_explorer(explorer: Explorer, folder: Path) -> Recording:
    """Draw an explorer along its controls, and store the pictures.

    explorer  as it stands: that is the picture at rest
    folder    where the files go
    """
    rest = {name: widget.value for name, widget in explorer.controls.items()}
    stops, groups = recorded_stops(explorer)
    recording = Recording(explorer.title.removeprefix("explorer: "), [])
    for name, widget in explorer.controls.items():
        if name in stops:
            recording.controls.append(control_facts(name, widget, stops[name]))
        else:
            recording.fixed.append((widget.description, str(rest[name])))
    values = {name: [value for _, value in chosen] for name, chosen in stops.items()}

    def draw(chosen: Mapping[str, Any]) -> None:
        explorer.draw_values({**rest, **chosen})

    record(recording, explorer.canvas, draw, groups, values, folder)
    return recording


def recorded_stops(explorer: Explorer) -> tuple[dict[str, list[tuple[str, Any]]], list[tuple[str, ...]]]:
    """Return the stops, words and value, at which each control is recorded, and the groups of controls.

    A control that has no stops, such as a line of text, or only one, is not recorded.
    """
    stops = {name: stops_of(widget) for name, widget in explorer.controls.items()}
    stops = {name: found for name, found in stops.items() if len(found) > 1}
    sliders = {name for name in stops if not is_choice(explorer.controls[name])}
    together = [tuple(name for name in group if name in stops) for group in explorer.together]
    groups = groups_of(list(stops), [group for group in together if group])
    most = stops_in(groups, {name: len(found) for name, found in stops.items()}, sliders)
    for name, found in stops.items():
        at = [value for _, value in found].index(explorer.controls[name].value)
        stops[name] = [found[i] for i in thinned(len(found), most[name], at)]
    return stops, groups


def control_facts(name: str, widget: Any, stops: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return what a page needs to make a control like this one."""
    return {
        "name": name,
        "label": widget.description,
        "kind": "select" if is_choice(widget) else "range",
        "stops": [words for words, _ in stops],
        "rest": [value for _, value in stops].index(widget.value),
    }


def is_choice(widget: Any) -> bool:
    return isinstance(widget, ipywidgets.Dropdown)


def record_replay(dashboard: Dashboard, folder: Path) -> Recording | None:
    """Draw how a training went, from its untrained model to its last step; None if its run is gone.

    dashboard  of a run that is over
    folder     where the files go
    """
    if (run := dashboard.run()) is None:
        return None
    last = len(run.history)
    steps = sorted({round(i * last / (STEPS - 1)) for i in range(STEPS)})
    control = {"name": STEP, "label": "after step", "kind": "range", "rest": len(steps) - 1}
    recording = Recording(run.title, [{**control, "stops": [f"{step:,}" for step in steps]}])
    recording.beyond = "In the notebook it is drawn while the model trains, and can be paused and wound back."
    if dashboard.controls:
        names = " and ".join(widget.description for widget in dashboard.controls.values())
        recording.beyond += f" There {names} can be turned meanwhile."

    def draw(chosen: Mapping[str, Any]) -> None:
        dashboard.draw_step(run, chosen[STEP])

    record(recording, dashboard.canvas, draw, [(STEP,)], {STEP: steps}, folder)
    return recording


def record(
    recording: Recording,
    canvas: Canvas,
    draw: Callable[[Mapping[str, Any]], None],
    groups: Sequence[Sequence[str]],
    values: Mapping[str, Sequence[Any]],
    folder: Path,
) -> None:
    """Draw all combinations of each group of controls, and fill in the recording.

    draw    draws on the canvas what is true for some values, by name; may refuse with a BadInput
    values  of each control's stops
    """
    panels = Panels(canvas, folder)
    names = [control["name"] for control in recording.controls]
    with DRAWING_LOCK:
        canvas.set_size(PIXELS, 1.0)
    panels.set_cuts([pixels for pixels, _ in drawn(canvas, draw, extremes(values)) if pixels is not None])
    recording.sizes = panels.sizes()
    for group in groups:
        combinations = [
            dict(zip(group, chosen, strict=True))
            for chosen in itertools.product(*(values[name] for name in group))
        ]
        pictures = [
            {"refused": words} if pixels is None else {"panels": panels.store(pixels), "alt": words}
            for pixels, words in drawn(canvas, draw, combinations)
        ]
        numbers = [recording.number_of(picture) for picture in pictures]
        recording.groups.append({"controls": [names.index(name) for name in group], "pictures": numbers})


def extremes(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the positions with one control at one of its ends, or in its middle, and the others at rest."""
    return [
        {name: stops[i]}
        for name, stops in values.items()
        for i in sorted({0, len(stops) // 2, len(stops) - 1})
    ]


def drawn(
    canvas: Canvas, draw: Callable[[Mapping[str, Any]], None], positions: Sequence[dict[str, Any]]
) -> Iterator[tuple[np.ndarray | None, str]]:
    """Draw one position after another: its pixels (height, width, 3) and words; None and why if refused."""
    for position in positions:
        try:
            with DRAWING_LOCK:
                draw(position)
                found = canvas.pixels()[..., :3].copy(), canvas.alt_text()
        except BadInput as refused:
            yield None, str(refused)
        else:
            yield found
