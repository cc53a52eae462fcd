"""Recordings of live pictures at many positions of their controls: pictures on disk, and which is which.

The controls that an explorer names in `together` are drawn in all their combinations; the others stand still.
A picture is cut into its panels, and each panel is stored once, as a small file.
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
from PIL import Image

from babygpt.errors import BadInput
from babygpt.live.canvas import DRAWING_LOCK, Canvas
from babygpt.live.dashboard import Dashboard
from babygpt.live.explorer import Explorer

PIXELS = 1540  # of a picture's width: a third of it fills a telephone
MOST = 200  # combinations, about
FEW = 8  # stops that are all kept
STEPS = 16  # pictures of a training
STEP, AFTER = "step", "after step"  # the only control of a recorded training, and its label
GAP = 10  # pixels of white between two panels, at least: letters stand closer
LEVELS = 20  # of each of the three colours: hardly anybody sees it, and files have half the size
FEWER = np.round(np.round(np.arange(256) / 255 * (LEVELS - 1)) / (LEVELS - 1) * 255).astype(np.uint8)

Drawn = tuple[np.ndarray | None, str]  # pixels (height, width, 3) and words; None and why if it is refused
Draw = Callable[[Mapping[str, Any]], None]  # draws on a canvas what is true for some values; may refuse


@dataclass
class Recording:
    """Pictures, and which of them belongs to which position of the controls.

    title     in a word or two
    controls  label, kind ("range" or "select"), the words of each stop, and the stop at rest
    beyond    what only the notebook can do, in a sentence
    numbers   number of the picture of each combination; the stops of the last control follow each other
    pictures  the file names of its panels and its words; or, of a combination that is refused, only why
    sizes     (width, height) of each panel, pixels
    """

    title: str
    controls: list[dict[str, Any]]
    beyond: str
    numbers: list[int] = field(default_factory=list)
    pictures: list[dict[str, Any]] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)


# ---------------------------------------------------------------- explorers and trainings


def record_explorer(explorer: Explorer, folder: Path) -> Recording:
    """Draw an explorer in all combinations of the controls that it names, and store the pictures.

    explorer  as it stands: that is the picture at rest
    folder    where the files go
    """
    rest = {name: widget.value for name, widget in explorer.controls.items()}
    stops = {name: stops_of(explorer.controls[name]) for name in explorer.together}
    stops = {name: found for name, found in stops.items() if len(found) > 1}
    most, controls, values = most_stops([len(found) for found in stops.values()]), [], {}
    for name, found in stops.items():
        widget = explorer.controls[name]
        at = [value for _, value in found].index(rest[name])
        is_list = isinstance(widget, ipywidgets.Dropdown)
        kept = list(range(len(found))) if is_list else thinned(len(found), most, at)
        words, values[name] = [found[i][0] for i in kept], [found[i][1] for i in kept]
        kind = "select" if is_list else "range"
        controls.append({"label": widget.description, "kind": kind, "stops": words, "rest": kept.index(at)})
    still = [f"{explorer.controls[name].description} = {rest[name]}" for name in rest if name not in stops]
    beyond = f"these move too: {', '.join(still)}" if still else "it follows your own model"
    recording = Recording(explorer.title.removeprefix("explorer: "), controls, f"In the notebook {beyond}.")
    record(recording, explorer.canvas, lambda at: explorer.draw_values({**rest, **at}), values, folder)
    return recording


def record_replay(dashboard: Dashboard, folder: Path) -> Recording:
    """Draw how a training went, from its untrained model to its last step.

    dashboard  of a run that is over
    folder     where the files go
    """
    last = len(dashboard.run.history)
    steps = sorted({round(i * last / (STEPS - 1)) for i in range(STEPS)})
    control: dict[str, Any] = {"label": AFTER, "kind": "range", "rest": len(steps) - 1}
    beyond = "In the notebook it is drawn while the model trains, and can be paused and wound back."
    if dashboard.controls:
        names = " and ".join(widget.description for widget in dashboard.controls.values())
        beyond += f" There {names} can be turned meanwhile."
    control["stops"] = [f"{step:,}" for step in steps]
    recording = Recording(dashboard.run.title, [control], beyond)
    record(recording, dashboard.canvas, lambda at: dashboard.draw_step(at[STEP]), {STEP: steps}, folder)
    return recording


def record(
    recording: Recording, canvas: Canvas, draw: Draw, values: Mapping[str, Sequence[Any]], folder: Path
) -> None:
    """Draw all combinations of the controls' values, by name, and fill in the recording."""
    with DRAWING_LOCK:
        canvas.set_size(PIXELS, 1.0)
    positions = [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]
    samples = [pixels for pixels, _ in drawn(canvas, draw, positions[:: max(1, len(positions) // 6)])]
    edges = [0, *cuts(canvas, [pixels for pixels in samples if pixels is not None]), PIXELS]
    folder.mkdir(parents=True, exist_ok=True)
    for pixels, words in drawn(canvas, draw, positions):
        picture: dict[str, Any] = {"refused": words}
        if pixels is not None:
            panels = [np.ascontiguousarray(pixels[:, a:b]) for a, b in itertools.pairwise(edges)]
            recording.sizes = [(panel.shape[1], panel.shape[0]) for panel in panels]
            picture = {"panels": [store_panel(panel, folder) for panel in panels], "alt": words}
        if picture not in recording.pictures:
            recording.pictures.append(picture)
        recording.numbers.append(recording.pictures.index(picture))


def drawn(canvas: Canvas, draw: Draw, positions: Sequence[dict[str, Any]]) -> Iterator[Drawn]:
    """Draw one position after another."""
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


def most_stops(numbers: Sequence[int]) -> int:
    """Return how many stops a slider may keep, so that there are about MOST combinations.

    numbers  of stops that the controls have; only those with more than FEW are thinned out
    """
    many = [n for n in numbers if n > FEW]
    return int((MOST * math.prod(many) / math.prod(numbers)) ** (1 / max(1, len(many))) + 1e-9)


def thinned(n: int, most: int, rest: int) -> list[int]:
    """Return about `most` of the numbers below n: evenly spread from `rest`, the first three, and the last.

    A learner who steps from where the slider rests always goes equally far.
    """
    step = math.ceil(n / most) if n > FEW else 1
    return sorted({*range(rest % step, n, step), *range(min(3, n)), n - 1})


# ---------------------------------------------------------------- panels


def cuts(canvas: Canvas, samples: Sequence[np.ndarray]) -> list[int]:
    """Return the columns between two panels: white in all samples, and left of the right panel's own words.

    samples  (height, width, 3) each
    """
    ink = np.logical_or.reduce([(sample < 255).any(axis=(0, 2)) for sample in samples])  # (width,)
    found = []
    for ax in canvas.axes[1:]:
        words = ax.get_tightbbox(canvas.agg.get_renderer())
        assert words is not None
        begin = int(words.x0)
        before = int(np.flatnonzero(ink[:begin])[-1])
        found += [(before + begin) // 2] if begin - before > GAP else []
    return found


def store_panel(panel: np.ndarray, folder: Path) -> str:
    """Store a panel under a name that its pixels make, and return the name.

    panel  (height, width, 3)
    """
    name = hashlib.sha256(repr(panel.shape).encode() + panel.tobytes()).hexdigest()[:12] + ".webp"
    if not (folder / name).exists():
        write_picture(panel, folder / name)
    return name


def write_picture(pixels: np.ndarray, path: Path) -> None:
    """Write a picture in fewer colours as WebP, whole or not at all: others may write the same one now.

    pixels  (height, width, 3)
    """
    part = path.with_name(f"{path.name}.{os.getpid()}")
    Image.fromarray(FEWER[pixels]).save(part, "WEBP", lossless=True, quality=25, method=2)
    part.replace(path)
