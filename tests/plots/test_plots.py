"""Drawing functions put the numbers they are given on the Axes they are given."""

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.text import Text

from babygpt import plots
from babygpt.plots.artists import find_artist, moving_artists, set_title, vertical_line
from babygpt_course.studies.seed_plots import draw_seed_dots
from babygpt_course.studies.stretching import draw_wavelengths


def labelled(ax):
    return bool(ax.get_title(loc="left") or ax.get_title()) and bool(ax.get_ylabel())


def test_losses_are_smoothed_and_floors_drawn(ax):
    plots.draw_losses(ax, {"v4": [4.0, 2.0, 2.0, 0.0]}, {"floor": 0.5}, "it falls", smooth=2)
    curve, floor = ax.lines
    np.testing.assert_allclose(curve.get_ydata(), [4.0, 3.0, 2.0, 1.0])  # the first has no step before it
    np.testing.assert_allclose(curve.get_xdata(), [1, 2, 3, 4])
    assert set(floor.get_ydata()) == {0.5}
    assert labelled(ax)


def test_a_diverging_matrix_is_centred_on_zero(ax):
    plots.draw_matrix(ax, np.array([[1.0, -3.0]]), "m", "x", "y", diverging=True)
    assert ax.images[0].get_clim() == (-3, 3)
    np.testing.assert_allclose(ax.images[0].get_array(), [[1, -3]])


# ---------------------------------------------------------------- unfinished runs

LOSSES = [4.0 - n / 20 for n in range(60)]


def run(steps):
    """Return arguments of draw_losses for a run of 60 steps, after some of them."""
    return {"v4": LOSSES[:steps]}, {"floor": 0.5}, f"after {steps} steps", 10, 60


def test_the_axes_of_a_run_hold_all_of_it_from_the_start(ax):
    spans = []
    for made in (1, 2, 30, 60):
        plots.draw_losses(ax, *run(made))
        spans.append((ax.get_xlim(), ax.get_ylim()))
    assert set(spans) == {((0, 60), (0, 5))}  # room for the legend above 4


@pytest.mark.parametrize(("floors", "top"), [({"floor": 0.5}, 2.75), ({}, 2.25)])  # one curve: no legend
def test_a_run_without_a_step_is_drawn_as_an_empty_curve(ax, floors, top):
    plots.draw_losses(ax, {"v4": []}, floors, "untrained", total=60, untrained=2.2)
    assert list(ax.lines[0].get_xdata()) == []
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 60), (0, top))


def image(ax, name):
    return find_artist(ax, AxesImage, name)


def values(shown):
    return np.ma.filled(shown.get_array(), np.nan)


def test_one_head_is_large_and_all_are_small_a_column_for_each_layer(ax):
    weights = np.random.default_rng(0).random((2, 3, 20, 20))
    plots.draw_attention_heads(ax, weights, "x" * 20, (1, 0), "heads")
    np.testing.assert_array_equal(values(image(ax, "head")), weights[1, 0])
    small = values(image(ax, "heads"))
    assert small.shape == (3 * 20 + 2, 2 * 20 + 1)  # a gap of one letter between squares
    for layer in range(2):
        for head in range(3):
            square = small[21 * head : 21 * head + 20, 21 * layer : 21 * layer + 20]
            np.testing.assert_array_equal(square, weights[layer, head])
    assert np.isnan(small).sum() == small.size - weights.size  # the gaps hold nothing
    assert {shown.get_clim() for shown in ax.images} == {(0, 1)}


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (6, 2)])
def test_small_heads_stand_beside_the_large_one_and_are_square(ax, shape):
    plots.draw_attention_heads(ax, np.zeros((*shape, 30, 30)), "x" * 30, (0, 0), "heads")
    left, right, bottom, top = image(ax, "heads").get_extent()
    rows, columns = image(ax, "heads").get_size()
    assert (right - left) / columns == pytest.approx((bottom - top) / rows)
    assert left > 29.5
    assert -0.5 < top < bottom < 29.6
    assert right < ax.get_xlim()[1]  # with the heads' names
    assert ax.get_aspect() == 1
    assert {text.get_text() for text in ax.texts} == {
        *(f"layer {i + 1}" for i in range(shape[0])),
        *(f"head {i + 1}" for i in range(shape[1])),
    }


def test_the_large_head_is_framed_among_the_small_ones(ax):
    for chosen in ((0, 0), (1, 2)):
        plots.draw_attention_heads(ax, np.zeros((2, 3, 20, 20)), "x" * 20, chosen, "heads")
        left, right, _, top = image(ax, "heads").get_extent()
        unit, (layer, head) = (right - left) / 41, chosen
        frame = find_artist(ax, Line2D, "frame").get_xydata()
        np.testing.assert_allclose(frame.min(axis=0), (left + 21 * layer * unit, top + 21 * head * unit))
        np.testing.assert_allclose(frame.max(axis=0) - frame.min(axis=0), 20 * unit)


def test_a_long_text_is_labelled_by_words_at_their_middles(ax):
    text = "ada chased ben. " * 4
    T = len(text)
    plots.draw_attention_heads(ax, np.zeros((1, 1, T, T)), plots.visible(text), (0, 0), "heads")
    for axis in (ax.xaxis, ax.yaxis):
        found = list(zip(axis.get_ticklocs(), labels(axis), strict=True))
        assert found[:4] == [(1, "ada"), (6.5, "chased"), (12.5, "ben."), (17, "ada")]
        assert len(found) == 12


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_masked_rows_of_gates_are_framed_and_named(ax):
    masked = np.isin(np.arange(16), (4, 5, 6, 14, 15))
    gates = np.random.default_rng(0).uniform(-1, 1, (16, 6))
    plots.draw_gates(ax, gates, masked, "gates", "channel", "MASK × 0.3")
    np.testing.assert_array_equal(image(ax, "matrix").get_array(), gates)
    assert image(ax, "matrix").get_clim() == (-1, 1)
    edges = find_artist(ax, Line2D, "edges").get_xydata()
    assert sorted(set(edges[:, 1])) == [3.5, 6.5, 13.5, 15.5]
    assert set(edges[:, 0]) == {-0.5, 5.5}
    named = list(zip(ax.get_yticks(), labels(ax.yaxis), strict=True))
    assert named == [(0, "0"), (5, "MASK × 0.3"), (8, "8"), (14.5, "MASK × 0.3")]


def test_curves_that_are_gone_are_dropped_and_a_marked_value_stays(ax):
    x = np.arange(3.0)
    plots.draw_curves(ax, x, {"a": x, "b": -x}, "two", "x", "y")
    vertical_line(ax, "mark", 1.0)
    plots.draw_curves(ax, x, {"b": 2 * x}, "one", "x", "y")
    assert {line.get_gid() for line in ax.lines} == {"b", "mark"}
    assert next(line for line in ax.lines if line.get_gid() == "b").get_ydata().tolist() == [0, 2, 4]
    assert ax.get_legend() is None


# ---------------------------------------------------------------- one function for every frame

SPANS = (0.0, 9.0), (-3.0, 3.0)


def noise(*shape):
    return np.random.default_rng(0).random(shape)


def curves(n, names):
    x = np.linspace(0, 9, 30)
    return x, {name: np.sin(n * x + i) for i, name in enumerate(names)}, f"{n}", "x", "y"


# For every function that moves its artists: a first drawing (n = 1) and the one to move to (n = 2).
MOVES = {
    "draw_attention_heads": lambda n: (noise(2, 2, 4, 4) / n, "abcd", (n - 1, 0), f"{n}"),
    "draw_attention_row": lambda n: (noise(9 * n), "abc def g" * n, f"{n}"),
    "draw_curves": lambda n: curves(n, "ab"),
    "draw_fill_order": lambda n: (np.arange(1, 5 * n), noise(5 * n - 1), n, 9, n / 3, f"{n}"),
    "draw_gates": lambda n: (noise(16, 3), np.arange(16) > 9 + n, f"{n}", "x", "MASK"),
    "draw_losses": lambda n: run(20 * n),
    "draw_matrix": lambda n: (n * noise(4, 4), f"{n}", "x", "y", "abcd"),
    "draw_seed_dots": lambda n: (
        *({"a": noise(3) + n, "b": noise(3) + n}, f"{n}", "x", {"zero": 0.5}, (0, 3)),
        *({"a": noise(3) * n}, {"b": f"{n}"}, True),
    ),
    "draw_gap": lambda n: (np.arange(9), 0.05 + noise(9) / 20 * n, f"{n}", 9),
    "draw_text": lambda n: (["abc def", "fed cba"][n - 1], noise(7) / n, f"{n}", f"{n}"),
    "draw_wavelengths": lambda n: (TURNS, n * TURNS, np.arange(4) > 3 - n, 64, f"{n}", 1e4),
}
TURNS = 10.0 ** np.arange(4)
# Where a second call draws more or fewer artists than the first.
CHANGES = {
    "draw_losses: none at first": lambda n: run(20 * (n - 1)),
    "draw_losses: axes that fit": lambda n: ({"v4": LOSSES[: 20 * n]}, {"floor": 0.5}, f"{n}"),
    # A floor that moves gets a new name in the legend.
    "draw_losses: floors": lambda n: ({"v4": LOSSES}, {"floor": 0.5 * n}, "f", 10, 60),
    "draw_matrix: larger": lambda n: (noise(2 * n, 2 * n), f"{n}", "x", "y", "abcd"[: 2 * n]),
    "draw_matrix: diverging": lambda n: (n * noise(5, 5) - 1, f"{n}", "x", "y", None, True),
    "draw_attention_heads: more": lambda n: (noise(n, n + 1, 4, 4), "abcd", (n - 1, 0), f"{n}"),
    "draw_curves: fixed ends": lambda n: (*curves(n, "ab"), *SPANS),
    "draw_curves: one fewer": lambda n: (*curves(n, "abcd"[: 4 - n]), *SPANS),
    # A curve that comes takes the colour, the depth and the row of the legend that it has in a fresh figure.
    "draw_curves: one more": lambda n: (*curves(n, [*"abc"[: 1 + n], "RoPE"]), *SPANS),
    "draw_seed_dots: one fewer": lambda n: ({name: noise(3) + n for name in "abc"[n - 1 : 2]}, f"{n}", "x"),
    "draw_seed_dots: one more": lambda n: ({f"v{i}": noise(2) * i for i in range(n)}, f"{n}", "x"),
    "draw_text: longer": lambda n: ("abc def"[: 3 * n], noise(3 * n), f"{n}", f"{n}", 2),
    "draw_text: given": lambda n: ("abc def", noise(7), f"{n}", "", 4, 13, np.arange(7) > 4 - n),
    "draw_losses: moves": lambda n: (*run(60), 0, "", {9: "a", 10: "b", 40: "c"} if n > 1 else {}),
    "draw_gates: wider": lambda n: (noise(16, n), np.arange(16) > 9 + n, f"{n}", "x", "MASK"),
}
ELSEWHERE = (draw_seed_dots, draw_wavelengths)  # of the course


def test_every_function_that_draws_again_is_tested():
    functions = {name for name in vars(plots) if name.startswith("draw_")}
    assert {*MOVES, "draw_by_position"} == functions | {f.__name__ for f in ELSEWHERE}


def pixels(ax):
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba()).astype(int)


@pytest.mark.parametrize("name", [*MOVES, *CHANGES])
def test_a_figure_drawn_over_an_earlier_one_is_the_figure_drawn_once(name):
    """Draw twice: one function makes the figure of a README and every frame of a live plot.

    Without the constrained layout, which lands a rounding error away from where it was each time. Axes
    that fit losses and a floor are a rounding error apart too: Matplotlib asks the screen where it is.
    """
    own = {draw.__name__: draw for draw in ELSEWHERE}
    draw, values = (vars(plots) | own)[name.split(":")[0]], (MOVES | CHANGES)[name]
    with matplotlib.rc_context({**plots.STYLE, "figure.constrained_layout.use": False}):
        moved, fresh = Figure(figsize=(5, 3)).subplots(), Figure(figsize=(5, 3)).subplots()
        draw(moved, *values(1))
        before, artists = pixels(moved), moved.get_children()
        draw(moved, *values(2))
        assert name in CHANGES or moved.get_children() == artists  # it adds none
        draw(fresh, *values(2))
        gap = np.abs(pixels(moved) - pixels(fresh)).max()
        assert gap <= (1 if name == "draw_losses: axes that fit" else 0)  # of 255
    assert np.abs(pixels(fresh) - before).max() > 50


def test_a_pair_that_does_not_turn_has_a_ring_and_no_dot(ax):
    before, after = np.array([6.0, 60.0, 600.0]), np.array([6.0, 120.0, np.inf])
    draw_wavelengths(ax, before, after, np.array([False, True, False]), 64, "turns", 600.0)
    named = {line.get_gid(): line.get_xydata().tolist() for line in ax.lines}
    assert named["before"] == [[1, 6], [2, 60], [3, 600]]
    assert (named["angles seen"], named["angles never seen"]) == ([[1, 6]], [[2, 120]])
    assert set(find_artist(ax, Line2D, "window").get_ydata()) == {64}
    assert ax.get_yscale() == "log"
    assert labelled(ax)


def test_moved_knobs_have_a_line_and_the_last_of_close_ones_a_name(ax):
    curves, moves = {"v4": LOSSES, "v4 (baseline)": LOSSES[:9]}, {9: "theta 5", 11: "theta 6", 40: "theta 7"}
    plots.draw_losses(ax, curves, {}, "moved", total=60, baseline="v4 (baseline)", moves=moves)
    lines = {line.get_gid(): line for line in ax.lines}
    assert list(lines["moves"].get_xdata()[::3]) == [9, 11, 40]
    assert [(word.get_text(), word.xy[0]) for word in ax.texts] == [("theta 6", 9), ("theta 7", 40)]
    assert lines["v4 (baseline)"].get_color() == plots.COLOURS["grey"] != lines["v4"].get_color()


def test_a_title_ends_before_the_next_one_begins():
    with matplotlib.rc_context(plots.STYLE | {"figure.constrained_layout.use": False}):
        axes, words = Figure((9, 3)).subplots(1, 3), "v4, steered: the loss is 0.79 nats"
        for ax in axes:
            set_title(ax, words)
        titles = [find_artist(ax, Text, "title") for ax in axes]
        boxes = [title.get_window_extent(FigureCanvasAgg(axes[0].figure).get_renderer()) for title in titles]
    assert [title.get_text().replace("\n", " ") for title in titles] == [words] * 3
    assert boxes[0].x1 < boxes[1].x0 < boxes[1].x1 < boxes[2].x0


def test_rows_are_a_name_each_with_a_dot_for_each_seed_and_a_bar_at_their_mean(ax):
    values = {"v4": [1.0, 2.0, 6.0], "v3": [2.0, 2.0, 2.0]}
    draw_seed_dots(ax, values, "a finding", "nats", {"floor": 0.5}, means=True)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["v4", "v3"]
    lines = {line.get_gid(): line for line in ax.lines}
    assert list(lines["v4"].get_xdata()) == [1.0, 2.0, 6.0]
    assert set(lines["v4"].get_ydata()) == {0}
    assert list(lines["mean of v4"].get_xdata()) == [3.0, 3.0]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first name is on top
    assert ax.get_xlabel() == "nats"


def test_seeds_are_dots_without_a_mean_and_a_model_that_refuses_has_a_row(ax):
    values, rings = {"v4": [1.0, 6.0], "v2": []}, {"v4": [2.0, 3.0]}
    draw_seed_dots(ax, values, "a finding", "nats", {"chance": 0.5}, (0, 9), rings, {"v2": "refuses"})
    dots = {(*map(float, line.get_xdata()),) for line in ax.lines if line.get_marker() == "o"}
    assert dots == {(1.0, 6.0), (2.0, 3.0), ()}
    assert [label.get_text() for label in ax.get_yticklabels()] == ["v4", "v2"]
    assert [(note.get_text(), note.xy[1]) for note in ax.texts] == [("refuses", 1)]
    assert ax.get_xlim() == (0, 9)


def test_a_text_is_drawn_in_rows_of_squares(ax):
    sure = np.array([np.nan, 0.25, 1.0, np.nan, 0.5])
    plots.draw_text(ax, "a b░c", sure, "a text", columns=3)
    shown = np.ma.filled(ax.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(shown, [[np.nan, 0.25, 1.0], [np.nan, 0.5, np.nan]])
    assert [mark.get_text() for mark in ax.texts] == ["a", "•", "b", "░", "c"]
    assert ax.texts[4].get_position() == (1, 1)
    plots.draw_text(ax, "ab", sure[:2], "a shorter one", columns=3)
    assert [mark.get_text() for mark in ax.texts] == ["a", "b"]


def test_letters_that_were_given_belong_to_the_background(ax):
    given, canvas = np.array([True, False, True]), FigureCanvasAgg(ax.figure)
    for text in ("a░b", "acb"):
        plots.draw_text(ax, text, np.array([np.nan, 0.5, np.nan]), "a text", "a note", given=given)
        for artist in moving_artists(ax):
            artist.set_animated(True)
        assert [letter.get_text() for letter in ax.texts if letter.get_text() != "a note"] == list(text)
        assert ax.figure.stale == (text == "a░b")  # what is filled in leaves the background alone
        canvas.draw()
    assert {artist.get_gid() for artist in moving_artists(ax)} == {"confidence", "letter 1", "note", "title"}


def test_characters_that_appear_later_are_grey(ax):
    plots.draw_fill_order(ax, np.array([1, 2, 3]), np.array([0.9, 0.5, 0.1]), 2, 5, 0.95, "pace")
    later, there = (next(line for line in ax.lines if line.get_gid() == name) for name in ("later", "there"))
    assert list(later.get_xydata()[0]) == [3, 0.1]
    np.testing.assert_allclose(there.get_xydata(), [(1, 0.9), (2, 0.5)])
    assert ax.get_xlim() == (0, 6)
