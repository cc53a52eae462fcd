"""Record what a live picture shows for many positions of its controls: pictures on disk, and which is which.

Not every combination is drawn. Controls that belong together (`Explorer.together`) are drawn in all their
combinations; every other one alone, while the rest stand where they stood. A picture is cut into its panels,
and each panel is stored once, as a small file.
"""

import hashlib
import itertools
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ipywidgets
import numpy as np
from matplotlib.axes import Axes
from PIL import Image

from babygpt.errors import BadInput
from babygpt.live.canvas import DRAWING_LOCK, Canvas
from babygpt.live.dashboard import Dashboard
from babygpt.live.explorer import Explorer

PIXELS = 1540  # of a picture's width: a third of it fills a telephone
MOST = 100  # pictures of one group of controls
STOPS = 17  # of one control
FEW = 6  # stops that are all kept
STEPS = 24  # pictures of a training
STEP = "step"  # the only control of a recorded training
GAP = 10  # pixels of white between two panels, at least: letters stand closer
MARGIN = 6  # pixels of white above and below a panel
LEVELS = 32  # of each of the three colours: hardly anybody sees it, and files have half the size
FEWER = np.round(np.round(np.arange(256) / 255 * (LEVELS - 1)) / (LEVELS - 1) * 255).astype(np.uint8)

Draw = Callable[[Mapping[str, Any]], None]  # draws on a canvas what is true for some values; may refuse


@dataclass
class Recording:
    """Pictures, and which of them belongs to which position of the controls.

    title     in a word or two
    controls  name, label, kind ("range" or "select"), the words of each stop, and the stop at rest
    fixed     (label, words) of what a page cannot change
    beyond    what only the notebook can do, in a sentence
    groups    which controls (by number) are drawn in all combinations, and the number of the picture of each
              combination, the last control's stops following each other
    pictures  the file names of its panels and its words; or, of a combination that is refused, only why
    sizes     (width, height) of each panel, pixels
    """

    title: str
    controls: list[dict[str, Any]]
    fixed: list[tuple[str, str]] = field(default_factory=list)
    beyond: str = "In the notebook everything moves at once, and in finer steps."
    groups: list[dict[str, list[int]]] = field(default_factory=list)
    pictures: list[dict[str, Any]] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)


# ---------------------------------------------------------------- explorers and trainings


def record_explorer(explorer: Explorer, folder: Path) -> Recording:
    """Draw an explorer along its controls, and store the pictures.

    A control that has no stops, such as a line of text, or only one, is not recorded.

    explorer  as it stands: that is the picture at rest
    folder    where the files go
    """
    recording = Recording(explorer.title.removeprefix("explorer: "), [])
    rest = {name: widget.value for name, widget in explorer.controls.items()}
    stops = {name: stops_of(widget) for name, widget in explorer.controls.items()}
    options = {name: len(found) for name, found in stops.items() if len(found) > 1}
    sliders = {name for name in options if not isinstance(explorer.controls[name], ipywidgets.Dropdown)}
    together = [tuple(name for name in group if name in options) for group in explorer.together]
    grouped = {name for group in together for name in group}
    groups = [*filter(None, together), *((name,) for name in options if name not in grouped)]
    most, values = stops_in(groups, options, sliders), {}
    for name, widget in explorer.controls.items():
        if name not in options:
            recording.fixed.append((widget.description, str(rest[name])))
            continue
        at = [value for _, value in stops[name]].index(rest[name])
        kept = thinned(options[name], most[name], at)
        values[name] = [stops[name][i][1] for i in kept]
        facts = {"name": name, "label": widget.description, "kind": "range" if name in sliders else "select"}
        facts |= {"stops": [stops[name][i][0] for i in kept], "rest": kept.index(at)}
        recording.controls.append(facts)

    def draw(chosen: Mapping[str, Any]) -> None:
        explorer.draw_values({**rest, **chosen})

    record(recording, explorer.canvas, draw, groups, values, folder)
    return recording


def record_replay(dashboard: Dashboard, folder: Path) -> Recording:
    """Draw how a training went, from its untrained model to its last step.

    dashboard  of a run that is over
    folder     where the files go
    """
    run = dashboard.run
    last = len(run.history)
    steps = sorted({round(i * last / (STEPS - 1)) for i in range(STEPS)})
    control = {"name": STEP, "label": "after step", "kind": "range", "rest": len(steps) - 1}
    recording = Recording(run.title, [{**control, "stops": [f"{step:,}" for step in steps]}])
    recording.beyond = "In the notebook it is drawn while the model trains, and can be paused and wound back."
    if dashboard.controls:
        names = " and ".join(widget.description for widget in dashboard.controls.values())
        recording.beyond += f" There {names} can be turned meanwhile."

    def draw(chosen: Mapping[str, Any]) -> None:
        dashboard.draw_step(chosen[STEP])

    record(recording, dashboard.canvas, draw, [(STEP,)], {STEP: steps}, folder)
    return recording


def record(
    recording: Recording,
    canvas: Canvas,
    draw: Draw,
    groups: Sequence[Sequence[str]],
    values: Mapping[str, Sequence[Any]],
    folder: Path,
) -> None:
    """Draw all combinations of each group of controls, and fill in the recording.

    groups  names of controls
    values  of each control's stops
    """
    names = [control["name"] for control in recording.controls]
    with DRAWING_LOCK:
        canvas.set_size(PIXELS, 1.0)
    # One control at one of its ends, or in its middle, and the others at rest: samples of what is white.
    samples = [{name: s[i]} for name, s in values.items() for i in sorted({0, len(s) // 2, len(s) - 1})]
    panels = Panels(
        canvas, folder, [pixels for pixels, _ in drawn(canvas, draw, samples) if pixels is not None]
    )
    recording.sizes = [(right - left, bottom - top) for left, right, top, bottom in panels.boxes]
    for group in groups:
        stops = itertools.product(*(values[name] for name in group))
        numbers = []
        for pixels, words in drawn(canvas, draw, [dict(zip(group, at, strict=True)) for at in stops]):
            picture: dict[str, Any] = {"refused": words}
            if pixels is not None:
                picture = {"panels": panels.store(pixels), "alt": words}
            if picture not in recording.pictures:
                recording.pictures.append(picture)
            numbers.append(recording.pictures.index(picture))
        recording.groups.append({"controls": [names.index(name) for name in group], "pictures": numbers})


def drawn(
    canvas: Canvas, draw: Draw, positions: Sequence[dict[str, Any]]
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


# ---------------------------------------------------------------- which stops


def stops_of(widget: Any) -> list[tuple[str, Any]]:
    """Return the words and the value of all that a control can be set to; nothing for a line of text."""
    if isinstance(widget, ipywidgets.IntSlider):
        return [(f"{i:,}", i) for i in range(widget.min, widget.max + 1, widget.step)]
    return [
        (str(option[0]), option[1]) if isinstance(option, tuple) else (str(option), option)
        for option in getattr(widget, "options", ())
    ]


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


def thinned(n: int, most: int, rest: int) -> list[int]:
    """Return at most `most` of the numbers below n, evenly spread: both ends and `rest` are among them."""
    chosen = {int(i) for i in np.linspace(0, n - 1, min(n, max(most, 2))).round()}
    if rest not in chosen:
        inner = chosen - {0, n - 1}
        chosen -= {min(inner, key=lambda i: abs(i - rest))} if inner else set()
    return sorted(chosen | {rest})


# ---------------------------------------------------------------- panels


class Panels:
    """Cuts pictures of a canvas into its panels, and stores each panel once, named by what is on it.

    A cut is between two Axes where all sample pictures are white, left of the right one's own words; where
    there is no such gap, two Axes stay in one panel. Rows that are always white above and below are cut off.

    canvas   what is drawn on
    folder   where the files go
    samples  (height, width, 3) each
    boxes    left, right, top and bottom of each panel, pixels
    """

    def __init__(self, canvas: Canvas, folder: Path, samples: Sequence[np.ndarray]) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        ink = np.logical_or.reduce([(sample < 255).any(axis=2) for sample in samples])  # (height, width)
        width, cuts = ink.shape[1], []
        for left, right in itertools.pairwise(canvas.axes):
            end = round(left.get_position().x1 * width)
            gap = last_gap(~ink[:, end : left_end(right, canvas)].any(axis=0))
            cuts += [] if gap is None else [end + gap]
        self.boxes = [(a, b, *rows_with_ink(ink[:, a:b])) for a, b in itertools.pairwise([0, *cuts, width])]

    def store(self, pixels: np.ndarray) -> list[str]:
        """Store the panels of a picture, and return their file names."""
        names = []
        for left, right, top, bottom in self.boxes:
            panel = np.ascontiguousarray(pixels[top:bottom, left:right])
            name = hashlib.sha256(repr(panel.shape).encode() + panel.tobytes()).hexdigest()[:12] + ".webp"
            if not (self.folder / name).exists():
                write_picture(panel, self.folder / name)
            names.append(name)
        return names


def write_picture(pixels: np.ndarray, path: Path) -> None:
    """Write a picture in fewer colours as WebP, whole or not at all: others may write the same one now.

    pixels  (height, width, 3)
    """
    part = path.with_name(f"{path.name}.{os.getpid()}")
    Image.fromarray(FEWER[pixels]).save(part, "WEBP", lossless=True, quality=25, method=2)
    part.replace(path)


def left_end(ax: Axes, canvas: Canvas) -> int:
    """Return the column where Axes begin, with the words beside them."""
    words = ax.yaxis.get_tightbbox(canvas.agg.get_renderer()) if ax.yaxis.get_visible() else None
    return int(min(ax.bbox.x0, ax.bbox.x0 if words is None else words.x0))


def rows_with_ink(ink: np.ndarray) -> tuple[int, int]:
    """Return the first row with something in it, and the row after the last, with a little white around."""
    rows = np.flatnonzero(ink.any(axis=1))
    if not len(rows):
        return 0, len(ink)
    return max(0, int(rows[0]) - MARGIN), min(len(ink), int(rows[-1]) + 1 + MARGIN)


def last_gap(white: np.ndarray, least: int = GAP) -> int | None:
    """Return the middle of the last run of at least so many True, None if there is none: (n,) -> below n."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], white, [False])).astype(int)))
    runs = [(begin, end) for begin, end in edges.reshape(-1, 2).tolist() if end - begin >= least]
    return (runs[-1][0] + runs[-1][1] - 1) // 2 if runs else None
