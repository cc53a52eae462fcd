"""The page and a still draw a panel from the same numbers: titles, legends, ticks, points and values that are read."""

import random
import re
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from babygpt.live.view import script, style
from babygpt.plots.panel import Axis, Cells, Curve, Heads, Level, Panel, Words, as_plain, with_base64
from babygpt.plots.still import draw_still

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"−?[\d,]*\.?\d+")
DRAW = """async ([module, packed]) => {
    const { readPanel, viewOf } = await import(`data:text/javascript,${encodeURIComponent(module)}`);
    const spec = readPanel(packed), root = document.querySelector(".explorer");
    root.replaceChildren();
    const view = viewOf(spec, root, { wake: () => {} });
    view.draw(spec);
    window.read = x => { view.pointed = x; view.draw(spec); return [...root.querySelectorAll("b")].map(b => b.innerText); };
    window.cell = at => { view.cells.read(at); return root.querySelector(".explorer-readout").innerText; };
    const { axes } = view, texts = selector => [...root.querySelectorAll(selector)].map(it => it.textContent);
    return { title: texts(".explorer-title")[0], legend: texts(".explorer-legend span"), all: texts("text, li, i, p"),
        ticks: axes ? [...axes.ticks.querySelectorAll("text")].map(it =>
            [it.textContent, it.getAttribute("text-anchor"), Number(it.getAttribute("x")), Number(it.getAttribute("y"))]) : [],
        lines: [...root.querySelectorAll("path.curve")].map(it => it.getAttribute("d")) };
}"""
FIXED = """async ([module, numbers]) => {
    const { fixed } = await import(`data:text/javascript,${encodeURIComponent(module)}`);
    return numbers.map(([number, digits]) => fixed(number, digits));
}"""
LETTERS = list("我•$b<")
WEIGHTS = np.tril(np.arange(1.0, 26).reshape(5, 5)) / np.tril(np.arange(1.0, 26).reshape(5, 5)).sum(1, keepdims=True)
TWO = [Curve("one", "#2b7bbd", np.array([0.125, 1.005, np.nan, 2.675, 4.0])), Curve("two", "#d55e00", np.arange(5) / 8, look="marked")]
PANELS = {
    "curves": Panel("A loss & a <b>floor</b>", [*TWO, Level("floor", 0.4)], Axis("step", (0, 4)), Axis("nats", (0, 4))),
    "shares": Panel("Right answers", TWO[1:], Axis("step", (0, 4)), Axis("right", (0, 1), [(0, "0%"), (1, "100%")], unit="%", digits=0)),
    "log": Panel(
        "A logarithmic axis", [Curve("c", "#808080", np.array([1.0, 30, 1000]), np.array([1.0, 10, 100]))],
        Axis("θ", (1, 100), log=True), Axis("", (1, 1000), log=True),
    ),
    "cells": Panel("Cells", [Cells(np.linspace(-1, 1, 12).reshape(3, 4), 1.0, -1.0)], Axis("column"), Axis("row")),
    "heads": Panel("One head", [Heads(np.stack([WEIGHTS] * 2)[None], LETTERS, (0, 1), "Head {head}", np.zeros((1, 2)))]),
    "words": Panel("A text", [Words(LETTERS, np.array([np.nan, 0.5, 0.9, np.nan, 1.0]), np.array([1, 0, 0, 1, 0], bool))]),
}  # fmt: skip


@pytest.fixture
def draw(browser: Browser) -> Iterator[Callable[[Panel], tuple[Page, Any]]]:
    page = browser.new_page()
    page.set_content(f'<style>{style("figure")}</style><div class="explorer" style="width: 400px"></div>')
    yield lambda panel: (page, page.evaluate(DRAW, [script("panels"), with_base64(as_plain(panel))]))
    page.close()


def still_ticks(root: ElementTree.Element, anchor: str, side: str) -> dict[str, float]:
    """Return the place of each tick of a still, by its name; of an upright axis, up to a constant."""
    found = [text for text in root.iter(f"{SVG}text") if text.get("text-anchor") == anchor]
    return {str(text.text): float(text.get(side) or 0) for text in found if NUMBER.fullmatch(text.text or "")}


def number(name: str) -> float:
    return float(name.replace("−", "-").replace(",", ""))


def read_off(ticks: dict[str, float], places: np.ndarray, log: bool) -> np.ndarray:
    """Return the values at some places of an axis, by its outermost ticks."""
    names = sorted(ticks, key=number)
    ends = np.array([number(names[0]), number(names[-1])])
    values = np.interp(places, *zip(*sorted(zip([ticks[names[0]], ticks[names[-1]]], np.log(ends) if log else ends, strict=True)), strict=True))
    return np.exp(values) if log else values


def points(path: str) -> np.ndarray:
    return np.array([pair.split() for pair in re.findall(r"[-\d.]+ [-\d.]+", path)], float)


@pytest.mark.parametrize("name", PANELS)
def test_page_and_still_have_the_same_words(name: str, draw: Any):
    panel, (_, shown) = PANELS[name], draw(PANELS[name])
    svg, words, _ = draw_still([panel])
    texts = [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert shown["title"] == words == panel.title
    curves = [mark.name for mark in panel.marks if isinstance(mark, Curve)]
    assert shown["legend"] == curves
    named = [*(curves if len(curves) > 1 else []), *(mark.name for mark in panel.marks if isinstance(mark, Level))]
    expected = [*named, *filter(None, (panel.x.label, panel.y.label)), *(name for _, name in panel.y.ticks or ())]
    for word in [*expected, *(LETTERS[2:] if name in ("heads", "words") else ())]:
        assert word in shown["all"], word
        assert word in " ".join(texts), word


@pytest.mark.parametrize("name", ["curves", "log"])
def test_points_stand_at_the_same_values(name: str, draw: Any):
    panel, (_, shown) = PANELS[name], draw(PANELS[name])
    root = ElementTree.fromstring(draw_still([panel])[0])
    curve = panel.find(Curve)
    there = np.isfinite(curve.y)
    drawn = [path.get("d") or "" for path in root.iter(f"{SVG}path") if path.get("stroke-linejoin")][0]
    for axis, want, side, anchor in ((panel.x, curve.at(), 0, "middle"), (panel.y, curve.y, 1, "end")):
        in_page = {words: place[side] for words, at, *place in shown["ticks"] if at == anchor}
        in_still = still_ticks(root, anchor, "xy"[side])
        assert len(set(in_page) & set(in_still)) >= 2, (in_page, in_still)
        tall = 4.0 if side else 0.0  # names stand so far below their ticks
        for ticks, path, below in ((in_page, shown["lines"][0], tall), (in_still, drawn, 5.0 * side)):
            found = read_off({words: at - below for words, at in ticks.items()}, points(path)[:, side], axis.log)
            np.testing.assert_allclose(found, want[there], rtol=0.02, atol=0.02)


def test_values_that_are_read_are_written_as_python_writes_them(draw: Any):
    page, _ = draw(PANELS["curves"])
    for x in range(5):
        values = [float(np.float32(curve.y[x])) for curve in TWO]
        assert page.evaluate("x => read(x)", x) == ["–" if np.isnan(y) else f"{y:.2f}" for y in values]
    page, _ = draw(PANELS["shares"])
    assert page.evaluate("read(4)") == [f"{TWO[1].y[4]:.0f}%"]
    page, _ = draw(PANELS["cells"])
    assert page.evaluate("cell([2, 1])") == "row 2, column 1: 0.64"
    page, _ = draw(PANELS["heads"])
    want = f"“<” (5) gives {100 * WEIGHTS[4, 1]:.0f}% of its attention to “•” (2)"
    assert page.evaluate("cell([4, 1])") == want
    drawn = random.Random(31)
    numbers = [(k / 8 * 10.0**-e, d) for k in range(-40, 41) for e in (0, 1, 3) for d in (0, 1, 2, 3)]
    numbers += [(drawn.uniform(-12, 12), d) for d in (0, 1, 2, 3) for _ in range(200)]
    expected = [f"{round(n, d) + 0.0:.{d}f}".replace("-", "−") for n, d in numbers]
    assert page.evaluate(FIXED, [script("figure"), numbers]) == expected
