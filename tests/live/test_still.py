"""A still shows the numbers of its panels, as text that is text, in well-formed SVG."""

import re
from base64 import b64decode
from io import BytesIO
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from babygpt_live.panel import Arcs, Axis, Cells, Curve, Heads, Level, Panel, Trials, Words
from babygpt_live.still import FONT, draw_still, measure, wrap
from babygpt_live.style import DESIGN_TOKENS

SVG = "{http://www.w3.org/2000/svg}"


def read(*panels):
    svg, words, width = draw_still(panels)
    root = ElementTree.fromstring(svg)
    assert float(root.get("width")) == width
    assert words == "; ".join(part.title for panel in panels for part in (panel, panel.below) if part)
    return root


def texts(root):
    return [text.text or "" for text in root.iter(f"{SVG}text")]


def ticks(root, axis):
    """Return the place of each tick by its number, read off the picture."""
    anchor, side = {"x": ("middle", "x"), "y": ("end", "y")}[axis]
    labels = [text for text in root.iter(f"{SVG}text") if text.get("text-anchor") == anchor]
    numbers = {}
    for text in labels:
        if re.fullmatch(r"−?[\d,.]+", text.text or ""):
            number = float(text.text.replace("−", "-").replace(",", ""))
            numbers[number] = float(text.get(side)) - (5 if axis == "y" else 0)
    return numbers


def values_at(places, tick_places, log=False):
    """Return the numbers that stand at some places, by two ticks of an axis."""
    (a, at_a), (b, at_b) = sorted(tick_places.items())[0], sorted(tick_places.items())[-1]
    share = (np.asarray(places) - at_a) / (at_b - at_a)
    return a * (b / a) ** share if log else a + share * (b - a)


def points(root, nth=0):
    paths = [p.get("d") for p in root.iter(f"{SVG}path") if p.get("stroke-linejoin")]
    runs = [re.findall(r"([-\d.]+) ([-\d.]+)", run) for run in paths[nth].split("M")[1:]]
    return [np.array(run, float) for run in runs]


def test_a_curve_stands_where_its_numbers_say_and_breaks_where_they_are_missing():
    x, y = np.array([0.0, 10, 20, 30, 40]), np.array([0.5, 1.5, np.nan, 1.0, 2.0])
    root = read(Panel("t", [Curve("c", "red", y, x)], Axis("step", (0, 40)), Axis("loss", (0, 2))))
    first, second = points(root)
    both = np.concatenate([first, second])
    np.testing.assert_allclose(values_at(both[:, 0], ticks(root, "x")), [0, 10, 30, 40], atol=0.1)
    np.testing.assert_allclose(values_at(both[:, 1], ticks(root, "y")), [0.5, 1.5, 1.0, 2.0], atol=0.02)
    assert (len(first), len(second)) == (2, 2)
    assert ticks(root, "y")[2] < ticks(root, "y")[0]  # upwards


def test_levels_lie_across_and_are_named():
    levels = [Level("floor", 0.5), Level("dial", 30, "x")]
    root = read(Panel("t", levels, Axis("step", (0, 40)), Axis("loss", (0, 2))))
    flat, upright = (p.get("d") for p in plot_of(root).iter(f"{SVG}path"))
    y, x = float(flat.split("M")[1].split("H")[0].split()[1]), float(upright.split("M")[1].split()[0])
    assert values_at([y], ticks(root, "y"))[0] == pytest.approx(0.5, abs=0.02)
    assert values_at([x], ticks(root, "x"))[0] == pytest.approx(30, abs=0.2)
    assert {"floor", "dial"} <= set(texts(root))


def test_what_leaves_the_axes_is_clipped_and_a_legend_names_the_curves():
    curves = [Curve("one", "red", np.array([0.0, 9.0])), Curve("two", "blue", np.array([1.0, 1.0]))]
    root = read(Panel("t", curves, Axis("", (0, 1)), Axis("", (0, 1))))
    (inside,) = (svg for svg in root.iter(f"{SVG}svg") if svg is not root)
    assert inside.get("overflow") == "hidden"
    assert len(list(inside.iter(f"{SVG}path"))) == 2
    assert {"one", "two"} <= set(texts(root))


def test_cells_heads_and_words_are_drawn_whole():
    gates = Panel("g", [Cells(np.eye(4), 1.0, -1.0, boxes=[(1, 3)])], y=Axis("", ticks=[(1.5, "MASK\n× 2")]))
    weights = np.tril(np.ones((2, 3, 5, 5))) / 5
    mark = Heads(weights, list("abcde"), (1, 2), "", np.ones((2, 3)), letter=4)
    heads = Panel("h", [mark], below=Panel("of one letter", [Curve("", "blue", np.ones(5), look="bars")]))
    words = Panel("w", [Words(["a", "•", "•"], np.array([0.5, np.nan, 1.0]), np.array([0, 1, 0], bool))])
    root = read(gates, heads, words)
    assert len(list(root.iter(f"{SVG}image"))) == 2 * 2 + 1 + 2  # two scales of two halves, gates, and heads
    assert {"MASK", "× 2", "of one letter", "a", "•"} <= set(texts(root))
    assert texts(read(words)).count("•") == 1  # a given space is blank
    (chosen,) = (r for r in root.iter(f"{SVG}rect") if r.get("stroke") == DESIGN_TOKENS["accent"][0])
    names = {t.text: (float(t.get("x")), float(t.get("y"))) for t in root.iter(f"{SVG}text")}
    assert 0 <= names["layer 2"][0] - float(chosen.get("x")) <= float(chosen.get("width"))
    assert 0 <= names["head 3"][1] - float(chosen.get("y")) <= float(chosen.get("height"))
    fills = [float(r.get("height")) for r in read(words).iter(f"{SVG}rect") if r.get("fill") == "#95bdde"]
    assert fills == pytest.approx([17, 34])


@given(st.text(max_size=30))
def test_a_readers_text_is_text(text):
    panel = Panel(
        text, [Level(text, 0.5, colour=text), Curve(text, text, np.zeros(2)), Curve(text, "red", np.zeros(2))]
    )
    read(panel, Panel("w", [Words([text], np.array([0.5]), np.array([False]))], note=f"<b>$x$</b>{text}"))


def test_dots_at_the_edge_are_whole_and_those_beyond_it_are_left_out():
    y = np.array([0.0, 1.0, 1.5, np.nan])
    for look in ("dots", "rings", "marked"):
        root = read(Panel("t", [Curve("", "red", y, look=look)], Axis("", (0, 3)), Axis("", (0, 1))))
        (clipped,) = (svg for svg in root.iter(f"{SVG}svg") if svg is not root)
        assert not list(clipped.iter(f"{SVG}circle"))
        assert len(list(root.iter(f"{SVG}circle"))) == 2


def test_a_single_point_between_gaps_is_seen_and_bars_are_as_wide_as_their_gaps():
    lone = read(Panel("t", [Curve("", "red", np.array([np.nan, 1.0, np.nan]))], Axis("", (0, 2))))
    assert any(p.get("d").endswith("h0") and p.get("stroke-linecap") for p in lone.iter(f"{SVG}path"))
    bars = Curve("", "red", np.ones(3), np.array([0.0, 1, 2]), look="bars")
    root = read(Panel("t", [bars], Axis("", (0, 100))))
    (width,) = (float(p.get("stroke-width")) for p in root.iter(f"{SVG}path") if p.get("stroke") == "red")
    tick_places = ticks(root, "x")
    assert width < (tick_places[100] - tick_places[0]) / 100


def test_a_long_run_is_a_small_picture_that_ends_with_its_last_point():
    y = np.sin(np.arange(5_000.0))
    panel = Panel("t", [Curve("", "red", y)], Axis("", (0, 5_000)), Axis("", (-1, 1)))
    assert len(draw_still([panel])[0]) < 10_000
    (line,) = points(root := read(panel))
    assert values_at(line[-1:, 0], ticks(root, "x"))[0] == pytest.approx(4_999, abs=10)


def plot_of(root):
    """Return the part of a picture of one panel that holds what is inside the axes."""
    (plot,) = (svg for svg in root.iter(f"{SVG}svg") if svg is not root)
    return plot


def dashes_of(root):
    """Return the dashes of levels: of the lines inside the axes, and of the samples in the legend."""
    inside = [path.get("stroke-dasharray") for path in plot_of(root).iter(f"{SVG}path")]
    dashes = [path.get("stroke-dasharray") for path in root.iter(f"{SVG}path")]
    lines, dashes = [d for d in inside if d], [d for d in dashes if d]
    return lines, dashes[: len(dashes) - len(lines)]


def test_names_of_levels_stand_in_the_legend_with_the_dashes_of_their_lines():
    falling = Curve("loss", "red", np.linspace(2, 0.45, 50))
    levels = [Level("", 1.0), Level("floor 0.326", 0.326), Level("a dial moved", 48, "x"), Level("low", 0.1)]
    root = read(Panel("t", [*levels, falling], Axis("", (0, 49)), Axis("", (0, 2))))
    lines, samples = dashes_of(root)
    assert lines[1:] == samples
    assert len(set(samples)) == 3
    assert lines[0] == samples[0]  # a line without a name, beside the first one with a name
    assert texts(root)[1:5] == ["loss", "floor 0.326", "a dial moved", "low"]
    feet = [float(text.get("y")) for text in root.iter(f"{SVG}text") if text.text in texts(root)[1:5]]
    assert max(feet) + 3 < float(plot_of(root).get("y"))


def test_a_level_outside_the_axes_has_no_name():
    root = read(Panel("t", [Level("beyond", 3.0), Level("before", -1.0, "x"), Level("edge", 1.0)]))
    assert "edge" in texts(root)
    assert not {"beyond", "before"} & set(texts(root))


def test_long_names_in_a_legend_are_broken_and_move_the_plot_down():
    name = "a level with a name that is longer than the panel is wide"
    short, long = (read(Panel("t", [Level(words, 0.5), Level("next", 0.6)])) for words in ("a", name))
    legend = [text for text in long.iter(f"{SVG}text") if text.text and text.text in f"{name} next"][1:]
    assert [text.text for text in legend] == [*wrap(name, 360 - 28), "next"]
    feet = [float(text.get("y")) for text in legend]
    assert max(float(text.get("x")) + measure(text.text) for text in legend) <= 360
    assert max(feet) + 3 < float(plot_of(long).get("y"))
    assert min(np.diff(feet)) > FONT
    assert float(plot_of(long).get("y")) > float(plot_of(short).get("y"))


def test_long_words_are_broken_and_chinese_ones_are_wide():
    assert wrap("one two", measure("one two")) == ["one two"]
    lines = wrap("ab " + "模型" * 20, 10 * FONT)
    assert "".join(lines) == "ab" + "模型" * 20
    assert max(map(len, lines[1:])) == 10
    assert wrap("模型", 1) == ["模", "型"]  # no room at all


def test_long_names_of_ticks_stay_in_the_picture():
    root = read(Panel("t", [], y=Axis("", ticks=[(0.5, "learned positions " * 3)])))
    names = [text for text in root.iter(f"{SVG}text") if text.get("text-anchor") == "end" and text.text]
    assert len(names) > 1
    assert all(float(text.get("x")) >= measure(text.text) for text in names)


def image_values(root, nth):
    """Return the values of a picture's cells by their colours: shares of red, and of blue below zero."""
    data = [image.get("href") for image in root.iter(f"{SVG}image")][nth].split(",")[1]
    pixels = np.asarray(Image.open(BytesIO(b64decode(data))).convert("RGB"), float)
    away = 255 - pixels
    return np.where(pixels[..., 2] < pixels[..., 0], away[..., 2] / 255, -away[..., 0] / 212)


def test_colours_are_the_numbers_in_whole_percents():
    values = np.linspace(-1, 1, 40).reshape(4, 10)
    root = read(Panel("g", [Cells(values, 1.0, -1.0, label="gate")]))
    np.testing.assert_allclose(image_values(root, 2), values, atol=0.008)
    for nth, limits in enumerate(((-1, 0), (0, 1))):
        scale = image_values(root, nth)[0]
        np.testing.assert_allclose(scale, np.linspace(*limits, len(scale)), atol=0.008)
    assert texts(root)[1:5] == ["gate", "−1", "0", "1"]
    blue = image_values(read(Panel("g", [Cells(abs(values), 1.0)])), 2)
    np.testing.assert_allclose(-blue, abs(values), atol=0.008)


def test_all_heads_stand_in_one_picture_layers_beside_each_other():
    weights = np.random.default_rng(0).dirichlet(np.ones(5), (2, 3, 5))
    root = read(Panel("h", [Heads(weights, list("abcde"), (1, 2), "", np.ones((2, 3)))]))
    large, all_heads = (-image_values(root, n) for n in (2, 3))
    np.testing.assert_allclose(large, weights[1, 2], atol=0.012)
    np.testing.assert_allclose(all_heads[6:11, :5], weights[0, 1], atol=0.012)
    assert all_heads.shape == (17, 11)


def test_bars_of_trials_are_as_long_as_their_values():
    quantities = [Axis("right", (0, 100), unit="%", digits=0), Axis("loss", (0, 2)), Axis("who fed?")]
    values = [(80.0, 1.0, "ada"), (40.0, 4.0, "b<n")]
    root = read(Panel("t", [Trials(quantities, ["whole", "less"], values, [{}, {}])]))
    labels = ["right", "loss", "who fed?"]
    rows = ["trial: whole", "80%", "1.00", "ada", "trial: less", "40%", "4.00", "b<n"]
    assert texts(root)[1:] == [*labels, *rows]
    paths = [re.findall(r"-?[\d.]+", path.get("d")) for path in root.iter(f"{SVG}path")]
    full, bars, lines = (np.array([path[:3] for path in paths[i::3]], float).T for i in range(3))
    assert bars[2] / full[2] == pytest.approx([0.8, 0.25, 0.4, 1.0], abs=0.01)
    assert (lines[0] - full[0]) / full[2] == pytest.approx([0.8, 0.25] * 2, abs=0.01)


def test_texts_of_trials_do_not_reach_into_the_next_column():
    long = ", ".join(["e 28%"] * 5)
    root = read(Panel("t", [Trials([Axis("token"), Axis("sum")], ["p", "a"], [[long, "b"]] * 2, [{}, {}])]))
    words = [text for text in root.iter(f"{SVG}text") if text.get("x") == "0.0" and "e 28%" in text.text]
    assert [text.text for text in words] == ["e 28%, e 28%, e", "28%, e 28%, e 28%"] * 2
    assert len({text.get("y") for text in words}) == 4  # no line is upon another


def test_plots_of_a_row_begin_equally_high_below_titles_of_any_length():
    axes = Axis("", (0, 1)), Axis("", (0, 1))
    first, second = Curve("one", "red", np.zeros(2)), Curve("two", "red", np.zeros(2))
    root = read(Panel("short", [first, second], *axes), Panel("long " * 30, [first], *axes))
    tops = []
    for panel in root.findall(f"{SVG}g"):
        (body,), (plot,) = panel.findall(f"{SVG}g"), panel.iter(f"{SVG}svg")
        tops.append(float(re.search(r",([\d.]+)", body.get("transform"))[1]) + float(plot.get("y")))
    assert tops[0] == pytest.approx(tops[1], abs=0.6)


def test_names_of_ticks_do_not_touch():
    names = [(number / 10, f"tick number {number}") for number in range(10)]
    rows = [(number, f"row {number}\nof all") for number in range(32)]
    across = ticks_at(read(Panel("t", [], Axis("", ticks=names))), "middle", "x")
    assert 1 < len(across) < 10
    assert min(np.diff(across)) >= measure("tick number 0")
    down = ticks_at(read(Panel("t", [Cells(np.eye(32), 1.0)], y=Axis("", ticks=rows))), "end", "y")
    assert len(down) < 64
    assert min(np.diff(np.sort(down))) > FONT


def ticks_at(root, anchor, side):
    return [
        float(text.get(side))
        for text in root.iter(f"{SVG}text")
        if text.get("text-anchor") == anchor and text.text
    ]


axis_ends = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 1.0])


@given(st.lists(st.floats(), min_size=1, max_size=5), axis_ends, axis_ends, st.booleans())
def test_any_numbers_give_a_picture_with_finite_places(values, low, high, log):
    axis = Axis("", (low, high), log=log)
    y = np.array(values)
    curves = [Curve("", "red", y, look=look) for look in ("line", "bars", "rings")]
    svg, _, _ = draw_still([Panel("t", [*curves, Level("a", low)], Axis("", (0, 4)), axis)])
    assert not re.search(r"[ML ']-?(nan|inf)", svg)
    assert len(svg) < 20_000


def test_boxes_frame_their_rows_and_many_named_rows_make_a_plot_higher():
    root = read(Panel("g", [Cells(np.eye(4), 1.0, boxes=[(1, 3)])]))
    edge, box = (r for r in root.iter(f"{SVG}rect") if r.get("width") not in ("100%", "40.0"))
    y, height, whole = float(box.get("y")), float(box.get("height")), float(edge.get("height"))
    assert [(y - float(edge.get("y"))) / whole, height / whole] == pytest.approx([0.25, 0.5], abs=0.01)
    rows = Axis("", (-1, 30), ticks=[(n, f"row {n}") for n in range(30)])
    assert sum(text.startswith("row") for text in texts(read(Panel("t", [], y=rows)))) == 30


def test_panels_wrap_into_rows_and_equal_panels_give_equal_bytes():
    panel = Panel("t" * 10, [Curve("c", "red", np.arange(3.0))], Axis("", (0, 2)), Axis("", (0, 2)))
    single, four = (draw_still([panel] * n) for n in (1, 4))
    assert four == draw_still([panel] * 4)
    assert four[2] < 1200
    height = [float(re.search(r"height='(\d+)'", svg)[1]) for svg, _, _ in (single, four)]
    assert height[1] == pytest.approx(2 * height[0], abs=2)


def test_a_strip_lies_below_the_others_and_is_low_and_as_wide_as_they_are():
    axes = Axis("step", (0, 40)), Axis("share", (0, 1))
    strip, panel = (Panel(words, [Curve("c", "red", np.ones(40))], *axes) for words in ("losses", "share"))
    svg, words, width = draw_still([panel, panel], strip)
    assert words == "share; share; losses"
    plots = list(ElementTree.fromstring(svg).iter(f"{SVG}svg"))[1:]
    (first, second, losses) = ([float(plot.get(side)) for side in ("width", "height")] for plot in plots)
    assert first == second
    assert losses[0] > 2 * first[0]
    assert losses[1] < first[1] / 2
    assert draw_still([panel], strip)[2] > 1.9 * draw_still([panel])[2]  # a single one is large
    assert width < 900


def test_arcs_have_the_breadth_and_the_darkness_of_their_weights():
    weights = np.array([0.9, 0.05, 0.05, 0.0])
    root = read(Panel("a", [Arcs(list("abcd"), weights, 3, "red")]))
    (arc,) = (path for path in root.iter(f"{SVG}path") if path.get("stroke-opacity"))
    assert [float(arc.get(name)) for name in ("stroke-width", "stroke-opacity")] == [5.5, 0.93]
    assert texts(root)[1:] == list("abcd")
