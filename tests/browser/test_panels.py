"""The page and a still draw a panel from the same numbers: words, ticks, points and values that are read."""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

import babygpt_live as live
from babygpt import ModelConfig, NextToken, TrainConfig, build
from babygpt.data.corpus import load_corpus
from babygpt_course import explorers
from babygpt_live.dashboard import loss_panel
from babygpt_live.panel import Arcs, Axis, Cells, Curve, Heads, Level, Panel, Words, as_plain, with_base64
from babygpt_live.still import draw_still
from babygpt_live.view import PAGE, script, style

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"−?[\d,]*\.?\d+")
DRAW = """async ([module, packed]) => {
    const { readPanel, viewOf } = await import(`data:text/javascript,${encodeURIComponent(module)}`);
    const spec = readPanel(packed), root = document.querySelector(".explorer");
    root.replaceChildren();
    const view = viewOf(spec, root, { wake: () => {} });
    view.draw(spec);
    const all = (selector, found = it => it.textContent) => [...root.querySelectorAll(selector)].map(found);
    window.read = x => { view.pointed = x; view.draw(spec); return all("li:not(.level) b"); };
    window.cell = at => { view.cells.read(at); return all(".explorer-readout")[0]; };
    const tick = it => [it.textContent, ...["text-anchor", "x", "y"].map(name => it.getAttribute(name))];
    window.scrub = step => { view.draw(spec, step); return all("li:not(.level) b"); };
    window.lefts = () => all(".axes > svg", it => it.getAttribute("x"));
    return { title: all(".explorer-title").join("; "), legend: all(".explorer-legend li:not(.scale) span"),
        all: all("text, li, i, p, span"),
        dashes: ["svg svg", ".explorer-legend"].map(place =>
            all(`${place} line.level`, it => it.getAttribute("stroke-dasharray")).filter(Boolean)),
        ticks: all(".ticks text", tick), lines: all("path.curve", it => it.getAttribute("d")) };
}"""
FIXED = """async ([module, numbers]) => {
    const { fixed } = await import(`data:text/javascript,${encodeURIComponent(module)}`);
    return numbers.map(([number, digits]) => fixed(number, digits));
}"""
PANELS_OF_RUN = """async ([module, recording, steps]) => {
    const { Board } = await import(`data:text/javascript,${encodeURIComponent(module)}`);
    const { run } = new Board(name => recording[name], document.querySelector(".explorer"));
    const all = (marks, wanted, facts) => marks.filter(({ kind }) => kind === wanted).map(facts);
    const both = panel => [panel, ...(panel.below ? [panel.below] : [])];
    const plain = ({ title, marks, y }) => ({ title, span: y.span, digits: y.digits,
        curves: all(marks, "curve", ({ x, y, colour }) => [colour, [...x], [...y]]),
        levels: all(marks, "level", ({ name, at, axis }) => [name, at, axis]) });
    return steps.map(step => run.panels(step).flatMap(both).map(plain));
}"""
PARTS = """async ([module, panels]) => {
    const { readPanel, viewOf } = await import(`data:text/javascript,${encodeURIComponent(module)}`);
    const root = document.querySelector(".explorer");
    root.replaceChildren();
    const view = viewOf(readPanel(panels[0]), root, { wake: () => {} });
    return panels.map(panel => {
        view.draw(readPanel(panel));
        return [...root.querySelectorAll("svg path")].map(it =>
            [it.getAttribute("class"), it.style.getPropertyValue("--c")]);
    });
}"""
LETTERS = list("我•$b<")
WEIGHTS = np.tril(np.arange(1.0, 26).reshape(5, 5))
WEIGHTS /= WEIGHTS.sum(1, keepdims=True)
ONE = Curve("one", "#2b7bbd", np.array([0.125, 1.005, np.nan, 2.675, 4.0]))
TWO = [ONE, Curve("two", "#d55e00", np.arange(5) / 8, look="marked")]
STEP, ENDS = Axis("step", (0, 4)), [(0.0, "0%"), (1.0, "100%")]
GRID = Cells(np.linspace(-4, 4, 12).reshape(3, 4), 4.0, -4.0, label="vote (nats)")
HEADS = Heads(np.stack([WEIGHTS] * 2)[None], LETTERS, (0, 1), "Head {head}", np.zeros((1, 2)))
FEW = np.array([0.5, 0.05, 0.15, 0.1, 0.2])  # the second is too little for an arc
OVER = Arcs(LETTERS, WEIGHTS[4], 4, "#2b7bbd")
FAR = Curve("c", "#808080", np.array([1.0, 30, 1000]), np.array([1.0, 10, 100]))
SURE = np.array([np.nan, 0.5, 0.9, np.nan, 1.0])
LONG = [(0.0, "a row with a long name")]
UNDER = Panel(
    "Under it", [Curve("", "#2b7bbd", np.arange(4) / 4)], Axis("", (-0.5, 3.5)), Axis("rad", (0, 1))
)
PANELS = {
    "curves": Panel("A loss & a <b>floor</b>", [*TWO, Level("floor", 0.4)], STEP, Axis("nats", (0, 4))),
    "shares": Panel("Right answers", TWO[1:], STEP, Axis("right", (0, 1), ENDS, unit="%", digits=0)),
    "log": Panel("Equal ratios", [FAR], Axis("θ", (1, 100), log=True), Axis("", (1, 1000), log=True)),
    "cells": Panel("Cells", [GRID], Axis("column"), Axis("row")),
    "heads": Panel("One head", [HEADS]),
    "arcs": Panel("One letter", [replace(OVER, weights=FEW)]),
    "heads and arcs": Panel("One head", [HEADS, OVER]),
    "below": Panel("Above", [GRID], Axis("column"), Axis("row", ticks=LONG), below=UNDER),
    "words": Panel("A text", [Words(LETTERS, SURE, np.isnan(SURE))]),
}


@pytest.fixture
def draw(browser: Browser) -> Iterator[Callable[[Panel], tuple[Page, Any]]]:
    page = browser.new_page()
    look, module = style(PAGE / "figure.css"), script(PAGE / "panels.js")
    page.set_content(f'<style>{look}</style><div class="explorer" style="width: 400px"></div>')
    yield lambda panel: (page, page.evaluate(DRAW, [module, with_base64(as_plain(panel))]))
    page.close()


def still_ticks(root: ElementTree.Element, anchor: str, side: str) -> dict[str, float]:
    """Return the place of each tick of a still, by its name; of an upright axis, up to a constant."""
    labels = [text for text in root.iter(f"{SVG}text") if text.get("text-anchor") == anchor]
    return {
        str(text.text): float(text.get(side) or 0) for text in labels if NUMBER.fullmatch(text.text or "")
    }


def number(name: str) -> float:
    return float(name.replace("−", "-").replace(",", ""))


def read_off(ticks: dict[str, float], places: np.ndarray, log: bool) -> np.ndarray:
    """Return the values at some places of an axis, by its outermost ticks."""
    low, high = min(ticks, key=number), max(ticks, key=number)
    share, (a, b) = (places - ticks[low]) / (ticks[high] - ticks[low]), (number(low), number(high))
    return a * (b / a) ** share if log else a + share * (b - a)


def points(path: str) -> np.ndarray:
    return np.array([pair.split() for pair in re.findall(r"[-\d.]+ [-\d.]+", path)], float)


@pytest.mark.parametrize("name", PANELS)
def test_page_and_still_have_the_same_words(name: str, draw: Any):
    panel, (_, shown) = PANELS[name], draw(PANELS[name])
    svg, words, _ = draw_still([panel])
    texts = [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    panels = [panel, *([panel.below] if panel.below else [])]
    assert shown["title"] == words == "; ".join(part.title for part in panels)
    names = [mark.name for kind in (Curve, Level) for mark in panel.marks if isinstance(mark, kind)]
    assert shown["legend"] == names
    expected = [name for _, name in panel.y.ticks or ()]
    expected += [*names, *filter(None, (axis.label for part in panels for axis in (part.x, part.y)))]
    expected += {
        "cells": ["vote (nats)", "−4", "0", "4"],
        "below": ["vote (nats)", "Under it"],
        "heads": [*LETTERS[2:], "share of attention", "0", "0.5", "1", "layer 1", "head 1", "head 2"],
        "words": LETTERS[2:],
        "arcs": LETTERS[2:],
        "heads and arcs": [*LETTERS, "layer 1", "head 2"],
    }.get(name, [])
    for word in expected:
        assert word in shown["all"], word
        assert word in " ".join(texts), word


def test_dashes_show_in_page_and_still_which_level_a_name_belongs_to(draw: Any):
    levels = [Level("", 0.5), *(Level(f"level {n}", n / 8, "xy"[n % 2]) for n in range(6)), Level("far", 2.0)]
    panel = Panel("Levels", levels)
    _, shown = draw(panel)
    assert shown["legend"] == [f"level {n}" for n in range(6)]
    in_axes, in_legend = shown["dashes"]
    assert in_axes == [in_legend[0], *in_legend, in_axes[-1]]
    assert len(set(in_legend)) == len(set(in_legend[:4])) == 4
    root = ElementTree.fromstring(draw_still([panel])[0])
    dashes = [path.get("stroke-dasharray") for path in root.iter(f"{SVG}path")]
    assert [pattern for pattern in dashes if pattern] == [*in_legend, *in_axes]


@pytest.mark.parametrize("name", ["curves", "log"])
def test_points_stand_at_the_same_values(name: str, draw: Any):
    panel, (_, shown) = PANELS[name], draw(PANELS[name])
    root = ElementTree.fromstring(draw_still([panel])[0])
    curve = panel.find(Curve)
    there = np.isfinite(curve.y)
    drawn = next(path.get("d") or "" for path in root.iter(f"{SVG}path") if path.get("stroke-linejoin"))
    for axis, want, side, anchor in ((panel.x, curve.at(), 0, "middle"), (panel.y, curve.y, 1, "end")):
        in_page = {
            words: float(place[side])
            for words, text_anchor, *place in shown["ticks"]
            if text_anchor == anchor
        }
        in_still = still_ticks(root, anchor, "xy"[side])
        assert len(set(in_page) & set(in_still)) >= 2, (in_page, in_still)
        tall = 4.0 if side else 0.0  # names stand so far below their ticks
        for ticks, path, below in ((in_page, shown["lines"][0], tall), (in_still, drawn, 5.0 * side)):
            places = points(path)[:, side] + below
            got = read_off(ticks, places, axis.log)
            np.testing.assert_allclose(got, want[there], rtol=0.02, atol=0.02)


def test_values_that_are_read_are_written_as_python_writes_them(draw: Any):
    page, _ = draw(PANELS["curves"])
    for x in range(5):
        values = [float(np.float32(curve.y[x])) for curve in TWO]
        assert page.evaluate("x => read(x)", x) == ["–" if np.isnan(y) else f"{y:.2f}" for y in values]
    page, _ = draw(PANELS["shares"])
    assert page.evaluate("read(4)") == [f"{TWO[1].y[4]:.0f}%"]
    page, _ = draw(PANELS["cells"])
    assert page.evaluate("cell([2, 1])") == "row 2, column 1: 2.55"
    page, _ = draw(PANELS["heads"])
    want = f"“<” (5) gives {100 * WEIGHTS[4, 1]:.0f}% of its attention to “•” (2)"
    assert page.evaluate("cell([4, 1])") == want
    drawn = random.Random(31)
    numbers = [(k / 8 * 10.0**-e, d) for k in range(-40, 41) for e in (0, 1, 3) for d in (0, 1, 2, 3)]
    numbers += [(drawn.uniform(-12, 12), d) for d in (0, 1, 2, 3) for _ in range(200)]
    expected = [f"{round(n, d) + 0.0:.{d}f}".replace("-", "−") for n, d in numbers]
    assert page.evaluate(FIXED, [script(PAGE / "figure.js"), numbers]) == expected


def test_a_curve_that_changes_its_look_keeps_no_part_of_the_old_one(draw: Any):
    page, _ = draw(PANELS["curves"])
    looks = [[("marked", "#2b7bbd"), ("line", "#808080")], [("bars", "#d55e00"), ("thin", "#00916a")]]
    looks.append([("dots", "#2b7bbd"), ("thin", "#808080")])
    panels = [
        Panel("Looks", [Curve("", colour, np.arange(1.0, 4), look=look) for look, colour in pair])
        for pair in looks
    ]
    shown = page.evaluate(PARTS, [script(PAGE / "panels.js"), [with_base64(as_plain(p)) for p in panels]])
    for parts, pair in zip(shown, looks, strict=True):
        names = {
            "marked": ["curve", "future", "dots"],
            "line": ["curve", "future"],
            "thin": ["thin", "future"],
        }
        expected = [[name, colour] for look, colour in pair for name in names.get(look, [look])]
        expected.sort(key=lambda part: part[0] == "dots")  # Dots lie above all lines.
        assert [kind for kind, _ in parts] == [kind for kind, _ in expected]
        colours = [[parts[i][1] == parts[j][1] for j in range(len(parts))] for i in range(len(parts))]
        assert colours == [[a[1] == b[1] for b in expected] for a in expected]


def test_a_dot_at_the_edge_stays_whole_and_one_beyond_it_is_left_out(draw: Any):
    curve = Curve("", "#2b7bbd", np.array([-1.0, 0.0, 2.0, 4.0]), np.array([1.0, 1.0, 2.0, 4.0]), "dots")
    page, _ = draw(Panel("Dots", [curve], STEP, Axis("nats", (0, 4))))
    dots = page.locator("path.dots")
    clips = "it => { const inner = it.ownerSVGElement; return Boolean(inner.closest('svg svg')); }"
    places = points(dots.get_attribute("d") or "")
    assert not dots.evaluate(clips)
    assert len(places) == 3  # without the first, which is below the axes
    assert places[-1, 1] == 0  # the last one lies on the upper edge


def test_a_panel_below_begins_where_the_one_above_does(draw: Any):
    page, _ = draw(PANELS["below"])
    upper, lower = (float(x) for x in page.evaluate("lefts()"))
    assert upper == lower > 100
    root = ElementTree.fromstring(draw_still([PANELS["below"]])[0])
    upper, lower = (float(svg.get("x") or 0) for svg in root.iter(f"{SVG}svg") if svg is not root)
    assert upper == lower > 100


def test_an_earlier_step_shows_the_measurement_before_it(draw: Any):
    gap = Curve("gap", "#2b7bbd", np.array([0.1, 0.2, 0.3]), np.array([0.0, 40, 80]), "marked")
    page, _ = draw(Panel("Gaps", [gap], Axis("step", (0, 100)), Axis("nats", (0, 1)), over_steps=True))
    assert [page.evaluate("scrub(70)"), page.evaluate("scrub(80)")] == [["0.20"], ["0.30"]]
    page, _ = draw(Panel("Not over steps", [gap], Axis("distance", (0, 100)), Axis("K", (0, 1))))
    assert page.evaluate("scrub(40)") == [""]


def test_a_baseline_is_read_at_the_step_that_the_run_has_reached(draw: Callable[[Panel], tuple[Page, Any]]):
    baseline = Curve("baseline", "#808080", np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, 3.0]))
    run = Curve("run", "#2b7bbd", np.array([3.5, 2.5]), np.array([1.0, 2.0]))
    panel = Panel("Losses", [baseline, run], Axis("step", (0, 3)), Axis("nats", (0, 4)), over_steps=True)
    page, _ = draw(panel)
    assert page.evaluate("window.read(null)") == ["2.00", "2.50"]
    assert page.evaluate("window.read(3)") == ["1.00", "2.50"]


def test_losses_and_gaps_are_the_panels_that_python_makes(draw: Callable[[Panel], tuple[Page, Any]]):
    corpus = load_corpus("tales", n_chars=9_000)
    shape = ModelConfig(corpus.tokenizer.vocab_size, block_size=16, n_layer=1, n_head=2, n_embd=16)

    def train(title: str, **more: Any) -> Any:
        return live.train(build("v4", shape), NextToken(corpus, 16), TrainConfig(steps=40), title, **more)

    before = train("first")
    before.result()
    run = train(
        "second",
        floors={"floor": 0.5},
        baseline=before,
        controls=[live.Slider("theta", 100, 1, 200)],
        watches=[live.Watch(lambda model: 0.5, explorers.roles(corpus.tokenizer, []).panel, times=4)],
    )
    run.wait_for_step(10)
    run.steer("theta", 2.0)
    run.result()
    page, _ = draw(PANELS["curves"])
    recording, steps = with_base64(run.dashboard.recording()), [0, 1, 2, 25, 40]
    shown = page.evaluate(PANELS_OF_RUN, [script(PAGE / "dashboard.js"), recording, steps])
    for step, both in zip(steps, shown, strict=True):
        loss = loss_panel(run.dashboard, step)
        assert [panel["title"] for panel in both][:2] == [loss.title, loss.below.title]
    expected = [part for panel in run.dashboard.panels() for part in (panel, panel.below) if part]
    for panel, want in zip(shown[-1], expected, strict=True):
        assert panel["title"] == want.title
        assert panel["span"] == pytest.approx(want.y.span)
        curves = [mark for mark in want.marks if isinstance(mark, Curve)]
        for (colour, x, y), curve in zip(panel["curves"], curves, strict=True):
            assert colour == curve.colour
            np.testing.assert_allclose([x, y], [curve.at(), curve.y], rtol=1e-6, atol=1e-6)
        levels = [mark for mark in want.marks if isinstance(mark, Level)]
        # The page names moves of dials on its timeline alone.
        names = ["" if level.axis == "x" else level.name for level in levels]
        expected_levels = [[n, level.at, level.axis] for n, level in zip(names, levels, strict=True)]
        assert panel["levels"] == expected_levels


ARCS = """() => {
    const all = (name, facts) => [...document.querySelectorAll(`.arcs ${name}`)].map(facts);
    return [all("text", it => Number(it.getAttribute("x"))), all("path", it =>
        it.getAttribute("visibility") === "visible" && ["d", "stroke-width", "stroke-opacity"].map(
            name => it.getAttribute(name))).filter(Boolean)];
}"""


def require_arcs(letters: list[float], arcs: list[list[str]], weights: np.ndarray, letter: int) -> None:
    """Require that each weight of at least 6% has an arc between the two letters to which it belongs."""
    far = [n for n, weight in enumerate(weights) if weight >= 0.06 and n != letter]
    assert len(arcs) == len(far) > 1
    for n, (path, width, opacity) in zip(far, arcs, strict=True):
        start, *_, end = re.findall(r"([-\d.]+) [-\d.]+", path)
        assert [float(start), float(end)] == pytest.approx([letters[letter], letters[n]], abs=0.1)
        drawn = [float(width), float(opacity)]
        assert drawn == pytest.approx([1 + 5 * weights[n], 0.3 + 0.7 * weights[n]], abs=0.03)


@pytest.mark.parametrize("name", ["arcs", "heads and arcs"])
def test_arcs_stand_on_the_letters_to_which_their_weights_belong_in_page_and_still(name: str, draw: Any):
    page, _ = draw(PANELS[name])
    weights = PANELS[name].find(Arcs).weights
    require_arcs(*page.evaluate(ARCS), weights, 4)
    root = ElementTree.fromstring(draw_still([PANELS[name]])[0])
    (over,) = (g for g in root.iter(f"{SVG}g") if "monospace" in g.get("font-family", ""))
    paths = [p for p in root.iter(f"{SVG}path") if p.get("stroke-opacity")]
    arcs = [[p.get(key, "") for key in ("d", "stroke-width", "stroke-opacity")] for p in paths]
    require_arcs([float(text.get("x", 0)) for text in over], arcs, weights, 4)


def test_a_pointer_reads_what_the_letter_of_the_arcs_looks_at_most(draw: Any):
    page, _ = draw(PANELS["arcs"])
    page.locator(".arcs").hover()
    words = f"Letter 5, “<”, looks most at “{LETTERS[0]}”: 50%"
    assert page.locator(".explorer-readout").text_content() == words


def test_arcs_follow_the_letter_that_a_reader_points_at(draw: Any):
    page, _ = draw(PANELS["heads and arcs"])
    page.locator(".arcs").focus()
    page.keyboard.press("ArrowLeft")
    require_arcs(*page.evaluate(ARCS), WEIGHTS[3], 3)
    assert str(page.locator(".explorer-readout").text_content()).startswith("Letter 4, “b”")
    page.evaluate("cell([2, 0])")
    require_arcs(*page.evaluate(ARCS), WEIGHTS[2], 2)
    page.evaluate("cell(null)")
    require_arcs(*page.evaluate(ARCS), WEIGHTS[4], 4)


LOSSES = {
    "one nan": [2.0, float("nan"), 1.5, *([1.0] * 20)],
    "nan at last": [3.0, 2.0, *([float("nan")] * 12)],
    "one inf": [2.0, float("inf"), *([1.0] * 20), 3e5],
    "negative": [-1.5, -2.0, *(-2.0 - 0.05 * n for n in range(20))],
    "small": [0.0021 * 0.8**n for n in range(24)],
    "vanishing": [9.0 * 0.2**n for n in range(24)],
}


@pytest.mark.parametrize("name", LOSSES)
def test_page_and_python_agree_on_losses_of_any_size_and_on_none(name: str, draw: Any):
    losses = [float(np.float32(loss)) for loss in LOSSES[name]]
    before = live.LoopRun("first", len(losses) + 1, unit="mean squared error")
    run = live.LoopRun("second", len(losses), unit="mean squared error")
    run.baseline, earlier = before, before.steps()
    for step in run.steps():
        before.record(next(earlier), float(np.float32(1.1037 * losses[step - 1])), None)
        if step == 2:  # Both train while the dashboard is shown.
            live.show_dashboard(run, {"floor": 0.0})
        run.record(step, losses[step - 1], None)
    page, _ = draw(PANELS["curves"])
    recording, steps = with_base64(run.dashboard.recording()), range(len(losses) + 1)
    shown = page.evaluate(PANELS_OF_RUN, [script(PAGE / "dashboard.js"), recording, [*steps]])
    for step, both in zip(steps, shown, strict=True):
        loss = loss_panel(run.dashboard, step)
        assert [panel["title"] for panel in both] == [loss.title, loss.below.title]
    loss = loss_panel(run.dashboard, len(losses))
    for panel, want in zip(shown[-1], (loss, loss.below), strict=True):
        assert panel["span"] == pytest.approx(want.y.span)
        assert panel["digits"] == want.y.digits
        for (_, _, y), curve in zip(panel["curves"], want.marks[: len(panel["curves"])], strict=True):
            finite = np.isfinite(curve.y)
            np.testing.assert_array_equal(
                [number is not None and np.isfinite(number) for number in y], finite
            )
            np.testing.assert_allclose(np.array(y, float)[finite], curve.y[finite], rtol=1e-5, atol=1e-7)
