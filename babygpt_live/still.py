"""Stills: panels as one SVG picture, for saved notebooks and for readers without a kernel.

Lengths are CSS pixels. A row holds two or three panels: in a notebook's cell, which is about 900 px wide,
letters of 15 px are then 12 px large.
"""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from io import BytesIO
from unicodedata import combining, east_asian_width

import numpy as np

from babygpt_live.panel import (
    DTYPES,
    Arcs,
    Axis,
    Cells,
    Curve,
    Heads,
    Level,
    Panel,
    Trials,
    Words,
    name_ticks,
    pack,
    unpack,
)
from babygpt_live.style import COLOURS, DESIGN_TOKENS

ROW = 1120  # greatest width of a row of panels
WIDTH = 360  # width of a panel of curves
GAP = 20  # space between panels
FONT = 15  # size of letters
LINE = 19  # distance from one line of text to the next
LABEL = 34  # height of the label above a plot
PLOT = 240  # height of a plot
UPPER = 150  # height of a plot that has another one below
LOWER = 80  # height of the plot below
STRIP = 90  # height of a plot that is as wide as its row
SQUARE = 300  # side of the large head
SMALL = 60  # side of a small head
ARCS = 118  # height of a text with its arcs
FAINT = 0.06  # attention weight below which no arc is drawn
MONO = "font-family='ui-monospace,Menlo,Consolas,monospace'"
SIDES = 52  # least space left and right of a plot
BLUE = (43, 123, 189)
RED = (213, 94, 0)
EDGE = "fill='none' stroke='#999'"  # outline of cells
LEAST = 1e-30  # smallest number on a logarithmic axis, and smallest distance of two ticks
POINTS = 300  # A line has about one point for each pixel, because more would not be seen.
INK = "#222"
QUIET = "#555"
GRID = "#ddd"
FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # No XML may hold these.
# The legend shows by these dashes which level a name belongs to; panels.js has the same ones.
DASHES = ("5 3", "1.5 3", "10 3", "9 3 1.5 3")
SAMPLE = 22  # length of a level's line in the legend: two dashes of any kind


def draw_still(panels: Sequence[Panel], strip: Panel | None = None) -> tuple[str, str, int]:
    """Return an SVG picture of panels, its words (the titles), and its width.

    strip  drawn low below the others, and as wide as these
    """
    if strip and len(panels) == 1 and not any(isinstance(mark, Heads) for mark in panels[0].marks):
        panels = [replace(panels[0], width=max(2.0, panels[0].width))]
    drawings = [draw_panel(panel) for panel in panels]
    rows: list[list[Drawing]] = [[]]
    for drawing in drawings:
        if rows[-1] and sum(neighbour.width + GAP for neighbour in rows[-1]) + drawing.width > ROW:
            rows.append([])
        rows[-1].append(drawing)
    if strip:
        wide = max(sum(drawing.width + GAP for drawing in row) for row in rows) - GAP
        rows.append([draw_panel(replace(strip, width=wide / WIDTH), STRIP)])
        panels = [*panels, strip]
    parts, top = [], 0.0
    for row in rows:
        left, head = 0.0, max((drawing.head for drawing in row), default=0.0)
        plot = max((drawing.plot for drawing in row), default=0.0)
        for drawing in row:
            title = write(0, LINE, drawing.title, "font-weight='600'")
            body = f"<g transform='translate(0,{head + plot - drawing.plot:.0f})'>{drawing.svg}</g>"
            parts.append(f"<g transform='translate({left:.0f},{top:.0f})'>{title}{body}</g>")
            left += drawing.width + GAP
        top += head + max((plot - drawing.plot + drawing.height for drawing in row), default=0.0) + GAP
    width = round(max(sum(drawing.width + GAP for drawing in row) for row in rows))
    look = f"font-family='system-ui,sans-serif' font-size='{FONT}' fill='{INK}'"
    size = f"viewBox='0 0 {width} {top:.0f}' width='{width}' height='{top:.0f}'"
    paper = "<rect width='100%' height='100%' fill='white'/>"
    svg = f"<svg xmlns='http://www.w3.org/2000/svg' {size} {look}>{paper}{''.join(parts)}</svg>"
    titles = [(panel.title, panel.below.title if panel.below else "") for panel in panels]
    return svg, "; ".join(upper + (lower and f"; {lower}") for upper, lower in titles), width


@dataclass(frozen=True)
class Drawing:
    """Panel as SVG below its title.

    title   its lines
    width   of all
    head    height of the title
    plot    upper edge of the plot in what is below; those of a row are equally high
    height  of what is below
    """

    title: list[str]
    svg: str
    width: float
    head: float
    plot: float
    height: float


def draw_panel(panel: Panel, tall: float | None = None) -> Drawing:
    """Draw one panel.

    tall  height of a plot of curves
    """
    width, mark = WIDTH * panel.width, panel.marks[0] if panel.marks else None
    wide, below = width, panel.below
    if isinstance(mark, Heads):
        wide, width = SQUARE + SIDES, SQUARE + SIDES + 65 + mark.weights.shape[0] * (SMALL + 5)
        svg, plot, height = draw_heads(panel, mark)
        arcs = [each for each in panel.marks if isinstance(each, Arcs)]
        over = "".join(draw_arcs(each, width) for each in arcs)
        svg = f"{over}<g transform='translate(0,{ARCS * len(arcs)})'>{svg}</g>" if arcs else svg
        plot, height = (6.0, height + ARCS) if arcs else (plot, height)
    elif isinstance(mark, Arcs):
        svg, plot, height = draw_arcs(mark, width), 6.0, ARCS + 12.0
    elif isinstance(mark, Words):
        svg, plot, height = draw_words(mark, width)
    elif isinstance(mark, Trials):
        svg, plot, height = draw_trials(mark, width)
    else:
        svg, plot, height = draw_plot(panel, width, tall or (UPPER if below and not panel.y.ticks else None))
    if below:
        title = wrap(below.title, wide)
        lower, _, tall = draw_plot(below, wide, LOWER, left_of(axes_of(panel)[1], wide))
        svg += write(0, height + LINE, title, "font-weight='600'")
        svg += f"<g transform='translate(0,{height + LINE * len(title):.1f})'>{lower}</g>"
        height += LINE * len(title) + tall
    note = wrap(panel.note, width)
    svg += write(0, height + LINE - 4, note, f"fill='{QUIET}'")
    title = wrap(panel.title, width)
    return Drawing(title, svg, width, LINE * len(title) + 6, plot, height + LINE * len(note))


# ---------------------------------------------------------------- words and numbers


def clean(words: str) -> str:
    """Return text as XML can hold it: as text, never as markup."""
    return escape(FORBIDDEN.sub("�", words))


def measure(words: str) -> float:
    """Return the width of a text in a wide font, because readers have different ones."""
    ems = {c: 1.0 if east_asian_width(c) in "WF" else 0.72 if c.isupper() else 0.58 for c in set(words)}
    return FONT * sum(0.0 if combining(c) else ems[c] for c in words)


def wrap(words: str, room: float) -> list[str]:
    """Return the lines of a text in `room` pixels; a word that is longer is broken."""
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if measure(longer) <= room:
            lines[-1] = longer
            continue
        lines.append("")
        for character in word:
            if lines[-1] and measure(lines[-1] + character) > room:
                lines.append("")
            lines[-1] += character
    return [line for line in lines if line]


def write(x: float, y: float, lines: Sequence[str], look: str = "", anchor: str = "") -> str:
    """Write lines of text; y is the foot of the first one."""
    look += f" text-anchor='{anchor}'" if anchor else ""
    places = (f"x='{x:.1f}' y='{y + LINE * i:.1f}' {look.strip()}" for i in range(len(lines)))
    return "".join(
        f"<text {place.strip()}>{clean(line)}</text>" for place, line in zip(places, lines, strict=True)
    )


def name_number(number: float) -> str:
    """Write a number as the page does: 0.1, −31.6, 10,000."""
    words = f"{number:,.0f}" if abs(number) >= 100 else f"{float(f'{number:.3g}'):.10g}"
    return words.replace("-", "−")


def ticks_of(axis: Axis, n_ticks: int) -> list[tuple[float, str]]:
    """Return (value, name) of an axis's own ticks, or of about `n_ticks` round numbers."""
    low, high = sorted(axis.span)
    if axis.ticks is not None:
        return [(tick, name) for tick, name in axis.ticks if low <= tick <= high]
    if axis.log:
        low, high = max(low, LEAST), max(high, LEAST)
        powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
        return [(10.0**power, name_number(10.0**power)) for power in powers]
    rough = (high - low) / max(2, n_ticks)
    if not LEAST < rough < math.inf:
        return []
    power = 10.0 ** math.floor(math.log10(rough))
    sizes = [n * power for n in (1, 2, 5, 10)]
    counts = [range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1) for step in sizes]
    i = next(i for i, step in enumerate(sizes) if step >= 0.999 * rough)
    i -= i > 0 and len(counts[i]) == 1  # two ticks at least
    return [(n * sizes[i], name_number(n * sizes[i])) for n in counts[i]]


# ---------------------------------------------------------------- plots


@dataclass(frozen=True)
class Frame:
    """Rectangle of a plot, and its axes."""

    x: Axis
    y: Axis
    left: float
    top: float
    width: float
    height: float

    def to_x(self, coordinates: np.ndarray | float) -> np.ndarray:
        """Return where values of x stand."""
        return self.left + self.width * share_of(self.x, coordinates)

    def to_y(self, coordinates: np.ndarray | float) -> np.ndarray:
        """Return where values of y stand."""
        return self.top + self.height * (1 - share_of(self.y, coordinates))

    def box(self) -> str:
        """Return the rectangle as a view box."""
        return f"{self.left:.1f} {self.top:.1f} {self.width:.1f} {self.height:.1f}"

    def place(self) -> str:
        """Return the rectangle as attributes of an element."""
        names = ("x", "y", "width", "height")
        return " ".join(f"{name}='{length}'" for name, length in zip(names, self.box().split(), strict=True))

    def fill(self, look: str, tag: str = "rect") -> str:
        """Return an element that fills the rectangle."""
        return f"<{tag} {self.place()} {look}/>"


def share_of(axis: Axis, coordinates: np.ndarray | float) -> np.ndarray:
    """Return how far values are from the beginning of an axis, as shares of it."""
    low, high, points = (np.asarray(numbers, float) for numbers in (*axis.span, coordinates))
    if axis.log:
        low, high, points = (np.log(np.maximum(numbers, LEAST)) for numbers in (low, high, points))
    with np.errstate(all="ignore"):
        # A point far outside is not drawn, so it may stand at any place there.
        return np.clip((points - low) / ((high - low) or 1.0), -9, 9)


def draw_axes(frame: Frame, lines: bool) -> str:
    """Draw ticks, labels and, if `lines`, a grid. Names that would touch an earlier one are left out."""
    parts, names, bottom, right = [], [], frame.top + frame.height, frame.left + frame.width
    end = -math.inf
    spans: list[tuple[float, float]] = []  # middle and half the height of each name
    across, upright = (ticks_of(frame.x, int(frame.width // 60)), ticks_of(frame.y, int(frame.height // 36)))
    for tick, name in across:
        x = float(frame.to_x(tick))
        if lines and frame.x.ticks is None:
            parts.append(f"<path d='M{x:.1f} {frame.top:.1f}V{bottom:.1f}' stroke='{GRID}'/>")
        half_size = measure(name) / 2 * (len(name) > 1)  # Single letters of a text may stand close.
        if x - half_size >= end:
            names.append(write(x, bottom + LINE, [name], "", "middle"))
            end = x + half_size
    for tick, name in upright:
        y = float(frame.to_y(tick))
        words = [line for part in name.split("\n") for line in wrap(part, max(30.0, frame.left - 6))]
        if lines and frame.y.ticks is None:
            parts.append(f"<path d='M{frame.left:.1f} {y:.1f}H{right:.1f}' stroke='{GRID}'/>")
        half_size = LINE / 2 * len(words) * (len(name) > 1)
        if all(abs(y - middle) >= half_size + half_height - 3 for middle, half_height in spans):
            names.append(write(frame.left - 6, y + 5 - LINE * (len(words) - 1) / 2, words, "", "end"))
            spans.append((y, half_size))
    # Letters of a text, which would touch each other at their own size.
    close = LINE * len(upright) > frame.height or FONT * len(across) > frame.width
    parts += ["<g font-size='12'>", *names, "</g>"] if close else names
    quiet = f"fill='{QUIET}'"
    parts.append(write(right, bottom + 2 * LINE, [frame.x.label], quiet, "end"))
    parts.append(write(0, frame.top - 13, [frame.y.label], quiet))
    return "".join(parts)


def draw_legend(panel: Panel, width: float) -> tuple[str, float]:
    """Return names of curves and levels or the ends of colours, and their height."""
    parts, x, y = [], 0.0, LINE
    for sample, name, room in legend_entries(panel):
        wide = room + 10 + measure(name)
        if x and x + wide > width:
            x, y = 0.0, y + LINE
        lines = wrap(name, width - room - 6)
        parts.append(f"<g transform='translate({x:.0f},{y - 5:.0f})'>{sample}</g>")
        parts.append(write(x + room + 6, y, lines))
        x, y = x + wide + 12, y + LINE * (len(lines) - 1)
    for mark in panel.marks:
        if isinstance(mark, Cells):
            parts.append(draw_colours(panel, mark, y))
    return "".join(parts), y if parts else 0.0


def legend_entries(panel: Panel) -> list[tuple[str, str, int]]:
    """Return the entries of a legend: named curves, then named levels inside the axes.

    returns  a sample of the line, which begins at (0, 0), the name, and the width of the sample
    """
    entries = [
        (f"<path d='M0 0h16' stroke='{clean(mark.colour)}' stroke-width='4'/>", mark.name, 16)
        for mark in panel.marks
        if isinstance(mark, Curve) and mark.name
    ]
    axes = dict(zip("xy", axes_of(panel), strict=True))
    for level, dashes in dashed_levels(panel):
        if level.name and 0 <= share_of(axes[level.axis], level.at) <= 1:
            sample = f"<path d='M0 0h{SAMPLE}' {pen_of(level, dashes)}/>"
            entries.append((sample, level.name, SAMPLE))
    return entries


def dashed_levels(panel: Panel) -> list[tuple[Level, str]]:
    """Return the levels with their dashes: named ones differ, those without a name have the first kind."""
    levels = [mark for mark in panel.marks if isinstance(mark, Level)]
    n_named = np.cumsum([bool(level.name) for level in levels])
    return [
        (level, DASHES[(int(n) - 1) % len(DASHES) if level.name else 0])
        for level, n in zip(levels, n_named, strict=True)
    ]


def pen_of(level: Level, dashes: str) -> str:
    """Return the look of a level as attributes of an element."""
    return f"stroke='{clean(level.colour or INK)}' stroke-width='1.5' stroke-dasharray='{dashes}'"


def draw_colours(panel: Panel, cells: Cells, y: float) -> str:
    """Draw the scale of the colours of cells: three numbers, and colours between them."""
    low, high = cells.low, cells.high
    limits = [low, 0.0 if low < 0 else high / 2, high]
    parts = [write(0, y, [cells.label]) if cells.label else ""]
    x = measure(cells.label)
    for i, limit in enumerate(limits):
        room = measure(name_number(limit)) + 14
        parts.append(write(x + room / 2, y, [name_number(limit)], "", "middle"))
        bar = Frame(panel.x, panel.y, x + room, y - 11, 40, 12)
        x = bar.left + bar.width
        if limit < high:
            shades = np.linspace(limit, limits[i + 1], 41)[None]
            parts.append(paint(shades, low, high, bar) + bar.fill(EDGE))
    return "".join(parts)


def axes_of(panel: Panel) -> tuple[Axis, Axis]:
    """Return x and y of a panel; of cells they count columns, and rows downwards."""
    x, y = panel.x, panel.y
    for mark in panel.marks:
        if isinstance(mark, Cells):
            rows, columns = mark.values.shape
            x, y = replace(x, span=(-0.5, columns - 0.5)), replace(y, span=(rows - 0.5, -0.5))
    return x, y


def left_of(y: Axis, width: float) -> float:
    """Return the room for the names of an upright axis."""
    names = [line for _, name in ticks_of(y, PLOT // 36) for line in name.split("\n")]
    return max(SIDES - 12.0, min(0.45 * width, 8 + max(map(measure, names), default=0.0)))


def draw_plot(
    panel: Panel, width: float, tall: float | None = None, margin: float = 0.0
) -> tuple[str, float, float]:
    """Draw curves, levels and cells with their legend and axes. All lengths are CSS pixels.

    width    of the whole drawing
    tall     height of the plot alone; by default PLOT, or more if the names of rows need it
    margin   least space left of the plot
    returns  the SVG elements, the upper edge of the plot, and the height of the whole drawing
    """
    x, y = axes_of(panel)
    legend, top = draw_legend(panel, width)
    left = max(margin, left_of(y, width))
    height = tall or max(PLOT, LINE * len(y.ticks or ()))
    frame = Frame(x, y, left, top + LABEL, width - left - 12, height)
    inside: list[str] = []
    dots: list[str] = []  # Dots stay whole at the edge of the plot.
    for mark in panel.marks:
        if isinstance(mark, Cells):
            inside.append(paint(mark.values, mark.low, mark.high, frame) + frame.fill(EDGE))
            edges = [frame.to_y(np.array(box) - 0.5) for box in mark.boxes]
            inside += [
                replace(frame, top=float(a), height=float(b - a)).fill(f"fill='none' stroke='{INK}'")
                for a, b in edges
            ]
        elif isinstance(mark, Curve):
            xs, ys = frame.to_x(mark.at()), frame.to_y(np.asarray(mark.y, float))
            inside.append(draw_line(mark, xs, ys, float(frame.to_y(0.0))))
            dots.append(draw_dots(mark, xs, ys, frame))
    inside += [draw_level(level, dashes, frame) for level, dashes in dashed_levels(panel)]
    body = f"<svg {frame.place()} viewBox='{frame.box()}' overflow='hidden'>{''.join(inside)}</svg>"  # clips
    grid = not any(isinstance(mark, Cells) for mark in panel.marks)
    svg = legend + draw_axes(frame, grid) + body + "".join(dots)
    return svg, frame.top, frame.top + height + 2 * LINE + 6


def draw_line(curve: Curve, x: np.ndarray, y: np.ndarray, foot: float) -> str:
    """Draw a line with gaps where numbers are missing, or bars that begin at the foot."""
    ink = f"stroke='{clean(curve.colour)}'"
    if curve.look == "bars":
        finite = np.flatnonzero(np.isfinite(x + y))
        width = max(1.0, 0.8 * np.diff(np.unique(x[finite])).min(initial=40.0))
        bars = "".join(f"M{x[i]:.1f} {foot:.1f}V{y[i]:.1f}" for i in finite)
        return f"<path d='{bars}' {ink} stroke-width='{width:.1f}'/>"
    if curve.look in ("dots", "rings") or not len(y):
        return ""
    stride = -(-len(y) // POINTS)
    x, y = (np.append(part[:-1:stride], part[-1]) for part in (x, y))
    finite = np.flatnonzero(np.isfinite(x + y))
    runs = [run for run in np.split(finite, np.flatnonzero(np.diff(finite) > 1) + 1) if len(run)]
    spots = ["L".join(f"{x[i]:.1f} {y[i]:.1f}" for i in run) for run in runs]
    path = "".join(f"M{spot}" if "L" in spot else f"M{spot}h0" for spot in spots)  # h0 is a dot
    pen = "stroke-width='1' opacity='.4'" if curve.look == "thin" else "stroke-width='2.4'"
    return f"<path d='{path}' fill='none' {ink} {pen} stroke-linejoin='round' stroke-linecap='round'/>"


def draw_dots(curve: Curve, x: np.ndarray, y: np.ndarray, frame: Frame) -> str:
    """Draw a dot or a ring at each point inside a frame."""
    if curve.look not in ("marked", "dots", "rings"):
        return ""
    right, bottom = frame.left + frame.width, frame.top + frame.height
    inside = (x > frame.left - 0.1) & (x < right + 0.1) & (y > frame.top - 0.1) & (y < bottom + 0.1)
    dots = "".join(f"<circle cx='{x[i]:.1f}' cy='{y[i]:.1f}' r='4'/>" for i in np.flatnonzero(inside))
    ink = clean(curve.colour)
    look = f"fill='none' stroke='{ink}' stroke-width='1.8'" if curve.look == "rings" else f"fill='{ink}'"
    return f"<g {look}>{dots}</g>"


def draw_level(level: Level, dashes: str, frame: Frame) -> str:
    """Draw a dashed line across a frame."""
    right, bottom = frame.left + frame.width, frame.top + frame.height
    if level.axis == "y":
        path = f"M{frame.left:.1f} {float(frame.to_y(level.at)):.1f}H{right:.1f}"
    else:
        path = f"M{float(frame.to_x(level.at)):.1f} {frame.top:.1f}V{bottom:.1f}"
    return f"<path d='{path}' {pen_of(level, dashes)}/>"


def paint(cells: np.ndarray, low: float, high: float, frame: Frame) -> str:
    """Draw cells in colours, as a picture of one pixel for each that fills a frame; nan is white."""
    from PIL import Image  # Most stills have no cells.

    ink_share = np.nan_to_num(np.clip(np.abs(cells) / (max(-low, high) or 1.0), 0, 1))
    signs = np.where((cells > 0) & (low < 0), -1, 1)
    # A palette has at most 256 colours, so the shares are rounded to whole percents: 201 levels at most.
    levels, index = np.unique(np.round(100 * ink_share) * signs, return_inverse=True)
    ink = np.where(levels[:, None] < 0, RED, BLUE)
    image, buffer = Image.fromarray(index.reshape(cells.shape).astype(np.uint8)), BytesIO()
    image.putpalette((255 + (ink - 255) * np.abs(levels[:, None]) / 100).round().astype(np.uint8).tobytes())
    image.save(buffer, "png", optimize=True)
    png = f"href='data:image/png;base64,{b64encode(buffer.getvalue()).decode()}'"
    look = "preserveAspectRatio='none' style='image-rendering:pixelated'"
    return frame.fill(f"{look} {png}", "image")


# ---------------------------------------------------------------- heads, words, trials


def draw_heads(panel: Panel, mark: Heads) -> tuple[str, float, float]:
    """Draw one head large, all heads small, and the row of a letter as bars. Return as draw_plot does."""
    length, span = len(mark.letters), (-0.5, len(mark.letters) - 0.5)
    # The page draws packed weights, and a still must round the shares in its words alike.
    weights = unpack(pack(mark.weights, DTYPES["weights"]))
    ticks = name_ticks(mark.letters) if SQUARE / length >= 8 else []
    x, y = (Axis(axis.label, span, ticks) for axis in (panel.x, panel.y))
    boxes = [] if mark.letter is None else [(mark.letter, mark.letter + 1)]
    cells = Cells(weights[mark.chosen], 1.0, boxes=boxes, label=mark.label)
    svg, top, height = draw_plot(replace(panel, marks=[cells], x=x, y=y), SQUARE + SIDES, SQUARE)
    small, tall = draw_small_heads(mark, weights, SQUARE + SIDES + 6, top)
    return svg + small, top, max(height, top + tall)


def draw_arcs(mark: Arcs, width: float) -> str:
    """Draw a text on a line, and arcs from one letter to others, as drawArc of figure.js does."""
    weights = unpack(pack(mark.weights, DTYPES["weights"]))  # The page draws packed weights.
    full = 1.05 if any(letter > "\u2e80" for letter in mark.letters) else 0.62
    step = min(width / len(mark.letters), 22.0)
    size = min(step / full, 25.0)
    base = ARCS - 0.35 * size
    top, x = base - 0.95 * size, step * (np.arange(len(mark.letters)) + 0.5)
    colour, paths = clean(mark.colour), []
    for i, weight in enumerate(weights.tolist()):
        if weight < FAINT or i == mark.letter:
            continue
        up = min(top - 4, 12 + 0.38 * abs(x[i] - x[mark.letter]))
        high = top - up / 0.75  # A cubic reaches three quarters of it.
        curve = f"M{x[mark.letter]:.1f} {top:.1f}C{x[mark.letter]:.1f} {high:.1f} {x[i]:.1f} {high:.1f}"
        look = f"stroke-width='{1 + 5 * weight:.2f}' stroke-opacity='{0.3 + 0.7 * weight:.2f}'"
        paths.append(f"<path d='{curve} {x[i]:.1f} {top:.1f}' {look}/>")
    place = f"x='{x[mark.letter] - step / 2:.1f}' y='{base - 0.9 * size:.1f}' width='{step:.1f}'"
    spot = f"<rect {place} height='{1.25 * size:.1f}' rx='4' fill='{colour}' fill-opacity='0.18'/>"
    letters = "".join(write(x[i], base, [letter]) for i, letter in enumerate(mark.letters))
    lines = f"<g fill='none' stroke='{colour}' stroke-linecap='round'>{''.join(paths)}</g>"
    return f"{spot}{lines}<g {MONO} font-size='{size:.1f}' text-anchor='middle'>{letters}</g>"


def draw_small_heads(mark: Heads, weights: np.ndarray, left: float, top: float) -> tuple[str, float]:
    """Draw all heads in one picture, which is smaller than one for each, with white cells between them.

    returns  the picture with names, and its height
    """
    layers, heads, length, _ = weights.shape
    gap = math.ceil(length / 12)
    grid, unit = np.array([heads, layers]), SMALL / length
    mosaic = np.full(grid * (length + gap) - gap, np.nan)
    outlines, names, frames = [], [], []
    for i, j in np.ndindex(layers, heads):
        row, column = j * (length + gap), i * (length + gap)
        mosaic[row : row + length, column : column + length] = weights[i, j]
        small = Frame(Axis(), Axis(), left + column * unit, top + row * unit, SMALL, SMALL)
        outlines.append(small.fill(EDGE))
        if (i, j) == tuple(mark.chosen):
            frames.append(small.fill(f"fill='none' stroke='{DESIGN_TOKENS['accent'][0]}' stroke-width='3'"))
        if j == 0:
            names.append(write(small.left + SMALL / 2, top - 8, [f"layer {i + 1}"], "", "middle"))
        if i == layers - 1:
            names.append(write(small.left + SMALL + 6, small.top + SMALL / 2 + 4, [f"head {j + 1}"]))
    tall, wide = np.array(mosaic.shape) * unit
    picture = paint(mosaic, 0.0, 1.0, Frame(Axis(), Axis(), left, top, wide, tall))
    return "".join([picture, *outlines, *frames, f"<g font-size='12'>{''.join(names)}</g>"]), float(tall)


def draw_words(mark: Words, width: float) -> tuple[str, float, float]:
    """Draw a text in cells, each as full as the model was sure. Return as draw_plot does."""
    columns = min(mark.columns, max(1, len(mark.characters)))
    wide, tall = (width - 10) / columns, 34
    parts, letters = [], []
    for i, (letter, sure, given) in enumerate(zip(mark.characters, mark.sure, mark.given, strict=True)):
        x, y = wide * (i % columns), 6 + (tall + 8) * (i // columns)
        if sure >= 0:
            parts.append(f"<rect x='{x:.1f}' y='{y}' width='{wide:.1f}' height='{tall}' fill='#e9f1f8'/>")
            part = f"y='{y + tall * (1 - sure):.1f}' height='{tall * sure:.1f}'"
            parts.append(f"<rect x='{x:.1f}' {part} width='{wide:.1f}' fill='#95bdde'/>")
        if not (given and letter == "•"):
            letters.append(write(x + wide / 2, y + 23, [letter]))
    parts.append(f"<g {MONO} font-size='{min(20.0, wide):.1f}' text-anchor='middle'>{''.join(letters)}</g>")
    return "".join(parts), 6.0, 12 + (tall + 8) * -(-len(mark.characters) // columns)


def draw_trials(mark: Trials, width: float) -> tuple[str, float, float]:
    """Draw the baseline and the present trial: for each quantity a value, a bar, and a line at the baseline.

    Return as draw_plot does.
    """
    column, numbers = width / len(mark.quantities), dict[int, np.ndarray]()
    labels = [wrap(quantity.label, column - 12) for quantity in mark.quantities]
    parts = [write(column * i, LINE, label, f"fill='{QUIET}'") for i, label in enumerate(labels)]
    top = LINE * max(map(len, labels)) + 4.0
    for i, (quantity, pair) in enumerate(zip(mark.quantities, zip(*mark.values, strict=True), strict=True)):
        if not isinstance(pair[0], str):
            numbers[i] = (column - 24) * np.array(pair) / max(quantity.span[1], *pair)
    for row, (name, trial) in enumerate(zip(mark.names, mark.values, strict=True)):
        parts.append(write(0, top + LINE, [f"{mark.label}: {name}"], "font-weight='600'"))
        texts = [quantity.write(entry) for quantity, entry in zip(mark.quantities, trial, strict=True)]
        lines = [wrap(words, column - 12) for words in texts]
        for i in range(len(texts)):
            parts.append(write(column * i, top + 2 * LINE, lines[i]))
            if i in numbers:
                left, colour = column * i, COLOURS["blue" if row else "grey"]
                for x, path, ink, thick in (
                    (left, f"h{column - 24:.1f}", GRID, 8),
                    (left, f"h{numbers[i][row]:.1f}", colour, 8),
                    (left + numbers[i][0], "m0 -4v8", INK, 2),
                ):
                    start = f"M{x:.1f} {top + 2 * LINE + 9:.1f}"
                    parts.append(f"<path d='{start}{path}' stroke='{ink}' stroke-width='{thick}'/>")
        top += LINE * (1 + max(map(len, lines))) + 24
    return "".join(parts), 6.0, top
