"""Panels: a picture as plain data, in numbers and words. The page draws it, and so does a still.

In the page, panels.js draws all marks but `Trials`, which switches.js of babygpt_course draws.

A panel has a title that tells the finding, two axes, and marks: curves, levels, cells, heads, arcs, words,
trials.
Whoever makes one chooses every word, also those that are read from a picture: a template such as "row {row}:
{value}" is filled in by the page. No widgets, no Matplotlib, no torch.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Literal

import numpy as np

Ticks = Sequence[tuple[float, str]]


def name_ticks(names: Sequence[str], most: int | None = None) -> Ticks:
    """Return a tick for each name, at 0, 1, ...; of more than `most`, every second, third, ... gets one."""
    every = 1 if most is None else max(1, -(-len(names) // most))
    return [(float(i), names[i]) for i in range(0, len(names), every)]


@dataclass(frozen=True)
class Axis:
    """Axis of a panel.

    label   what it counts, with the unit
    span    the values at its two ends: left and right, or bottom and top
    ticks   (value, name) of each tick; None for round numbers
    log     whether equal ratios are equally long
    unit    written behind a value that is read, such as "%"
    digits  of such a value behind the point; None for three digits in all
    """

    label: str = ""
    span: tuple[float, float] = (0.0, 1.0)
    ticks: Ticks | None = None
    log: bool = False
    unit: str = ""
    digits: int | None = 2

    def write(self, quantity: float | str) -> str:
        """Return a value with its unit, as the page writes it; a text stays as it is."""
        if isinstance(quantity, str):
            return quantity
        number = f"{quantity:.3g}" if self.digits is None else f"{quantity:.{self.digits}f}"
        return number.replace("-", "−") + self.unit


@dataclass(frozen=True)
class Curve:
    """Points over the axes.

    name    in the legend; none without one
    colour  as CSS writes it
    y       (n,) values; nan where there are none
    x       (n,) or None for 0, 1, 2, ...
    look    "line", "thin" line, "marked" line with its points, "dots", "rings" or "bars" from zero
    """

    kind = "curve"
    name: str
    colour: str
    y: np.ndarray
    x: np.ndarray | None = None
    look: Literal["line", "thin", "marked", "dots", "rings", "bars"] = "line"

    def at(self) -> np.ndarray:
        """Return the x of its points: (n,)."""
        return np.arange(len(self.y), dtype=float) if self.x is None else np.asarray(self.x, float)


@dataclass(frozen=True)
class Level:
    """Dashed line across the axes. Its name stands in the legend with the same dashes.

    at      value on the axis
    axis    "y" for a horizontal line, "x" for an upright one
    colour  as CSS writes it; none for that of the text
    """

    kind = "level"
    name: str
    at: float
    axis: Literal["x", "y"] = "y"
    colour: str = ""


@dataclass(frozen=True)
class Cells:
    """Matrix in colours: blue, or blue below and red above zero.

    values   (rows, columns), the first row on top
    low      value of the palest colour, 0 or below; below, zero is the middle of the colours
    high     value of the strongest colour
    reading  of a cell: a template with {row}, {column} and {value}
    rows     the names of rows in it; None for their numbers
    columns  the names of columns
    boxes    rows to be framed: the first one, and the one behind the last
    label    what the colours measure, with the unit
    """

    kind = "cells"
    values: np.ndarray
    high: float
    low: float = 0.0
    reading: str = "row {row}, column {column}: {value}"
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    boxes: Sequence[tuple[int, int]] = ()
    label: str = ""


@dataclass(frozen=True)
class Heads:
    """Attention weights of all heads on one text: one head large, with the text along its sides.

    weights  (n_layer, n_head, T, T): row m of a square tells what letter m looks at
    letters  T marks
    chosen   layer and head of the large square, counted from 0; a reader may choose another
    finding  of a head that the reader has chosen: a template with {layer}, {head} and {share}
    shares   (n_layer, n_head) of this template
    letter   whose row has a frame, counted from 0, or None; the panel below the heads shows it as bars
    reading  of a cell: a template with {letter} and {mark}, {other} and {otherMark}, and {share}
    row      the finding on the letter whose row is drawn: a template as for `reading`
    label    what the colours measure
    """

    kind = "heads"
    weights: np.ndarray
    letters: Sequence[str]
    chosen: tuple[int, int]
    finding: str
    shares: np.ndarray
    letter: int | None = None
    reading: str = "“{mark}” ({letter}) gives {share} of its attention to “{otherMark}” ({other})"
    row: str = "Letter {letter}, “{mark}”, looks most at “{otherMark}”: {share}"
    label: str = "share of attention"


@dataclass(frozen=True)
class Arcs:
    """Text on a line, with arcs from one letter to those that it looks at.

    An arc is as broad and dark as its weight.

    In a panel that has `Heads` too, the arcs are those of the head that is shown large.

    letters  T marks
    weights  (T,) shares of the attention of one letter
    letter   that looks, counted from 0
    colour   as CSS writes it
    reading  what the letter looks at most: a template as `Heads.row`
    """

    kind = "arcs"
    letters: Sequence[str]
    weights: np.ndarray
    letter: int
    colour: str
    reading: str = Heads.row


@dataclass(frozen=True)
class Words:
    """Text in cells, each as full as the model was sure.

    characters  n marks
    sure        (n,) probabilities; nan for what the model did not write
    columns     cells in a row, at most
    given       (n,) whether a character was there from the start; its space is left blank
    reading     of a cell that the model wrote: a template with {letter}, {mark} and {share}
    """

    kind = "words"
    characters: Sequence[str]
    sure: np.ndarray
    given: np.ndarray
    columns: int = 24
    reading: str = "character {letter}, “{mark}”: the model was {share} sure"


@dataclass(frozen=True)
class Trials:
    """Table of what was measured: a row of the baseline, and one of the present trial.

    The page keeps the rows of earlier trials below them, so that a reader can compare and go back.

    quantities  of the columns: label, unit and digits; a bar is full at the upper end of the span
    names       of the baseline and of the present trial; the name of the baseline alone if that is shown
    values      of each row: a number, or a text, for each quantity
    settings    of each row: the values of controls that bring it back, by name
    label       what the names are
    """

    kind = "trials"
    quantities: Sequence[Axis]
    names: Sequence[str]
    values: Sequence[Sequence[float | str]]
    settings: Sequence[Mapping[str, Any]]
    label: str = "trial"


Mark = Curve | Level | Cells | Heads | Arcs | Words | Trials


@dataclass(frozen=True)
class Panel:
    """Picture as data.

    title       the finding, in a sentence
    marks       drawn in their order
    x, y        axes; of cells only labels and ticks count
    note        a line below the picture
    width       relative to that of a panel of curves
    over_steps  whether x counts the steps of a run: at an earlier step its curves end there
    below       a low panel of curves under this one, whose x is the same; its title may be empty
    """

    title: str
    marks: Sequence[Mark]
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    note: str = ""
    width: float = 1.0
    over_steps: bool = False
    below: Panel | None = None

    def find(self, kind: type[Mark], nth: int = 0) -> Any:
        """Return the nth mark of a kind."""
        return [mark for mark in self.marks if isinstance(mark, kind)][nth]


def format_percent(share: float) -> str:
    """Write a share as the page does, which rounds halves up: 12.5% is 13%."""
    return f"{np.floor(100 * share + 0.5):.0f}%"


def pack(array: np.ndarray, dtype: str = "f4") -> dict[str, Any]:
    """Return an array as panels carry it: little-endian numbers, and their shape.

    dtype  "f4", or "i2" or "i1" for numbers that become colours: exact to 1/32767 or 1/127 of the largest
    """
    array = np.asarray(array, np.float32)
    facts: dict[str, Any] = {"shape": list(array.shape), "dtype": dtype}
    if dtype == "f4":
        return {**facts, "data": array.astype("<f4").tobytes()}
    scale = float(np.abs(array).max(initial=0.0)) / np.iinfo(dtype).max or 1.0
    return {**facts, "scale": scale, "data": (array / scale).round().astype(f"<{dtype}").tobytes()}


def unpack(packed: Mapping[str, Any]) -> np.ndarray:
    """Return the numbers of a packed array."""
    numbers = np.frombuffer(packed["data"], f"<{packed['dtype']}").reshape(packed["shape"])
    return numbers.astype(np.float32) * np.float32(packed.get("scale", 1.0))


DTYPES = {"values": "i2", "weights": "i1"}  # types of arrays that become colours


def as_plain(part: Any, name: str = "") -> Any:
    """Return a panel, or a part of one, as JSON would have it, but for arrays: those are packed."""
    if isinstance(part, np.ndarray):
        return pack(part, DTYPES.get(name, "f4"))
    if is_dataclass(part) and not isinstance(part, type):
        kind = {"kind": part.kind} if hasattr(part, "kind") else {}
        return {**kind, **{f.name: as_plain(getattr(part, f.name), f.name) for f in fields(part)}}
    if isinstance(part, Mapping):
        return {str(key): as_plain(entry) for key, entry in part.items()}
    if isinstance(part, (list, tuple)):
        return [as_plain(each) for each in part]
    return part.item() if isinstance(part, np.generic) else part


def with_base64(part: Any) -> Any:
    """Return plain data with base64 in place of bytes, for a file."""
    if isinstance(part, dict):
        return {key: with_base64(entry) for key, entry in part.items()}
    if isinstance(part, list):
        return [with_base64(entry) for entry in part]
    return b64encode(part).decode() if isinstance(part, bytes) else part
