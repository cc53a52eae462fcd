"""Drawing functions put the numbers they are given on the Axes they are given."""

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import babygpt_live as live
from babygpt_live.figures import set_legend


def labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_losses_are_smoothed_and_floors_drawn(ax):
    curves = {"v4": [4.0, 2.0, 2.0, 0.0], "untouched": [1.0]}
    live.draw_losses(ax, curves, {"floor": 0.5}, "it falls", smooth=2, baseline="untouched")
    curve, grey, floor = ax.lines
    np.testing.assert_allclose(curve.get_ydata(), [4.0, 3.0, 2.0, 1.0])  # the first has no step before it
    np.testing.assert_allclose(curve.get_xdata(), [1, 2, 3, 4])
    assert set(floor.get_ydata()) == {0.5}
    assert grey.get_color() == live.COLOURS["grey"] != curve.get_color()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["v4", "untouched", "floor 0.500"]
    assert (ax.get_title(), ax.get_xlabel()) == ("it falls", "step")


def test_a_running_mean_is_that_of_the_finite_losses_in_each_window():
    steps, mean = live.running_mean([4.0, 2.0, np.nan, np.inf, 1e20, 6.0, 8.0], 2)
    np.testing.assert_array_equal(steps, np.arange(1, 8))
    np.testing.assert_array_equal(mean, [4, 3, 2, np.nan, 1e20, 5e19, 7])
    assert [len(part) for part in live.running_mean([], 10)] == [0, 0]


def test_a_legend_names_every_curve_and_every_floor(ax):
    """Name those that begin with "_", which Matplotlib leaves out, and more floors than there are styles."""
    floors = {f"floor {i}": 0.1 * i for i in range(6)} | {"_f": 0.9}
    live.draw_losses(ax, {"_hidden": [1.0, 2.0]}, floors, "all")
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["_hidden", *(f"{name} {floor:.3f}" for name, floor in floors.items())]
    curves_ax = Figure().subplots()
    live.draw_curves(curves_ax, np.arange(2), {"_hidden": np.arange(2), "b": np.arange(2)}, "t", "x", "y")
    assert [text.get_text() for text in curves_ax.get_legend().get_texts()] == ["_hidden", "b"]
    curves_ax.plot([0, 1])  # without a name
    set_legend(curves_ax)
    assert len(curves_ax.get_legend().get_texts()) == 2


def test_curves_have_their_own_colours_and_a_curve_alone_no_legend(ax):
    x = np.arange(3.0)
    live.draw_curves(ax, x, {"v4": x}, "one", "x", "y", (0.0, 9.0), (-3.0, 3.0), marker="o")
    (line,) = ax.lines
    assert line.get_xydata().tolist() == [[0, 0], [1, 1], [2, 2]]
    assert (line.get_color(), line.get_marker()) == (live.ENCODING_COLOURS["v4"], "o")
    assert (ax.get_xlim(), ax.get_ylim(), ax.get_legend()) == ((0, 9), (-3, 3), None)


def test_loss_by_position_is_averaged_in_blocks_up_to_the_last_whole_one(ax):
    live.draw_by_position(ax, {"v4": np.arange(10.0)}, 8, "by position", smooth=4)
    assert ax.lines[0].get_xydata().tolist() == [[2, 1.5], [6, 5.5]]
    assert set(ax.lines[1].get_xdata()) == {8}


@pytest.mark.parametrize(
    ("look", "limits"), [({}, (-3, 1)), ({"diverging": True}, (-3, 3)), ({"top": 5.0}, (0, 5))]
)
def test_the_colours_of_a_matrix_end_at_given_limits_or_at_its_numbers(ax, look, limits):
    live.draw_matrix(ax, np.array([[1.0, -3.0]]), "m", "x", "y", **look)
    np.testing.assert_array_equal(ax.images[0].get_array(), [[1, -3]])
    assert ax.images[0].get_clim() == limits
    assert len(ax.figure.axes) == 2  # The colour bar has axes of its own.


def test_a_text_is_drawn_in_rows_of_squares(ax):
    sure = np.array([np.nan, 0.25, 1.0, np.nan, 0.5])
    live.draw_text(ax, "a b░c", sure, "a text", columns=3)
    shown = np.ma.filled(ax.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(shown, [[np.nan, 0.25, 1.0], [np.nan, 0.5, np.nan]])
    assert [mark.get_text() for mark in ax.texts] == ["a", "•", "b", "░", "c"]
    assert ax.texts[4].get_position() == (1, 1)


def test_dollars_are_drawn_as_dollars_and_never_as_mathematics():
    axes = Figure((9, 3)).subplots(1, 3)
    live.draw_matrix(axes[0], np.eye(2), "$_$", "x", "y", ["$_$", "$\\none$"])
    live.draw_text(axes[1], ["$x_$", "b"], np.array([0.1, 0.2]), r"from $\frac to $")
    FigureCanvasAgg(axes[0].figure).draw()  # mathematics that is none would raise
    assert labels(axes[0].xaxis) == ["$_$", "$\\none$"]


def test_a_title_ends_before_the_next_one_begins():
    with matplotlib.rc_context(live.STYLE | {"figure.constrained_layout.use": False}):
        axes, words = Figure((9, 3)).subplots(1, 3), "v4, steered: the loss is 0.79 nats"
        for ax in axes:
            live.set_labels(ax, words, "", "")
        renderer = FigureCanvasAgg(axes[0].figure).get_renderer()
        boxes = [ax._left_title.get_window_extent(renderer) for ax in axes]
        titles = [ax.get_title("left") for ax in axes]
    assert [title.replace("\n", " ") for title in titles] == [words] * 3
    assert boxes[0].x1 < boxes[1].x0 < boxes[1].x1 < boxes[2].x0
