"""Drawing functions put the numbers they are given on the Axes they are given."""

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from babygpt import plots


@pytest.fixture
def ax():
    return Figure().subplots()


def labelled(ax):
    return bool(ax.get_title(loc="left") or ax.get_title()) and bool(ax.get_ylabel())


def test_losses_are_smoothed_and_floors_drawn(ax):
    plots.draw_losses(ax, {"v4": [4.0, 2.0, 2.0, 0.0]}, {"floor": 0.5}, "it falls", smooth=2)
    curve, floor = ax.lines
    np.testing.assert_allclose(curve.get_ydata(), [4.0, 3.0, 2.0, 1.0])  # the first has no step before it
    np.testing.assert_allclose(curve.get_xdata(), [1, 2, 3, 4])
    assert set(floor.get_ydata()) == {0.5}
    assert labelled(ax)


def test_a_curve_that_ends_early_is_drawn_to_its_end(ax):
    plots.draw_by_position(ax, {"learned": np.ones(32), "v4": np.arange(64.0)}, 32, "how far", smooth=16)
    short, long = ax.lines[:2]
    assert list(short.get_xdata()) == [8, 24]
    np.testing.assert_allclose(long.get_ydata(), np.arange(64).reshape(4, 16).mean(axis=1))


def test_bars_show_the_mean_and_dots_each_seed(ax):
    plots.draw_accuracies(ax, {"nope": [0.5, 0.7], "v4": [1.0, 1.0]}, "who did it")
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([60, 100])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [50, 70])


def test_a_diverging_matrix_is_centred_on_zero(ax):
    plots.draw_matrix(ax, np.array([[1.0, -3.0]]), "m", "x", "y", diverging=True)
    assert ax.images[0].get_clim() == (-3, 3)
    np.testing.assert_allclose(ax.images[0].get_array(), [[1, -3]])


def test_a_matrix_carries_its_ticks(ax):
    plots.draw_matrix(ax, np.eye(2), "m", "x", "y", ticks=["a", "b"])
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "b"]


def test_the_clock_points_where_the_angles_say(ax):
    plots.draw_clock(ax, [0.0, np.pi / 2], ["right", "up"], "clock")
    tips = [line.get_xydata()[1] for line in ax.lines if len(line.get_xdata()) == 2]
    np.testing.assert_allclose(tips, [(1, 0), (0, 1)], atol=1e-12)


def test_each_encoding_has_a_colour_of_its_own_beside_its_rivals():
    rivals = ["nope", "learned", "v3", "v4", "alibi"]
    assert len({plots.ENCODING_COLOURS[name] for name in rivals}) == len(rivals)


# ---------------------------------------------------------------- a run that is not over

LOSSES = [4.0 - n / 20 for n in range(60)]


def draw_run(ax, made, **more):
    plots.draw_losses(ax, {"v4": LOSSES[:made]}, {"floor": 0.5}, f"after {made} steps", total=60, **more)


def test_the_axes_of_a_run_hold_all_of_it_from_the_start(ax):
    spans = []
    for made in (1, 2, 30, 60):
        draw_run(ax, made)
        spans.append((ax.get_xlim(), ax.get_ylim()))
    assert set(spans) == {((0, 60), (0, 8 / 2))}


def test_losses_above_the_axes_raise_them(ax):
    plots.draw_losses(ax, {"v4": [4.0, 9.1]}, {"floor": 0.5}, "it grows", total=60)
    assert ax.get_ylim() == (0, 9.5)


@pytest.mark.parametrize("floors", [{"floor": 0.5}, {}])
def test_a_run_without_a_step_is_drawn_as_an_empty_curve(ax, floors):
    plots.draw_losses(ax, {"v4": []}, floors, "untrained", total=60, no_idea=2.2)
    assert list(ax.lines[0].get_xdata()) == []
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 60), (0, 2.5))


def test_a_run_that_goes_on_moves_its_curve_and_adds_nothing(ax):
    draw_run(ax, 20, smooth=2)
    count = len(ax.get_children())
    draw_run(ax, 60, smooth=2)
    assert len(ax.get_children()) == count
    curve, floor = ax.lines
    assert list(curve.get_xdata()) == list(range(1, 61))
    assert curve.get_ydata()[-1] == pytest.approx(np.mean(LOSSES[58:60]))
    assert set(floor.get_ydata()) == {0.5}
    assert ax.get_title(loc="left") + ax.get_title() == "after 60 steps"


def test_rising_shares_are_drawn_in_percent_over_the_whole_run(ax):
    plots.draw_rising(ax, {"v4": ([0, 10], [0.5, 0.75])}, "who did it", 40)
    curve, chance = ax.lines
    np.testing.assert_allclose(curve.get_xydata(), [(0, 50), (10, 75)])
    assert set(chance.get_ydata()) == {50}
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 40), (0, 105))
    assert labelled(ax)


def test_heads_stand_beside_each_other_a_row_for_each_layer(ax):
    weights = np.random.default_rng(0).random((2, 3, 4, 4))
    plots.draw_heads(ax, weights, "heads")
    shown = np.ma.filled(ax.images[0].get_array(), np.nan)
    assert shown.shape == (2 * 4 + 1, 3 * 4 + 2)
    for layer in range(2):
        for head in range(3):
            square = shown[5 * layer : 5 * layer + 4, 5 * head : 5 * head + 4]
            np.testing.assert_array_equal(square, weights[layer, head])
    assert np.isnan(shown).sum() == shown.size - weights.size  # the frames between them hold nothing
    assert ax.images[0].get_clim() == (0, 1)


def test_heads_are_named_in_the_middle_of_their_squares(ax):
    plots.draw_heads(ax, np.zeros((2, 3, 4, 4)), "heads")
    names = {tick.get_text(): at for tick, at in zip(ax.get_xticklabels(), ax.get_xticks(), strict=True)}
    assert names == {"head 1": 2, "head 2": 7, "head 3": 12}
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["layer 1", "layer 2"]


def test_heads_may_become_more_than_they_were(ax):
    for shape in ((1, 1, 4, 4), (2, 3, 4, 4)):
        plots.draw_heads(ax, np.full(shape, 0.25), "heads")
    assert ax.images[0].get_size() == (9, 14)
    assert tuple(ax.images[0].get_extent()) == (-0.5, 13.5, 8.5, -0.5)


def test_curves_that_are_gone_are_dropped_and_what_marks_a_place_stays(ax):
    x = np.arange(3.0)
    plots.draw_curves(ax, x, {"a": x, "b": -x}, "two", "x", "y")
    plots.mark_place(ax, 1.0)
    plots.draw_curves(ax, x, {"b": 2 * x}, "one", "x", "y")
    assert {line.get_gid() for line in ax.lines} == {"b", "place"}
    assert next(line for line in ax.lines if line.get_gid() == "b").get_ydata().tolist() == [0, 2, 4]
    assert ax.get_legend() is None


def test_a_marked_place_moves(ax):
    for x in (1.0, 2.0):
        plots.mark_place(ax, x)
    (line,) = ax.lines
    assert set(line.get_xdata()) == {2}


def test_a_span_holds_an_axis_where_it_is(ax):
    x = np.arange(3.0)
    for scale in (1, 100):
        plots.draw_curves(ax, x, {"a": scale * x}, "a", "x", "y", x_span=(0.0, 5.0), y_span=(-1.0, 1.0))
        assert (ax.get_xlim(), ax.get_ylim()) == ((0, 5), (-1, 1))


def test_a_fixed_top_keeps_the_colours_whatever_the_matrix(ax):
    for scale in (1, 9):
        plots.draw_matrix(ax, scale * np.eye(2), "m", "x", "y", diverging=True, top=4)
        assert ax.images[0].get_clim() == (-4, 4)


def test_spaces_and_line_ends_can_be_seen():
    assert plots.visible("a b\n") == ["a", "␣", "b", "↵"]


def test_rows_are_labelled_in_their_order(ax):
    plots.draw_matrix(ax, np.eye(3), "m", "x", "y")
    plots.label_rows(ax, ["a", "b", "c"])
    assert list(zip(ax.get_yticks(), (t.get_text() for t in ax.get_yticklabels()), strict=True)) == [
        (0, "a"),
        (1, "b"),
        (2, "c"),
    ]


def test_a_clock_drops_the_hands_it_no_longer_has(ax):
    plots.draw_clock(ax, [0.0, 1.0, 2.0], ["a", "b", "c"], "three")
    plots.draw_clock(ax, [3.0], ["d"], "one")
    assert len(ax.lines) == 2  # the ring and a hand
    assert [word.get_text() for word in ax.texts] == ["d"]


# ---------------------------------------------------------------- one function, every frame

SPANS = {"x_span": (0.0, 9.0), "y_span": (-3.0, 3.0)}


def curves(ax, n, names, **spans):
    x = np.linspace(0, 9, 30)
    plots.draw_curves(
        ax, x, {name: np.sin(n * x + i) for i, name in enumerate(names)}, f"{n}", "x", "y", **spans
    )
    plots.mark_place(ax, float(n))


def noise(*shape):
    return np.random.default_rng(0).random(shape)


FRAMES = {
    "losses": lambda ax, n: plots.draw_losses(ax, {"v4": LOSSES[: 20 * n]}, {"floor": 0.5}, f"{n}"),
    "losses of a run": lambda ax, n: draw_run(ax, 20 * n),
    "losses from nothing": lambda ax, n: draw_run(ax, 20 * (n - 1)),
    # A floor that moves is named anew in the legend.
    "floors": lambda ax, n: plots.draw_losses(ax, {"v4": LOSSES}, {"floor": 0.5 * n}, "f", total=60),
    "rising": lambda ax, n: plots.draw_rising(ax, {"v4": (range(9 * n), noise(9 * n))}, f"{n}", 18),
    "matrix": lambda ax, n: plots.draw_matrix(ax, noise(2 * n, 2 * n), f"{n}", "x", "y", "abcd"[: 2 * n]),
    "diverging": lambda ax, n: plots.draw_matrix(ax, n * noise(5, 5) - 1, f"{n}", "x", "y", diverging=True),
    "heads": lambda ax, n: plots.draw_heads(ax, noise(n, n, 4, 4), f"{n}"),
    "curves": lambda ax, n: curves(ax, n, ["a", "b"]),
    "curves between fixed ends": lambda ax, n: curves(ax, n, ["a", "b"], **SPANS),
    "one curve fewer": lambda ax, n: curves(ax, n, ["a", "b", "c", "d"][: 4 - n], **SPANS),
    # A curve that comes takes the colour, the depth and the row of the legend that it has in a fresh figure.
    "one curve more": lambda ax, n: curves(ax, n, [*["a", "b", "c"][: 1 + n], "RoPE"], **SPANS),
    "rows": lambda ax, n: plots.draw_rows(
        ax, {name: noise(3) + n for name in "abc"[n - 1 : 2]}, f"{n}", "x", {"zero": 0.5}, (0.0, 3.0)
    ),
    "a row more": lambda ax, n: plots.draw_rows(ax, {f"v{i}": noise(2) * i for i in range(n)}, f"{n}", "x"),
    "text": lambda ax, n: plots.draw_text(ax, "abc def"[: 3 * n], noise(3 * n), f"{n}", f"{n}", columns=2),
    "appearing": lambda ax, n: plots.draw_appearing(
        ax, np.arange(1, 5 * n), noise(5 * n - 1), n, 9, n / 3, f"{n}"
    ),
    "clock": lambda ax, n: plots.draw_clock(ax, [n, 2 * n], [f"q at {n}", "k"], f"{n}"),
    "clock with one hand more": lambda ax, n: plots.draw_clock(ax, [n, 2 * n][:n], ["q", "k"][:n], f"{n}"),
}


def pixels(ax):
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba()).astype(int)


@pytest.mark.parametrize("name", FRAMES)
def test_a_figure_drawn_over_an_earlier_one_is_the_figure_drawn_once(name):
    """So the same function makes the figure of a README and every frame of a live plot.

    Without the constrained layout, which lands a rounding error away from where it was each time. Axes
    that fit losses and a floor are a rounding error apart too: Matplotlib asks the screen where it is.
    """
    draw = FRAMES[name]
    with matplotlib.rc_context({**plots.STYLE, "figure.constrained_layout.use": False}):
        moved, fresh = Figure(figsize=(5, 3)).subplots(), Figure(figsize=(5, 3)).subplots()
        draw(moved, 1)
        before = pixels(moved)
        draw(moved, 2)
        draw(fresh, 2)
        gap = np.abs(pixels(moved) - pixels(fresh)).max()
        assert gap <= (1 if name == "losses" else 0)  # of 255
    assert np.abs(pixels(fresh) - before).max() > 50


def test_squares_stand_beside_each_other_with_a_gap_between(ax):
    squares = np.arange(18).reshape(2, 3, 3) / 18
    plots.draw_squares(ax, squares, ["one", "other"], "two squares")
    shown = np.ma.filled(ax.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(shown[:, :3], squares[0])
    np.testing.assert_array_equal(shown[:, 4:], squares[1])
    assert np.isnan(shown[:, 3]).all()
    assert ax.images[0].get_clim() == (-1, 1)


def test_gaps_are_a_row_for_each_code_and_a_colour_for_each_number(ax):
    gaps = {"none": {"2": [0.1, 0.2], "4": [0.3, 0.4]}, "Fourier": {"2": [-0.001, 0.0], "4": [1.0, 1.1]}}
    plots.draw_gaps(ax, gaps, "what company costs")
    shown = sorted((line.get_ydata()[0], *line.get_xdata()) for line in ax.get_lines())
    assert shown == [(0, 0.1, 0.2), (0, 0.3, 0.4), (1, -0.001, 0.0), (1, 1.0, 1.1)]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["2 branches", "4 branches"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["none", "Fourier"]


def test_rows_are_a_name_each_with_a_dot_for_each_seed_and_a_bar_at_their_mean(ax):
    plots.draw_rows(ax, {"v4": [1.0, 2.0, 6.0], "v3": [2.0, 2.0, 2.0]}, "a finding", "nats", {"floor": 0.5})
    assert [label.get_text() for label in ax.get_yticklabels()] == ["v4", "v3"]
    lines = {line.get_gid(): line for line in ax.lines}
    assert list(lines["v4"].get_xdata()) == [1.0, 2.0, 6.0]
    assert set(lines["v4"].get_ydata()) == {0}
    assert list(lines["mean of v4"].get_xdata()) == [3.0, 3.0]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first name is on top
    assert ax.get_xlabel() == "nats"
